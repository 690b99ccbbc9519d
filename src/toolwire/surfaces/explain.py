"""Translates msgspec's errors into OpenAI's wording and paths.

The types alone describe what is valid.
"""

import re
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from toolwire.errors import RequestError
from toolwire.protocol.json_limits import is_deeper
from toolwire.protocol.tool_cache import MAX_NAME, is_safe_name

T = TypeVar("T")

NAME_PATTERN = "^[a-zA-Z0-9_-]+$"

_NAMES = {
    "str": "a string", "int": "an integer", "float": "a decimal", "bool": "a boolean",
    "object": "an object", "array": "an array", "null": "null", "bytes": "a string",
}  # fmt: skip
ReasoningEffort: TypeAlias = Literal[
    "none", "minimal", "low", "medium", "high", "xhigh", "max", "default"
]
Verbosity: TypeAlias = Literal["low", "medium", "high"]
ServiceTier: TypeAlias = Literal[
    "auto", "default", "flex", "scale", "priority", "on_demand", "performance"
]
Modality: TypeAlias = Literal["text", "audio", "image"]
ImageDetail: TypeAlias = Literal["auto", "low", "high", "original"]
AudioFormat: TypeAlias = Literal[
    "wav", "mp3", "flac", "ogg", "opus", "m4a", "mp4", "aac", "aiff", "webm", "pcm16", "pcm24"
]
"""Allowed values: OpenAI's, and those of other servers."""


def _quoted(words: tuple[str, ...]) -> str:
    *first, last = (f"'{word}'" for word in words)
    return f"{', '.join(first)}, and {last}"


_SUPPORTED = (
    (
        re.compile(r"messages\[\d+\]\.role"),
        "'system', 'developer', 'user', 'assistant', and 'tool'",
    ),
    (re.compile(r"reasoning_effort"), _quoted(get_args(ReasoningEffort))),
    (re.compile(r"verbosity"), _quoted(get_args(Verbosity))),
    (re.compile(r"service_tier"), _quoted(get_args(ServiceTier))),
    (re.compile(r"modalities\[(\d+|\.\.\.)\]"), _quoted(get_args(Modality))),
    (
        re.compile(r"messages\[\d+\]\.content\[\d+\]\.image_url\.detail"),
        _quoted(get_args(ImageDetail)),
    ),
    (
        re.compile(r"messages\[\d+\]\.content\[\d+\]\.input_audio\.format"),
        _quoted(get_args(AudioFormat)),
    ),
    (re.compile(r"tools\[\d+\]\.type"), "'function' and 'custom'"),
    (re.compile(r".*tool_calls\[\d+\]\.type"), "'function' and 'custom'"),
)
_NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using "
    "your HTTP library correctly. The body must be one JSON object in UTF-8"
)
_HALF_PAIR = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|\xed[\xa0-\xbf][\x80-\xbf]"
)
_level = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])
_any = msgspec.json.Decoder()
_LONGEST_NUMBER = 40
_AT = " - at `$"
_MISSING = re.compile(r"Object missing required field `(.+)`")
_TYPE = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?$")
_RANGE = re.compile(r"Expected `(int|float)[^`]*` (>=|<=|>|<) (\S+)")
_LENGTH = re.compile(r"Expected `(str|array|object)[^`]*` of length (>=|<=) (\d+)")
_ENUM = re.compile(r"Invalid (?:enum )?value (.+)", re.DOTALL)


def not_json(detail: str) -> RequestError:
    """Return the error for a body that is not JSON."""
    return RequestError(f"{_NOT_JSON}: {detail}.)")


def why_not_json(error: Exception, raw: bytes) -> str:
    """Explain why text is not JSON. Decoders do not mention lone surrogates."""
    if half := _HALF_PAIR.search(raw):
        at = raw[: half.start()].decode("utf-8", "replace")
        written = half[0].decode("ascii", "backslashreplace")
        return (
            f"half of a surrogate pair, {written}, at character {len(at)}, which stands for no "
            "character; send both halves, or leave it out"
        )
    return str(error)


def decode(decoder: "msgspec.json.Decoder[T]", raw: bytes, root: str) -> T:
    """Decode `raw`, the value of parameter `root`. Raises `RequestError`."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise explain(error, raw, root) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise not_json(why_not_json(error, raw)) from None
    except RecursionError:
        raise not_json(f"'{root}' is nested too deeply") from None


def check_nesting(raw: bytes, where: str, most: int) -> None:
    """Refuse JSON that is nested too deeply. A low bracket count is a fast path."""
    if could_be_deeper(raw, most):
        check_depth(decode(_any, raw, where), where, most)


def could_be_deeper(raw: bytes, most: int) -> bool:
    """Whether JSON has enough brackets to be nested more than `most` levels deep."""
    return raw.count(b"[") + raw.count(b"{") >= most


def check_depth(value: Any, where: str, most: int) -> None:
    """Refuse a decoded value that is nested too deeply."""
    if is_deeper(value, most):
        raise RequestError(
            f"Invalid '{where}': it is nested more than {most} levels deep.",
            param=where,
            code="invalid_value",
        )


def explain(error: msgspec.ValidationError, raw: bytes, root: str) -> RequestError:
    """Translate one msgspec error about the value of `root`."""
    what, path = _placed(str(error))
    where = f"{root}{path}" if root else path.lstrip(".")
    if found := _MISSING.match(what):
        return missing(f"{where}.{found[1]}" if where else found[1])
    if found := _RANGE.match(what):
        return _out_of_range(found, where, _value_at(raw, path))
    if found := _LENGTH.match(what):
        return _bad_length(found, where, _value_at(raw, path))
    if found := _TYPE.match(what):
        return wrong_type(where, found[1], found[2] or json_kind(_value_at(raw, path)))
    if found := _ENUM.match(what):
        return bad_value(found[1].strip("'"), where)
    return RequestError(f"Invalid value for '{where}': {what}.", param=where, code="invalid_value")


def missing(where: str) -> RequestError:
    """Return the error for a missing required field."""
    return RequestError(
        f"Missing required parameter: '{where}'.", param=where, code="missing_required_parameter"
    )


def bad_value(value: str, where: str, supported: str | None = None) -> RequestError:
    """Return the error for a value that is not in an enumeration."""
    if supported is None:
        supported = next((text for path, text in _SUPPORTED if path.fullmatch(where)), None)
    hint = f" Supported values are: {supported}." if supported else ""
    value = value if len(value) <= 100 else value[:100] + "..."
    return RequestError(f"Invalid value: '{value}'.{hint}", param=where, code="invalid_value")


def wrong_type(where: str, expected: str, got: str) -> RequestError:
    """Return the error for a wrong JSON type. Both are msgspec's names, `str | array | null`."""
    names = [_NAMES.get(kind, kind) for kind in expected.split(" | ") if kind != "null"]
    if where.endswith(".content") and "an array" in names:
        names = ["a string", "array of objects"]
    wanted = names[0] if len(names) == 1 else "one of " + " or ".join(names)
    return RequestError(
        f"Invalid type for '{where}': expected {wanted}, but got {_NAMES.get(got, got)} instead.",
        param=where,
        code="invalid_type",
    )


def empty_array(where: str) -> RequestError:
    """Return the error for an empty list that must have an entry."""
    return RequestError(
        f"Invalid '{where}': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead.",
        param=where,
        code="empty_array",
    )


def check_length(where: str, count: int, most: int) -> None:
    """Refuse an array with more than `most` entries."""
    if count > most:
        raise RequestError(
            f"Invalid '{where}': array too long. Expected an array with maximum length {most}, but "
            f"got an array with length {count} instead.",
            param=where,
            code="array_above_max_length",
        )


def check_name(name: str, where: str) -> None:
    """Refuse a name of a tool or schema that OpenAI would refuse, with its message."""
    if is_safe_name(name):
        return
    if len(name) > MAX_NAME:
        raise RequestError(
            f"Invalid '{where}': string too long. Expected a string with maximum length "
            f"{MAX_NAME}, but got a string with length {len(name)} instead.",
            param=where,
            code="string_above_max_length",
        )
    if not name:
        raise RequestError(
            f"Invalid '{where}': empty string. Expected a string with minimum length 1, "
            "but got an empty string instead.",
            param=where,
            code="empty_string",
        )
    raise RequestError(
        f"Invalid '{where}': string does not match pattern. "
        f"Expected a string that matches the pattern '{NAME_PATTERN}'.",
        param=where,
        code="invalid_value",
    )


def json_kind(value: Any) -> str:
    """Return msgspec's name for the type of a decoded JSON value."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _placed(text: str) -> tuple[str, str]:
    """Split a message and its path. The path comes last, after quoted input of the client, and
    consists of our own names."""
    what, mark, rest = text.rpartition(_AT)
    path = rest.removesuffix("`")
    return (what, path) if mark and path != rest else (text, "")


def _out_of_range(found: "re.Match[str]", where: str, value: Any) -> RequestError:
    kind = "decimal" if found[1] == "float" else "integer"
    side, word = (
        ("below_min", "below minimum") if ">" in found[2] else ("above_max", "above maximum")
    )
    bound = found[3].removesuffix(".0")
    return RequestError(
        f"Invalid '{where}': {kind} {word} value. Expected a value {found[2]} {bound}, "
        f"but got {_number(value)} instead.",
        param=where,
        code=f"{kind}_{side}_value",
    )


def _number(value: Any) -> str:
    """Return a number for a message. It may have thousands of digits."""
    text = str(value)
    return text if len(text) <= _LONGEST_NUMBER else f"{text[:_LONGEST_NUMBER]}..."


def _bad_length(found: "re.Match[str]", where: str, value: Any) -> RequestError:
    kind = {"str": "string", "array": "array", "object": "object"}[found[1]]
    article = "an" if kind in ("array", "object") else "a"
    size = len(value) if hasattr(value, "__len__") else 0
    if found[2] == ">=" and size == 0:
        return RequestError(
            f"Invalid '{where}': empty {kind}. Expected {article} {kind} with minimum length "
            f"{found[3]}, but got an empty {kind} instead.",
            param=where,
            code=f"empty_{kind}",
        )
    short = found[2] == ">="
    word, bound, side = (
        ("short", "minimum", "below_min") if short else ("long", "maximum", "above_max")
    )
    return RequestError(
        f"Invalid '{where}': {kind} too {word}. Expected {article} {kind} with {bound} length "
        f"{found[3]}, but got {article} {kind} with length {size} instead.",
        param=where,
        code=f"{kind}_{side}_length",
    )


def _value_at(raw: bytes, path: str) -> Any:
    """Return the value at msgspec's path, for the message only.

    Decodes one level at a time, so that other errors in `raw` do not hide the first one.
    """
    here = raw
    try:
        for name, position in re.findall(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]", path):
            if name:
                here = bytes(_level.decode(here)[name])
            elif position.isdecimal():
                here = bytes(_items.decode(here)[int(position)])
        return msgspec.json.decode(here)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError):
        return None
