"""The table of paths."""

from typing import Any

from toolwire.server.router import Resource, Router
from toolwire.surfaces.exchange import HttpRequest


class _Writer:
    def error(self, error: Any) -> Any:
        raise NotImplementedError


ONE, TWO, OTHER = _Writer(), _Writer(), _Writer()
ROUTER = Router(
    {
        "/v1/models": Resource(ONE, {}),
        "/v1/models/{id...}": Resource(ONE, {"GET": None}),  # type: ignore[dict-item]
        "/v1/things/{id}": Resource(TWO, {}),
        "/v1/things/{id}/parts": Resource(TWO, {"GET": None}),  # type: ignore[dict-item]
        "/v1/things/new": Resource(TWO, {"POST": None}),  # type: ignore[dict-item]
    },
    OTHER,
)


def _methods(path: str) -> list[str] | None:
    found = ROUTER.find(path)
    return None if found is None else list(found.methods)


def _api(router: Router, path: str, *headers: bytes) -> Resource:
    return router.api(HttpRequest("GET", path.encode(), dict.fromkeys(headers, b"")))


def test_a_parameter_is_one_segment() -> None:
    assert _methods("/v1/things/a") == []
    assert _methods("/v1/things/a/parts") == ["GET"]
    assert _methods("/v1/things/a/b") is None
    assert _methods("/v1/things/") is None


def test_a_parameter_with_dots_is_all_that_follows() -> None:
    assert _methods("/v1/models/a/b/c") == ["GET"]
    assert _methods("/v1/models/") is None


def test_a_path_without_parameters_comes_first() -> None:
    assert _methods("/v1/things/new") == ["POST"]


def test_points_and_stars_in_a_path_are_no_patterns() -> None:
    router = Router({"/a.b/{id}": Resource(ONE, {})}, OTHER)
    assert router.find("/aXb/1") is None


def test_errors_below_a_path_are_written_by_the_api_of_the_path() -> None:
    assert _api(ROUTER, "/v1/things/a/b/c").writer is TWO
    assert _api(ROUTER, "/v1/things").writer is TWO
    assert _api(ROUTER, "/v1/models/x").writer is ONE
    assert _api(ROUTER, "/elsewhere").writer is OTHER


def test_an_api_may_have_statuses_of_its_own() -> None:
    router = Router({"/v1/a": Resource(ONE, {}, {503: 529})}, OTHER)
    assert _api(router, "/v1/a/b").statuses == {503: 529}
    assert _api(router, "/v1/b").statuses == {}


def test_a_header_of_one_api_tells_which_a_client_speaks() -> None:
    table = {"/v1/a": Resource(ONE, {}), "/v1/models": Resource(TWO, {})}
    router = Router(table, OTHER, {b"a-version": "/v1/a"})
    assert _api(router, "/v1/models", b"a-version").writer is ONE
    assert _api(router, "/v1/models", b"b-version").writer is TWO
