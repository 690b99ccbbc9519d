"""The kinds of model servers on which every client does the task: a column each in docs/clients.md.

No server has a flag or a setting of its own but the two whose format is configured: what else
there is to know, Toolwire finds out.
"""

from dataclasses import dataclass
from typing import Any

from tests.e2e.clients.client import Client


@dataclass(frozen=True)
class Setup:
    """A scripted model, and a route of Toolwire to it."""

    name: str
    about: str
    variant: str = "std"
    writes: str = ""
    """The format of a model that knows of tools only what its prompt says; `auto`: by its name."""
    route: str = ""
    """More lines of the route."""
    has_tools: bool = True
    """Whether the server is sent tools."""
    refused: bool = False
    """Whether it is sent them once, and refuses them."""
    learned: str = ""
    """What the log says about it."""
    demanded: bool = False
    """Whether somebody has demanded a call before."""

    def script(self, client: Client) -> Any:
        """What the model says to this client."""
        if not self.writes:
            return client.script
        by_name = "openai" if client.model.startswith("gpt-oss") else "hermes"
        return {"raw": by_name if self.writes == "auto" else self.writes, "turns": client.script}

    def config(self, url: str) -> str:
        """The text of toolwire.toml."""
        return f'[[models]]\nname = "*"\n{self.route}\nbackend = {{ url = "{url}" }}\n'


TOOLLESS = "does not support tools"


def _prompted(name: str) -> Setup:
    route = f'mode = "prompted"\nformat = "{name}"'
    about = f"a model without tools whose format, `{name}`, is configured"
    return Setup(name, about, writes=name, route=route, has_tools=False)


def _left(name: str, learned: str = "") -> Setup:
    about = f"a server that leaves calls in the text, as `{name}`"
    return Setup(f"{name} left", about, f"text_call:{name}", learned=learned)


SETUPS = {
    setup.name: setup
    for setup in (
        Setup("native", "a server with tools"),
        _prompted("hermes"),
        _prompted("qwen3_coder"),
        _left("hermes"),
        _left("mistral", "which writes its calls as mistral"),
        Setup(
            "refuses",
            "a server that refuses tools",
            "refuses_tools",
            writes="auto",
            has_tools=False,
            refused=True,
            learned=TOOLLESS,
        ),
        Setup(
            "ignores",
            "a server that ignores tools, of which a call was demanded twice before",
            "ignores_tools",
            writes="auto",
            has_tools=False,
            learned=TOOLLESS,
            demanded=True,
        ),
    )
}
MORE = {
    "broken": "servers whose answers or streams are wrong in one way each",
    "formats": "other models that write calls as text",
    "own": "what only this client does",
}
"""The other columns, of tests that are not made from a set-up."""
