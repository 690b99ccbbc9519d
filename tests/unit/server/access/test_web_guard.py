"""Which `Host` and `Origin` are answered under which configuration (R24)."""

import tracemalloc

import pytest

from toolwire.errors import Forbidden
from toolwire.server.access.web_guard import WebGuard, is_preflight, preflight_headers
from toolwire.server.config.settings import Listen

EVIL_HOST = {b"host": b"evil.example"}
EVIL_PAGE = {b"host": b"localhost", b"origin": b"https://evil.example"}


def verdict(guard: WebGuard, headers: dict[bytes, bytes]) -> str | None:
    """The code of the refusal, or the page that may read the answer."""
    try:
        return guard.check(headers)
    except Forbidden as refusal:
        return refusal.code


@pytest.mark.parametrize(
    ("listen", "open_", "host", "origin"),
    [
        (Listen(), True, "host_not_allowed", "origin_not_allowed"),
        (Listen(), False, "", ""),
        (Listen(host="0.0.0.0", public=True), True, "", "origin_not_allowed"),
        (Listen(host="0.0.0.0", allowed_hosts=("tools.lan",)), False, "host_not_allowed", ""),
        (Listen(allowed_hosts=("evil.example",)), True, "", "origin_not_allowed"),
        (Listen(allowed_hosts=("*",)), True, "", "origin_not_allowed"),
        (Listen(allowed_origins=("*",)), True, "host_not_allowed", "https://evil.example"),
        (Listen(allowed_origins=("*",)), False, "", "https://evil.example"),
    ],
)
def test_what_is_checked_follows_from_keys_and_address(
    listen: Listen, open_: bool, host: str, origin: str
) -> None:
    guard = WebGuard(listen, open=open_)
    for _ in range(2):  # a verdict is remembered
        assert verdict(guard, EVIL_HOST) == host
        assert verdict(guard, EVIL_PAGE) == origin


def test_a_client_too_old_to_send_a_host_is_no_browser() -> None:
    assert verdict(WebGuard(Listen(), open=True), {}) == ""


def test_an_origin_without_a_host_is_not_our_own() -> None:
    assert verdict(WebGuard(Listen(), open=True), {b"origin": b"null"}) == "origin_not_allowed"


def test_long_names_of_this_machine_are_not_kept() -> None:
    guard = WebGuard(Listen(), open=True)
    assert verdict(guard, {b"host": b"a.localhost"}) == ""
    tracemalloc.start()
    for number in range(200):
        host = b"%d" % number + b"a" * 60_000 + b".localhost"
        assert verdict(guard, {b"host": host}) == ""
        del host
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000


def test_a_page_cannot_write_into_the_answer_to_its_preflight() -> None:
    wanted = {
        b"access-control-request-method": b"POST",
        b"access-control-request-headers": b"a\rset-cookie: b",
    }
    assert is_preflight("OPTIONS", wanted)
    assert ("access-control-allow-headers", "*") in preflight_headers(wanted)
