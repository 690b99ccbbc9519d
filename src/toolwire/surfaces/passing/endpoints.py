"""The list of methods and paths that are passed through to a backend.

The default is the inference endpoints that model servers have. They name their model in the body,
and store and change nothing on the server. Endpoints that manage a server or an account (files,
adapters, keys, batches, ...) are left out, because clients would use them with the operator's key.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

DEFAULT_ENDPOINTS = (
    "completions",
    "embeddings",
    "rerank",
    "reranking",
    "score",
    "classify",
    "pooling",
    "tokenize",
    "detokenize",
    "moderations",
    "audio/speech",
    "audio/transcriptions",
    "audio/translations",
    "images/generations",
    "images/edits",
    "images/variations",
)
"""Each is a POST below `/v1/`."""

_METHODS = ("POST", "GET", "DELETE")
_ENTRY = re.compile(r"(?:([A-Z]{1,16}+) )?+([A-Za-z0-9_-]++(?:/(?:[A-Za-z0-9_-]++|\*))*+)")
_SEGMENT = re.compile("[A-Za-z0-9_-]{1,128}+")
_OURS = ("chat", "models")


class Endpoint(msgspec.Struct, frozen=True):
    """A method and a path below `/v1/`, in which `*` matches one segment."""

    method: str
    path: str

    @staticmethod
    def read(entry: str) -> "Endpoint":
        """Parse `embeddings` or `GET files/*`. Raises `ValueError` with the reason."""
        found = _ENTRY.fullmatch(entry)
        if found is None:
            raise ValueError('use paths below /v1/, such as ["embeddings", "GET files/*"]')
        method = found[1] or "POST"
        if method not in _METHODS:
            raise ValueError(f"'{method}' is not passed on: use {', '.join(_METHODS)}")
        if found[2].partition("/")[0] in _OURS:
            raise ValueError(f"'{found[2]}' is Toolwire's own: leave it out of this list")
        return Endpoint(method, found[2])

    def fits(self, segments: Sequence[str]) -> bool:
        """Whether the path matches this endpoint."""
        wanted = self.path.split("/")
        if len(wanted) != len(segments):
            return False
        pairs = zip(wanted, segments, strict=True)
        return all(_SEGMENT.fullmatch(s) if w == "*" else w == s for w, s in pairs)


class AllowList:
    """Finds the methods that are allowed for a path."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._exact: dict[str, list[str]] = {}
        self._open: list[Endpoint] = []
        for endpoint in endpoints:
            if "*" in endpoint.path:
                self._open.append(endpoint)
            else:
                self._exact.setdefault(f"/v1/{endpoint.path}", []).append(endpoint.method)

    def methods(self, path: str) -> list[str]:
        """Return the allowed methods for this path; empty if it is not in the list."""
        methods = list(self._exact.get(path, ()))
        if self._open and path.startswith("/v1/"):
            segments = path.split("/")[2:]
            methods += [endpoint.method for endpoint in self._open if endpoint.fits(segments)]
        return methods
