"""The framing of formats that mark calls inside one stream of text: see `marker_framer.py`."""

from functools import lru_cache

from toolwire.formats.marker_framer import MarkerFramer
from toolwire.formats.markers import MarkerSet, Reasoning
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.turn_state import FormatEngine, TurnState


class Markers(MarkerSet, frozen=True, eq=False):
    """The framing of a format whose calls are marked in the text."""

    def framer(self, turn: TurnState, engine: FormatEngine) -> MarkerFramer:
        """A framer for one turn."""
        return MarkerFramer(self, turn, engine)

    def for_tools(self, tools: DeclaredTools) -> "Markers":  # noqa: ARG002
        """Return these markers. Formats whose markers are tool names override this."""
        return self


class ToolMarkers(Markers, frozen=True, eq=False):
    """Markers of a format whose opening tags are the tools' names."""

    def for_tools(self, tools: DeclaredTools) -> Markers:
        """Return the tags of these tools."""
        return _tags_of(tools.names(), self.reasoning)


@lru_cache(maxsize=64)
def _tags_of(names: tuple[str, ...], reasoning: tuple[Reasoning, ...]) -> Markers:
    return Markers(bare=tuple(f"<{name}>" for name in names), reasoning=reasoning)
