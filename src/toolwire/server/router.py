"""Maps paths and methods to handlers."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

from toolwire.gateway.context import RequestContext
from toolwire.surfaces.base import ErrorWriter
from toolwire.surfaces.exchange import Exchange, HttpRequest

Handler: TypeAlias = Callable[[Exchange, RequestContext], Awaitable[None]]

_PARAMETER = re.compile(r"\\\{[a-z_]+\\\}")


class Resource(msgspec.Struct, frozen=True):
    """The resource at a path: the handler of each method, and the error writer."""

    writer: ErrorWriter
    methods: Mapping[str, Handler] = msgspec.field(default_factory=dict)
    statuses: Mapping[int, int] = msgspec.field(default_factory=dict)
    """Error statuses that are different in this API."""


class Router:
    """The table of paths.

    A path may have parameters: `{id}` in `/v1/responses/{id}` matches one segment, and `{id...}` in
    `/v1/models/{id...}` matches the rest. A path without parameters takes precedence.
    """

    def __init__(
        self,
        table: Mapping[str, Resource],
        default: ErrorWriter,
        by_header: Mapping[bytes, str] | None = None,
    ) -> None:
        self._exact = {path: found for path, found in table.items() if "{" not in path}
        self._patterns = [(_compiled(path), r) for path, r in table.items() if "{" in path]
        self._prefixes = {path.partition("/{")[0]: found for path, found in table.items()}
        self._default = Resource(default)
        self._by_header = by_header or {}

    def find(self, path: str) -> Resource | None:
        """Return the resource at this path."""
        found = self._exact.get(path)
        if found is not None:
            return found
        return next((r for pattern, r in self._patterns if pattern.fullmatch(path)), None)

    def api(self, request: HttpRequest) -> Resource:
        """Return a resource of the API that a client speaks, for errors in its form.

        A header in `by_header` tells, for clients that share paths with another API, or else the
        path.
        """
        path = request.path
        for header, of_api in self._by_header.items():
            path = of_api if header in request.headers else path
        while path:
            if (found := self._prefixes.get(path)) is not None:
                return found
            path = path.rpartition("/")[0]
        return self._default


def _compiled(path: str) -> re.Pattern[str]:
    rest = re.sub(r"\{[a-z_]+\.\.\.\}", "\0", path)
    one = _PARAMETER.sub("[^/]+", re.escape(rest))
    return re.compile(one.replace(re.escape("\0"), ".+"))
