"""Parsers for single values of the configuration.

Each function takes a value from the file and returns it converted, or raises `ValueError` with a
message that says what is wrong and what to do. The message does not repeat the value, which may be
a secret.
"""

import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from toolwire.backends.dialects import DIALECTS
from toolwire.extras import how_to_install
from toolwire.formats.catalog import ALIASES, FORMATS
from toolwire.gateway.repair.rules import RULE_NAMES
from toolwire.spelling import close_matches
from toolwire.surfaces.passing.endpoints import Endpoint

EMBEDDED = "embedded:"
"""The URL of the model inside this process."""
SQLITE = "sqlite:"
DEFAULT_STORE = SQLITE
"""A file in the user's state folder."""
REDIS = ("redis://", "rediss://")

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._\[\]:-]+")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")

# Toolwire sets these for every request, so a static value could only do harm.
_OUR_HEADERS = {"authorization", "connection", "content-encoding", "content-length"} | {
    "content-type",
    "host",
    "keep-alive",
    "te",
    "transfer-encoding",
    "upgrade",
}
_NEVER_REMOVED = frozenset({"model", "messages", "stream"})


def plain(value: object) -> str:
    """Return a value as an error message may quote it."""
    text = json.dumps(value, default=str)
    return f" = {text if len(text) <= 80 else text[:77] + '...'}"


def hidden(_value: object) -> str:
    """Return nothing, because the value may be a secret."""
    return ""


def without_credentials(value: object) -> str:
    """Return a URL as an error message may quote it."""
    if not isinstance(value, str):
        return ""
    scheme, separator, rest = value.partition("?")[0].rpartition("://")
    masked = "***@" if "@" in rest else ""
    return plain(f"{scheme}{separator}{masked}{rest.rpartition('@')[2]}")


def label(value: str) -> str:
    """A name that is safe in a log line or a metric."""
    if not value or len(value) > 256 or not value.isprintable() or value != value.strip():
        raise ValueError("use 1 to 256 printable characters without spaces at the ends")
    return value


def pattern(value: str) -> str:
    """A model's name, or a prefix and a star."""
    label(value)
    if "*" in value[:-1]:
        raise ValueError('a "*" may stand only at the end, such as "claude-*"')
    return value


def patterns(names: Sequence[str]) -> tuple[str, ...]:
    """Other names of a model."""
    return tuple(map(pattern, names))


def tool_patterns(names: Sequence[str]) -> tuple[str, ...]:
    """Patterns of tool names."""
    return tuple(map(label, names))


def host(value: str) -> str:
    """An address or host name to listen on."""
    bare = value.removeprefix("[").removesuffix("]")
    if _is_address(bare):
        return bare
    if not _HOST_NAME.fullmatch(value):
        raise ValueError('use an address or a host name alone, such as "127.0.0.1" or "::1"')
    return value


def is_loopback(value: str) -> bool:
    """Whether `value` is `localhost` or a loopback address. Names are not resolved."""
    if value.lower() == "localhost":
        return True
    return _is_address(value) and ipaddress.ip_address(value).is_loopback


def host_names(names: Sequence[str]) -> tuple[str, ...]:
    """Host names that clients may use for this server, in lower case."""
    for name in names:
        if name != "*" and not _HOST_NAME.fullmatch(name):
            raise ValueError('use host names without a port, such as ["tools.lan"], or ["*"]')
    return tuple(name.lower() for name in names)


def origins(values: Sequence[str]) -> tuple[str, ...]:
    """Origins of web pages as browsers send them, in lower case."""
    for value in values:
        if value != "*" and not _ORIGIN.fullmatch(value):
            raise ValueError('use origins without a path, such as ["http://localhost:3000"]')
    return tuple(value.lower() for value in values)


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def is_embedded(url: str) -> bool:
    """Whether this stands for the model inside this process."""
    return url == EMBEDDED


def url(value: str) -> str:
    """A backend's base URL, without a slash at the end; or `embedded:`."""
    if is_embedded(value):
        return value
    # Parsers disagree on a backslash, a space or a control character, so the host that is checked
    # might not be the host that is dialled.
    if not value.isascii() or not value.isprintable() or " " in value or "\\" in value:
        raise ValueError("use plain ASCII without spaces, backslashes or control characters")
    if "://" not in value:
        raise ValueError('has no scheme: put "http://" or "https://" in front')
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https"):
        raise ValueError('has an unsupported scheme: use "http://" or "https://"')
    if "@" in parts.netloc:
        raise ValueError("holds credentials: take them out and name a variable in `key_env`")
    if parts.query or parts.fragment or value.endswith(("?", "#")):
        raise ValueError("has a query or fragment: give the base URL alone, such as .../v1")
    if not parts.hostname or not _port_is_valid(value):
        raise ValueError('has no valid host and port: use the form "http://host:8000/v1"')
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise ValueError('is an endpoint: give the base URL, without "/chat/completions"')
    return value.rstrip("/")


def _port_is_valid(value: str) -> bool:
    try:
        return urlsplit(value).port != 0
    except ValueError:
        return False


def store(value: str) -> str:
    """Where sessions are stored."""
    if value in ("memory", "off") or value == DEFAULT_STORE:
        return value
    if value.startswith(SQLITE):
        return SQLITE + str(Path(value.removeprefix(SQLITE)).expanduser())
    if not value.startswith(REDIS):
        raise ValueError(
            'use "sqlite:PATH", "redis://HOST:6379/0", "rediss://...", "memory", "off"'
        )
    if not urlsplit(value).hostname or not _port_is_valid(value):
        raise ValueError('has no valid host and port: use the form "redis://localhost:6379/0"')
    if find_spec("redis") is None:
        raise ValueError(f"needs the package `redis`: {how_to_install('redis')}")
    return value


def dialect(value: str) -> str:
    """The name of a dialect that Toolwire knows."""
    if value not in DIALECTS:
        raise ValueError(f"is not a known dialect: use one of {', '.join(DIALECTS)}")
    return value


def format_name(value: str) -> str:
    """The name of a tool-call format, or another engine's name for it."""
    if value not in ALIASES and value not in FORMATS:
        near = close_matches(value, [*FORMATS, *ALIASES], 3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise ValueError(f"is not a known format: {hint}`toolwire formats` lists them")
    return value


def sha256(value: str) -> str:
    """A SHA-256 digest in hex, in lower case."""
    if not _SHA256.fullmatch(value):
        raise ValueError(
            "is not a SHA-256 in hex (64 digits). Never put the key itself here; "
            'its hash is what `printf %s "$KEY" | sha256sum` prints'
        )
    return value.lower()


def variable(value: object) -> str:
    """The name of an environment variable."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise ValueError(
            "is not the name of an environment variable: put the key into a variable "
            'and its NAME here, such as "OPENAI_API_KEY"'
        )
    return value


def parameters(names: Sequence[str]) -> tuple[str, ...]:
    """Names of top-level request parameters."""
    for name in names:
        if not _PARAMETER.fullmatch(name):
            raise ValueError('use names of request parameters, such as ["top_k"]')
        if name in _NEVER_REMOVED:
            raise ValueError(f"'{name}' is part of every request: leave it out of this list")
    return tuple(names)


def rules(names: Sequence[str]) -> tuple[str, ...]:
    """Names of repair rules."""
    for name in names:
        if name not in RULE_NAMES:
            raise ValueError(f"there is no rule '{name}': use some of {', '.join(RULE_NAMES)}")
    return tuple(names)


def endpoints(entries: Sequence[str]) -> tuple[Endpoint, ...]:
    """Requests to forward, each as `path` or `METHOD path`."""
    return tuple(map(Endpoint.read, entries))


def headers(mapping: Mapping[str, str]) -> Mapping[str, str]:
    """Static headers for a backend, with names in lower case."""
    for name, value in mapping.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"'{name}' is not a header with a printable ASCII value")
        if name.lower() == "authorization":
            raise ValueError("'authorization' is made from the key: use `key_env`")
        if name.lower() in _OUR_HEADERS:
            raise ValueError(f"'{name}' is set by Toolwire for each request: leave it out")
    return MappingProxyType({name.lower(): value for name, value in mapping.items()})
