"""Which format does this model, this chat template, this answer use? Each with the reason.

By model name: the patterns of the records; the longest match wins. By chat template: what tells a
format from all others (`signs`), or else the tags that its calls cannot do without, or else what
may hint at it. The format with the most of it wins, and of several the one that the model's name
says. By answer: the formats whose opener occurs in it are tried, and the one that finds calls and
leaves least text wins.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from toolwire.formats.catalog import FORMATS, get
from toolwire.formats.framing import Markers
from toolwire.formats.given_tools import GivenTool, as_tools
from toolwire.formats.parser import Parser, join
from toolwire.formats.record import Format

_LITERAL = re.compile(r"\{\w{1,16}+\}|\s++")
_SIZE = re.compile(r"[-_.](?:gguf|awq|gptq|fp8|bf16|int[48]|q\d\w*+)$")
_SHARED = 6  # shorter pieces of a template prove nothing
_TAG = re.compile(
    r"</?+[^<>{}\s/][^<>{}\s]*+>?+|\[[A-Z_]++\]|\[\[[^\[\]\s]++\]\]|to=functions\.|```json"
)
_TURNS = frozenset({"<|im_start|>", "<|im_end|>", "<|assistant|>"})  # of any message
_PROOF = ("<", "[")
"""What a tag begins with that templates hold for no other reason than to write calls."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The name of a format, and the reason it was chosen."""

    format: str
    reason: str


def detect_model(model: str) -> Detection | None:
    """Return the format that a model of this name was trained on."""
    name = _SIZE.sub("", model.lower().replace("_", "-"))
    found = [
        (len(match.group()), match.group(), record)
        for record in FORMATS.values()
        for pattern in record.models
        if (match := re.search(pattern, name))
    ]
    if not found:
        return None
    _, text, record = max(found, key=lambda item: item[0])
    return Detection(record.name, f"the model name contains {text!r}")


def detect_template(template: str, model: str = "") -> Detection | None:
    """Return the format in which a chat template writes calls. `model` is the model's name."""
    named = detect_model(model)
    found = [
        (
            (rank, sum(map(len, texts)), named is not None and record.name == named.format),
            texts,
            record,
        )
        for record in FORMATS.values()
        for rank, texts in _evidence(record)
        if all(text in template for text in texts)
    ]
    if not found:
        return None
    _, texts, record = max(found, key=lambda item: item[0])
    return Detection(record.name, f"the template contains {', '.join(sorted(texts))}")


@lru_cache(maxsize=128)
def _evidence(record: Format) -> tuple[tuple[int, frozenset[str]], ...]:
    """What a template of this format holds, the most certain with the highest rank."""
    ranked = [(2, sign) for sign in record.signs]
    ranked += [(1, tuple(_tags(record))), (0, record.template)]
    return tuple((rank, frozenset(texts)) for rank, texts in ranked if texts)


def detect_output(text: str, tools: Iterable[GivenTool] = ()) -> Detection | None:
    """Return the format of an answer that contains calls."""
    known = as_tools(tools)
    best: tuple[int, int, int] | None = None  # calls, less text left over, likeness
    answer = None
    for record in _candidates(text):
        parser = Parser(record, known, delivery="whole")
        joined = join([*parser.feed(text), *parser.finish()])
        if not joined.calls:
            continue
        rank = (len(joined.calls), -len(joined.content or ""), likeness(record, text))
        if best is None or rank > best:
            best = rank
            called = ", ".join(dict.fromkeys(call.name for call in joined.calls))
            answer = Detection(record.name, f"it reads the text as calls of {called}")
    return answer


def notice_mismatch(
    configured: str, text: str, tools: Iterable[GivenTool] = ()
) -> Detection | None:
    """Return the format that finds calls where the configured one finds none, if there is one."""
    known = as_tools(tools)
    parser = Parser(get(configured), known, delivery="whole")
    if join([*parser.feed(text), *parser.finish()]).calls:
        return None
    found = detect_output(text, known)
    if found is None or found.format == get(configured).name:
        return None
    return Detection(found.format, f"{configured!r} finds no call, but {found.reason}")


def _candidates(text: str) -> Iterator[Format]:
    for record in FORMATS.values():
        markers = [m for m in record.framing.markers() if len(m) > 1]
        bare = isinstance(record.framing, Markers) and record.framing.bare
        if bare or not markers or any(marker in text for marker in markers):
            yield record


def likeness(record: Format, text: str) -> int:
    """How much of what the format writes is in the text, less what is not."""
    return sum(len(piece) if piece in text else -len(piece) for piece in _literals(record))


def written_in(record: Format, text: str) -> int:
    """How much of what the format writes is in a text that may go on."""
    return sum(len(piece) for piece in _literals(record) if piece in text)


@lru_cache(maxsize=128)
def _literals(record: Format) -> frozenset[str]:
    """The texts without which this format cannot write a call, from its own templates."""
    pieces = (piece.strip("[]{}\"',:") for piece in _LITERAL.split(_written(record)))
    return frozenset(piece for piece in pieces if len(piece) >= _SHARED)


@lru_cache(maxsize=128)
def _tags(record: Format) -> frozenset[str]:
    """The tags among them, one by one: a template may put together the text between two. Words
    such as `tool_calls` are left out, which every template has as the names of its variables."""
    tags = frozenset(_TAG.findall(_written(record))) - _TURNS
    return tags if any(tag.startswith(_PROOF) for tag in tags) else frozenset()


def _written(record: Format) -> str:
    writing = record.writing
    return " ".join((writing.before, writing.call, writing.param, writing.after, writing.delimiter))
