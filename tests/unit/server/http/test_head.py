"""Heads that llhttp lets pass and that are refused all the same, and targets in absolute form."""

import pytest

from toolwire.server.http.head import Refused, check_head, wants_continue
from toolwire.surfaces.exchange import HttpRequest


def head(target: bytes = b"/v1/models", version: str = "1.1", **headers: bytes) -> HttpRequest:
    """A request of which only the head was read."""
    fields = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return HttpRequest("GET", target, fields, chunked_ok=version == "1.1")


REFUSED: dict[str, tuple[int, HttpRequest, str]] = {
    "no Host": (400, head(), "1.1"),
    "two Hosts": (400, head(host=b"a, b"), "1.1"),
    "the same Host twice": (400, head(host=b"a, a"), "1.1"),
    "two Hosts in HTTP/1.0": (400, head(host=b"a, a", version="1.0"), "1.0"),
    "HTTP/2": (400, head(host=b"a"), "2.0"),
    "HTTP/1.2": (400, head(host=b"a"), "1.2"),
    "another authority": (400, head(b"http://b/", host=b"a"), "1.1"),
    "another port": (400, head(b"http://a:81/", host=b"a:80"), "1.1"),
    "absolute form without a Host": (400, head(b"http://a/"), "1.1"),
    "a coding before chunked": (501, head(host=b"a", transfer_encoding=b"gzip, chunked"), "1.1"),
    "another coding": (501, head(host=b"a", transfer_encoding=b"gzip"), "1.1"),
    "chunked before there were chunks": (400, head(transfer_encoding=b"chunked"), "1.0"),
    "an unknown expectation": (417, head(host=b"a", expect=b"200-ok"), "1.1"),
    "an expectation too many": (417, head(host=b"a", expect=b"100-continue, x"), "1.1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_head_that_is_not_to_be_answered_is_refused(name: str) -> None:
    status, request, version = REFUSED[name]
    with pytest.raises(Refused) as refused:
        check_head(request, version)
    assert refused.value.status == status


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (head(host=b"a"), "1.1"),
        (head(host=b""), "1.1"),
        (head(version="1.0"), "1.0"),
        (head(host=b"a", transfer_encoding=b" Chunked"), "1.1"),
        (head(host=b"a", expect=b"100-Continue"), "1.1"),
        (head(expect=b"anything", version="1.0"), "1.0"),
        (head(host=b"a", te=b"gzip, trailers"), "1.1"),
    ],
)
def test_an_ordinary_head_is_left_as_it_is(request_: HttpRequest, version: str) -> None:
    check_head(request_, version)
    assert request_.target == b"/v1/models"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"http://a/v1/models", b"/v1/models"),
        (b"HTTPS://A/v1/models?x=http://b/", b"/v1/models?x=http://b/"),
        (b"http://a", b"/"),
        (b"http://a?x", b"/?x"),
        (b"http://a//v1", b"//v1"),
        (b"*", b"*"),
        (b"ftp://a/v1", b"ftp://a/v1"),
        (b"http://user@a/v1", b"http://user@a/v1"),
        (b"http:///v1", b"http:///v1"),
    ],
)
def test_a_target_in_absolute_form_is_the_path_in_it(target: bytes, path: bytes) -> None:
    request = head(target, host=b"a")
    check_head(request, "1.1")
    assert request.target == path


def test_the_authority_is_the_host_of_a_client_that_sends_none() -> None:
    request = head(b"http://evil.example/v1/models", version="1.0")
    check_head(request, "1.0")
    assert request.headers[b"host"] == b"evil.example"


def test_nobody_waits_for_a_continue_in_http_1_0() -> None:
    assert wants_continue(head(host=b"a", expect=b"100-continue"))
    assert not wants_continue(head(expect=b"100-continue", version="1.0"))
