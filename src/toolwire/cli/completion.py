"""Values for shell completion. Each is loaded only when somebody presses Tab."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from click import Context, Parameter

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _items(known: Iterable[tuple[str, str]], begun: str) -> "list[CompletionItem]":
    """Return the words that begin so, each with what it means."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415

    return [CompletionItem(word, help=about) for word, about in known if word.startswith(begun)]


def complete_format(_ctx: Context, _param: Parameter, begun: str) -> "list[CompletionItem]":
    """The names of formats."""
    from toolwire.formats import get, names  # noqa: PLC0415

    return _items(((name, get(name).family) for name in sorted(names())), begun)


def complete_dialect(_ctx: Context, _param: Parameter, begun: str) -> "list[CompletionItem]":
    """The kinds of servers."""
    from toolwire.backends.dialects import DIALECTS  # noqa: PLC0415

    return _items(((dialect.name, dialect.note) for dialect in DIALECTS.values()), begun)


_MODES = (
    ("auto", "find out what the server supports"),
    ("native", "the server's own tools"),
    ("hybrid", "the server's own tools, and calls in its text"),
    ("prompted", "written into the prompt"),
)


def complete_mode(_ctx: Context, _param: Parameter, begun: str) -> "list[CompletionItem]":
    """How a model is given tools."""
    return _items(_MODES, begun)
