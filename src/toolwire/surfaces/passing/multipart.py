"""Parses a `multipart/form-data` body strictly, and encodes it again.

Parsers of forms disagree about nearly everything: quotes, escapes, line ends, boundaries, repeated
fields. So a form is never forwarded verbatim. It is parsed by one narrow grammar, anything else is
refused, and the result is encoded again, with a boundary that no client can know. A backend then
reads exactly what was read here.
"""

import re
from collections.abc import Sequence
from urllib.parse import unquote

import msgspec

from toolwire.errors import RequestError

_TYPE = re.compile(r"multipart/form-data[ \t]*+;", re.IGNORECASE)
_BOUNDARY = re.compile(
    r""";[ \t]*+boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'()+./:=?-]{1,70}+)(?=[ \t;]|\Z))""",
    re.IGNORECASE | re.ASCII,
)
_DISPOSITION = re.compile(
    r'form-data; ?name="?([A-Za-z0-9_.\-\[\]]{1,64}+)"?'
    r"(?:; ?filename=(?:\"([^\"\\\r\n]{0,255}+)\"|([^\s\";]{1,255}+)))?+"
    r"(?:; ?filename\*=(?:utf-8|UTF-8)''([^\s\";]{1,765}+))?+"
)
_MEDIA = re.compile(r"[A-Za-z0-9.+_-]{1,64}+/[A-Za-z0-9.+_-]{1,64}+(?:;[\x20-\x7e]{0,128}+)?+")
_MOST_FIELDS = 64
_LONGEST_HEAD = 2048


class Field(msgspec.Struct, frozen=True):
    """One field of a form. `filename` is None if the value is not a file."""

    name: str
    value: bytes
    filename: str | None = None
    media: str = ""


def is_form(content_type: str) -> bool:
    """Whether this content type is a form."""
    return _TYPE.match(content_type) is not None


def read_form(content_type: str, body: bytes) -> list[Field]:
    """Return the fields of a form, in order. Raises `RequestError` if it is invalid."""
    found = _BOUNDARY.findall(content_type)
    if len(found) != 1:
        raise _unreadable("its Content-Type must name one boundary")
    mark = b"\r\n--" + (found[0][0] or found[0][1]).encode()
    first, *parts = (b"\r\n" + body).split(mark, _MOST_FIELDS + 2)
    if len(parts) > _MOST_FIELDS + 1:
        raise _unreadable(f"it has more than {_MOST_FIELDS} fields")
    if first.strip() or not parts or parts[-1] not in (b"--", b"--\r\n"):
        raise _unreadable("it does not begin and end with its boundary")
    return [_field(part) for part in parts[:-1]]


def write_form(fields: Sequence[Field], boundary: str) -> list[bytes]:
    """Return the body of a form in pieces: head, value and line end of each field."""
    pieces: list[bytes] = []
    for field in fields:
        pieces += [field_head(field, boundary), field.value, b"\r\n"]
    return [*pieces, f"--{boundary}--\r\n".encode()]


def field_head(field: Field, boundary: str) -> bytes:
    """Return the bytes before the value of a field."""
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{field.name}"'
    if field.filename is not None:
        head += f'; filename="{field.filename}"'
    if field.media:
        head += f"\r\nContent-Type: {field.media}"
    return f"{head}\r\n\r\n".encode()


def _field(part: bytes) -> Field:
    head, separator, value = part.partition(b"\r\n\r\n")
    if not separator or not head.startswith(b"\r\n") or len(head) > _LONGEST_HEAD:
        raise _unreadable("a field has no head, or one that is too long")
    headers = _headers(head)
    found = _DISPOSITION.fullmatch(headers.get("content-disposition", ""))
    media = headers.get("content-type", "")
    if found is None or (media and not _MEDIA.fullmatch(media)):
        raise _unreadable("the head of a field has another form than 'name=\"...\"'")
    name, quoted, token, encoded = found.groups()
    filename = unquote(encoded) if encoded else quoted if quoted is not None else token
    return Field(name, value, None if filename is None else _safe(filename), media)


def _headers(head: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    try:
        lines = head.decode().split("\r\n")[1:]
    except UnicodeDecodeError:
        raise _unreadable("the head of a field is not UTF-8") from None
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or name in headers or name not in _HEADERS:
            raise _unreadable(f"a field has a header that is not known: {name[:40]!r}")
        headers[name] = value.strip(" \t")
    headers.pop("content-length", None)
    return headers


_HEADERS = frozenset({"content-disposition", "content-type", "content-length"})


def _safe(filename: str) -> str:
    """Escape a file name. It is kept because its extension gives the file's type."""
    return "".join(c if c.isprintable() and c not in '"\\' else "_" for c in filename)


def _unreadable(why: str) -> RequestError:
    return RequestError(
        f"We could not read the form in the body of your request: {why}. "
        "Send it as your HTTP library makes it.",
        code="invalid_form",
    )
