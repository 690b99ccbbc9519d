"""Values for shell completion. Each is loaded only when somebody presses Tab."""

from click import Context, Parameter
from click.shell_completion import CompletionItem


def complete_format(_ctx: Context, _param: Parameter, begun: str) -> list[CompletionItem]:
    """The names of formats."""
    from toolwire.formats import get, names  # noqa: PLC0415

    known = [CompletionItem(name, help=get(name).family) for name in sorted(names())]
    return [item for item in known if str(item.value).startswith(begun)]


def complete_dialect(_ctx: Context, _param: Parameter, begun: str) -> list[CompletionItem]:
    """The kinds of servers."""
    from toolwire.backends.dialects import DIALECTS  # noqa: PLC0415

    known = [CompletionItem(d.name, help=d.note) for d in DIALECTS.values()]
    return [item for item in known if str(item.value).startswith(begun)]


def complete_mode(_ctx: Context, _param: Parameter, begun: str) -> list[CompletionItem]:
    """How a model is given tools."""
    known = (
        CompletionItem("auto", help="find out what the server supports"),
        CompletionItem("native", help="the server's own tools"),
        CompletionItem("hybrid", help="the server's own tools, and calls in its text"),
        CompletionItem("prompted", help="written into the prompt"),
    )
    return [item for item in known if str(item.value).startswith(begun)]
