"""Detects the format of a whole answer, and says why.

Every format whose opener occurs is tried. The one that finds the most calls and leaves the least
text wins. If there are calls behind the reasoning, then those inside it are drafts. What one format
knows as a quoted call, no other may take for a call: the inside of one often looks like another's.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from toolwire.formats.catalog import FORMATS, get
from toolwire.formats.detection.announcements import AnswerBeginning
from toolwire.formats.detection.detect import Detection, likeness
from toolwire.formats.detection.detector import OutputDetector
from toolwire.formats.framing import Markers
from toolwire.formats.parser import Extracted, Parser, join
from toolwire.formats.prose import prose_parser
from toolwire.formats.quoting.quotes import MENTIONED
from toolwire.formats.record import Format
from toolwire.formats.tools.given_tools import GivenTool, as_tools
from toolwire.formats.trace import Span, Trace
from toolwire.protocol.tools import ToolSpec

_PROSE = "hermes"
"""The format for text without calls: reasoning is in `<think>` tags, as most models write it."""
_REASONING = "<think>"


class _Reading(NamedTuple):
    """How one format reads an answer."""

    record: Format
    found: Extracted
    spans: list[Span]

    @property
    def called(self) -> str:
        return ", ".join(dict.fromkeys(call.name for call in self.found.calls))

    def takes(self, quoted: list[range]) -> bool:
        """Whether it takes a part of what is quoted for a call. Both are in order."""
        left = iter(quoted)
        one = next(left, range(0))
        for start in (span.start for span in self.spans if span.kind == "call"):
            while one.stop <= start and (more := next(left, None)) is not None:
                one = more
            if start in one:
                return True
        return False


def detect_output(text: str, tools: Iterable[GivenTool] = ()) -> Detection | None:
    """Return the format of an answer that contains calls."""
    known = as_tools(tools)
    behind = _behind_reasoning(text)
    readings = [_read(record, known, text) for record in _candidates(text, known)]
    quoted = _quoted(span for one in readings for span in one.spans)
    best: tuple[int, ...] | None = None
    answer: _Reading | None = None
    for one in readings:
        calls = len(one.found.calls)
        if not calls or one.takes(quoted):
            continue
        made = len(_read(one.record, known, behind).found.calls) if behind else calls
        left = len(one.found.content or "")
        # Drafts make no format likelier, except where no format finds anything else.
        rank = (made, 0 if made else calls, -left, -calls, likeness(one.record, text))
        if best is None or rank > best:
            best, answer = rank, one
    if answer is None:
        return None
    return Detection(answer.record.name, f"it reads the text as calls of {answer.called}")


def _quoted(spans: Iterable[Span]) -> list[range]:
    """Return what these spans say is quoted: in order, and without overlaps."""
    quoted: list[range] = []
    for span in sorted((s for s in spans if s.why in MENTIONED), key=lambda span: span.start):
        if quoted and span.start < quoted[-1].stop:
            quoted[-1] = range(quoted[-1].start, max(quoted[-1].stop, span.end))
        else:
            quoted.append(range(span.start, span.end))
    return quoted


def _read(
    record: Format, tools: tuple[ToolSpec, ...], text: str, trace: Trace | None = None
) -> _Reading:
    trace = Trace() if trace is None else trace
    parser = Parser(record, tools, delivery="whole", trace=trace)
    return _Reading(record, join([*parser.feed(text), *parser.finish()]), trace.spans)


def read_answer(text: str, tools: tuple[ToolSpec, ...], trace: Trace | None = None) -> Extracted:
    """Read a whole answer in the format that it shows, which `format` of the result names.

    Where no format finds a call, the answer may be nothing but calls of `tools`, in Python or in
    code fences, or begin as only one format does. Anything else is text.
    """
    found = detect_output(text, tools)
    if found is None:
        return _without_openers(text, tools, trace)
    read = _read(get(found.format), tools, text, trace).found
    result = replace(read, format=found.format)
    left = (result.content or "").lstrip()
    if left.startswith(_REASONING):  # the format itself has none
        prose = _prose(left)
        result = replace(result, content=prose.content, reasoning=prose.reasoning)
    whole = _only_calls(_prose(text), tools) if left else None
    return whole if whole and len(whole.calls) > len(result.calls) else result


def _without_openers(text: str, tools: tuple[ToolSpec, ...], trace: Trace | None) -> Extracted:
    beginning = AnswerBeginning(None, lambda record: record)
    beginning.feed(text, final=True)
    announced = beginning.announced
    if announced is not None:
        name = announced[0].name
        prose = _prose(text, name, trace)
        if prose.calls:  # in a message, but quoted
            return Extracted(text, None, [])
        return replace(prose, format=name)
    return _only_calls(_prose(text), tools) or _prose(text, trace=trace)


def _prose(text: str, name: str = _PROSE, trace: Trace | None = None) -> Extracted:
    parser = prose_parser(name, trace)
    return join([*parser.feed(text), *parser.finish()])


def _only_calls(prose: Extracted, tools: tuple[ToolSpec, ...]) -> Extracted | None:
    """Read content that is nothing but calls in code fences, or in Python."""
    detector = OutputDetector(tools, fences=True, only_start=True, delivery="whole")
    answer = join([*detector.feed(prose.content or ""), *detector.finish()])
    if detector.found is None:
        return None
    return replace(answer, reasoning=prose.reasoning, format=detector.found.format)


def _behind_reasoning(text: str) -> str:
    """Return what follows the reasoning at the start of an answer; "" without reasoning."""
    if not text.lstrip().startswith("<think>"):
        return ""
    return text.partition("</think>")[2]


def notice_mismatch(
    configured: str, text: str, tools: Iterable[GivenTool] = ()
) -> Detection | None:
    """Return the format that finds calls where the configured one finds none, if there is one."""
    known = as_tools(tools)
    if _read(get(configured), known, text).found.calls:
        return None
    found = detect_output(text, known)
    if found is None or found.format == get(configured).name:
        return None
    reads = found.reason.removeprefix("it ")
    return Detection(found.format, f"{configured!r} finds no call, but {found.format!r} {reads}")


def _candidates(text: str, tools: tuple[ToolSpec, ...]) -> Iterator[Format]:
    first, _, rest = text.lstrip().partition("\n")
    named = rest.lstrip().startswith("{") and any(first == tool.name for tool in tools)
    for record in FORMATS.values():
        markers = [m for m in record.framing.markers() if len(m) > 1]
        bare = isinstance(record.framing, Markers) and record.framing.bare
        line = named and getattr(record.framing, "named", "") == "\n"
        if bare or line or not markers or any(marker in text for marker in markers):
            yield record
