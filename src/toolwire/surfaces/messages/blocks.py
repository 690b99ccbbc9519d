"""Converts content blocks to normalized parts.

A block that chat models do not support (a PDF, the result of a tool that Anthropic runs) is
replaced by a line of text, so the model knows that something was there. The replacement is
reported.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from toolwire.protocol.content import Content, FilePart, ImagePart, Part, TextPart
from toolwire.surfaces.messages.notes import Notes, Rule, invalid

Block: TypeAlias = dict[str, Any]

BILLING = "x-anthropic-billing-header:"
"""The prefix of Anthropic's billing line. It may change with every request, so a prompt that starts
with it would never hit a backend's prompt cache."""

BLOCKS: Mapping[str, Rule] = {
    "text": Rule("honoured", "Several are joined with a blank line between them."),
    "image": Rule("translated", "An image part: `base64` as a data URL, or the `url`."),
    "document": Rule(
        "translated",
        "Text and content sources: their text and images below the title. A PDF: a file part for "
        "backends that take files; for others, and if it is not in the request, a line that names "
        "it.",
    ),
    "search_result": Rule("translated", "Its text below the title and the source."),
    "thinking": Rule(
        "translated", "The reasoning of its message, for backends that take reasoning back."
    ),
    "redacted_thinking": Rule("ignored", "Left out: only Anthropic can read it."),
    "tool_use": Rule("translated", "A tool call. Names over 64 characters are mapped and back."),
    "tool_result": Rule(
        "translated",
        "A tool message, in the order of the calls. An empty one says `(no output)`, a failed one "
        "begins with `Error: `. Its images follow in one user message after all results.",
    ),
    "tool_reference": Rule(
        "translated", "In a result: the deferred tools it names are offered from then on."
    ),
    "tool_addition": Rule("translated", "In a system message: the tool is offered from then on."),
    "tool_removal": Rule("translated", "In a system message: the tool is no longer offered."),
    "server_tool_use": Rule("translated", "A line of text; nobody could answer the call."),
    "other blocks": Rule("translated", "A line of text with the type, and what text it has."),
}

_NAMED = ("name", "tool_name", "title", "url", "source", "query", "file_id", "error_code")
"""Fields that identify a block of an unknown kind."""
_SAID = ("text", "content", "input", "stdout", "stderr", "tool_references")
"""Fields with the text of such a block, or with more blocks."""
_LONGEST = 2000


def text_of_blocks(content: object, where: str, notes: Notes) -> str:
    """Return the text of content that allows only text, such as the system prompt."""
    if isinstance(content, str):
        return _unbilled(content)
    texts = []
    for at, block in enumerate(listed(content, where)):
        if block.get("type") == "text":
            text = _unbilled(_string(block, "text", f"{where}.{at}"))
            texts += [text] if text else []
        else:
            notes.ignore(f"{where}.{at}:{_kind(block)}")
    return "\n\n".join(texts)


def _unbilled(text: str) -> str:
    """Return a text without the billing line, which is mostly all of its block."""
    return text.partition("\n")[2].lstrip("\n") if text.startswith(BILLING) else text


def parts_of(content: object, where: str, notes: Notes) -> list[Part]:
    """Convert the content of a user message."""
    if content is None or isinstance(content, str):
        return [TextPart(content)] if content else []
    return [
        part
        for at, block in enumerate(listed(content, where))
        for part in parts_of_block(block, f"{where}.{at}", notes)
    ]


def parts_of_block(block: Block, where: str, notes: Notes) -> list[Part]:
    """Convert one block: mostly to one part, to none if it is empty."""
    read = _READERS.get(_kind(block), _other)
    return read(block, where, notes)


def listed(content: object, where: str) -> Sequence[Block]:
    """Return content as a list of blocks. Raises `RequestError`."""
    if not isinstance(content, list):
        raise invalid(where, "Input should be a valid string or list of content blocks")
    for at, block in enumerate(content):
        if not isinstance(block, dict):
            raise invalid(f"{where}.{at}", "Input should be an object with a 'type'")
    return content


def joined(parts: Iterable[Part]) -> Content:
    """Combine parts into content. Adjacent texts are joined with a blank line."""
    made = _merged(parts, "\n\n")
    if len(made) == 1 and isinstance(made[0], TextPart):
        return made[0].text
    return tuple(made) if made else ""


def _merged(parts: Iterable[Part], separator: str) -> list[Part]:
    """Return the parts, with adjacent texts joined."""
    made: list[Part] = []
    for part in parts:
        last = made[-1] if made else None
        if isinstance(part, TextPart) and isinstance(last, TextPart):
            made[-1] = TextPart(f"{last.text}{separator}{part.text}")
        else:
            made.append(part)
    return made


def _kind(block: Block) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _string(block: Block, name: str, where: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise invalid(f"{where}.{name}", "Field required" if value is None else "Not a string")
    return value


def _text(block: Block, where: str, _notes: Notes) -> list[Part]:
    text = _string(block, "text", where)
    return [TextPart(text)] if text else []


def _image(block: Block, where: str, _notes: Notes) -> list[Part]:
    source = block.get("source")
    kind = source.get("type") if isinstance(source, dict) else None
    if isinstance(source, dict) and kind == "base64":
        return [ImagePart(_data_url(source, f"{where}.source"))]
    if isinstance(source, dict) and kind == "url":
        return [ImagePart(_string(source, "url", f"{where}.source"))]
    raise invalid(f"{where}.source", "Only sources of type 'base64' and 'url' are supported")


def _data_url(source: Block, where: str) -> str:
    media_type, data = _string(source, "media_type", where), _string(source, "data", where)
    return f"data:{media_type};base64,{data}"


def _document(block: Block, where: str, notes: Notes) -> list[Part]:
    source = block.get("source")
    if not isinstance(source, dict):
        raise invalid(f"{where}.source", "Field required")
    place = f"{where}.source"
    title, context = (str(block[name]) if block.get(name) else "" for name in ("title", "context"))
    about: list[Part] = [TextPart(text) for text in (title, context) if text]
    kind = source.get("type")
    if kind == "text":
        return _merged([*about, TextPart(_string(source, "data", place))], "\n")
    if kind == "content":
        return _merged([*about, *parts_of(source.get("content"), f"{place}.content", notes)], "\n")
    if kind == "base64":
        file = FilePart(_data_url(source, place), title or None)
        return [TextPart(context), file] if context else [file]
    notes.ignore(f"{where}:document")
    name = title or source.get("url") or source.get("file_id")
    return [TextPart(f"(PDF {name}, not shown)" if name else "(PDF, not shown)")]


def _search_result(block: Block, where: str, notes: Notes) -> list[Part]:
    parts = parts_of(block.get("content"), f"{where}.content", notes)
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    head = [str(block[name]) for name in ("title", "source") if block.get(name)]
    return [TextPart("\n".join([*head, *texts]))]


def _other(block: Block, where: str, notes: Notes) -> list[Part]:
    """Describe an unsupported block: its kind, and its text."""
    kind = _kind(block)
    if not kind:
        raise invalid(f"{where}.type", "Field required")
    notes.ignore(f"{where}:{kind}")
    said = " ".join(_words(block, depth=3))[:_LONGEST]
    return [TextPart(f"[{kind}: {said}]" if said else f"[{kind}]")]


def _words(value: object, depth: int) -> Iterable[str]:
    if depth and isinstance(value, dict):
        yield from (str(value[name]) for name in _NAMED if isinstance(value.get(name), str))
        for name in _SAID:
            inner = value.get(name)
            yield from [inner] if isinstance(inner, str) else _words(inner, depth - 1)
    elif depth and isinstance(value, list):
        for item in value:
            yield from _words(item, depth)


def _nothing(_block: Block, _where: str, _notes: Notes) -> list[Part]:
    return []


_READERS: dict[str, Callable[[Block, str, Notes], list[Part]]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "search_result": _search_result,
    "redacted_thinking": _nothing,
}
