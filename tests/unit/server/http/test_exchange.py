"""One answer as HTTP/1.1: what goes out, and when."""

from types import SimpleNamespace
from typing import Any

import pytest

from toolwire.server.http.exchange import HttpExchange
from toolwire.surfaces.exchange import HttpRequest


def exchange(written: list[bytes], **request: Any) -> HttpExchange:
    connection: Any = SimpleNamespace(write=written.append, transport=object(), paused=False)
    return HttpExchange(connection, HttpRequest(**request))


@pytest.mark.parametrize("status", [200, 499, 529])
def test_a_status_need_not_be_a_known_one(status: int) -> None:
    written: list[bytes] = []
    exchange(written).respond(status, [], b"x")
    assert b"".join(written).startswith(b"HTTP/1.1 %d " % status)
    assert b"".join(written).endswith(b"content-length: 1\r\n\r\nx")


def test_the_head_of_a_begun_answer_goes_out_once_with_its_first_piece() -> None:
    written: list[bytes] = []
    begun = exchange(written)
    begun.start(200, [])
    assert written == []
    begun.write(b"abc")
    begun.end(b"d")
    assert [data.count(b"HTTP/1.1") for data in written] == [1, 0]
    assert written[0].endswith(b"\r\n\r\n3\r\nabc\r\n")
    assert written[1] == b"1\r\nd\r\n0\r\n\r\n"


def test_an_answer_that_was_begun_and_given_up_has_a_head_and_no_end() -> None:
    written: list[bytes] = []
    begun = exchange(written)
    begun.start(200, [])
    begun.abort()
    assert len(written) == 1
    assert written[0].endswith(b"\r\n\r\n")
    assert not begun.request.keep_alive


def test_a_client_of_before_1997_gets_no_chunks_and_a_connection_that_closes() -> None:
    written: list[bytes] = []
    begun = exchange(written, chunked_ok=False)
    begun.start(200, [])
    begun.end(b"all")
    (sent,) = written
    assert b"connection: close\r\n" in sent
    assert sent.endswith(b"\r\n\r\nall")
