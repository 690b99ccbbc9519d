"""A model that is served."""

from typing import Annotated, Literal

import msgspec

from toolwire.gateway.routes import is_pattern
from toolwire.gateway.strategies.examples import MOST_EXAMPLES
from toolwire.server.config import values
from toolwire.server.config.settings.backend import BackendConfig
from toolwire.server.config.settings.option import Option


class RouteConfig(msgspec.Struct, frozen=True):
    """A model name that clients use, and the backends that serve it."""

    name: Annotated[
        str,
        Option(
            'the name clients use; `"*"`: any other name, `"claude-*"`: any name that begins so, '
            "forwarded as it is",
            parse=values.pattern,
        ),
    ]
    backends: Annotated[
        tuple[BackendConfig, ...],
        Option(
            "`[[models.backends]]`, or a single `backend = { url = ... }`. The least busy one is "
            "asked; requests with one `prompt_cache_key`, or of one session, prefer the same one",
            keys=("backends", "backend"),
        ),
    ]
    aliases: Annotated[
        tuple[str, ...],
        Option(
            'other names for this model, such as `["gpt-5", "claude-*"]`: an exact name comes '
            "before a pattern, and a longer pattern before a shorter one. The backend is sent "
            "`model`, or the route's name",
            parse=values.patterns,
        ),
    ] = ()
    format: Annotated[
        str | None,
        Option(
            "the model's tool-call format; default: detected from its chat template, if known, or "
            "its name",
            parse=values.format_name,
        ),
    ] = None
    mode: Annotated[
        Literal["native", "hybrid", "prompted", "auto"],
        Option(
            "`native`: the backend supports tools; `prompted`: tools are written into the prompt; "
            "`hybrid`: native, and calls in text are found too; `auto`: `hybrid`, or `prompted` "
            "for a backend that turns out not to support tools; `native` for one with Anthropic's "
            "Messages API, unless the model's format is known",
            aliases=(("watched", "hybrid"),),
        ),
    ] = "auto"
    tokenizer: Annotated[
        str | None,
        Option(
            "counts tokens where a backend gives no usage: `server` (its `/tokenize`), or the path "
            "of a `tokenizer.json` (needs the extra `tokenizers`); default: an estimate, marked. "
            "Prompts that are only to be counted are counted by it, too, or else by a server that "
            "is known to count tokens"
        ),
    ] = None
    examples: Annotated[
        int | None,
        Option(
            "number of example calls (of other tools) to put before the conversation, for a weak "
            "model with prompted tools; default: 0, and for the embedded default model the best "
            "number that was measured",
            0,
            MOST_EXAMPLES,
        ),
    ] = None

    tools_allowed: Annotated[
        tuple[str, ...] | None,
        Option(
            'patterns of the tools that the model is offered, such as `["Read", "mcp__*"]`; '
            "default: all that the client sends; see [small models](small-models.md)",
            parse=values.tool_patterns,
        ),
    ] = None
    tools_denied: Annotated[
        tuple[str, ...],
        Option(
            "patterns of tools that the model is not offered, even if `tools_allowed` has them",
            parse=values.tool_patterns,
        ),
    ] = ()
    tool_description_chars: Annotated[
        int | None,
        Option(
            "maximum length of a tool's description; more is cut at the end of a sentence; 0: no "
            "description; default: no limit",
            0,
            1_000_000,
        ),
    ] = None
    parameter_description_chars: Annotated[
        int | None,
        Option("the same for each description within a tool's schema", 0, 1_000_000),
    ] = None

    @property
    def fixed_name(self) -> str | None:
        """The model's own name, whatever clients call it; None for a pattern."""
        return None if is_pattern(self.name) else self.name
