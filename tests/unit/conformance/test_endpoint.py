import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from toolwire.conformance.endpoint.checks import error_body
from toolwire.conformance.endpoint.client import MOST_TOKENS, LiveEndpoint, Reply, Unreachable
from toolwire.conformance.endpoint.trial import Check, Fault, Unsure, Verdict, run_checks


class Picky(BaseHTTPRequestHandler):
    """Refuses some parameters, one after the other, and tells what it was sent."""

    refuses: tuple[str, ...] = ()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        refused = next((name for name in self.refuses if name in body), None)
        answer = {"error": {"message": f"no {refused}, please"}} if refused else {"sent": body}
        self.send_response(400 if refused else 200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def picky_server(*refuses: str) -> Iterator[str]:
    handler = type("Handler", (Picky,), {"refuses": refuses})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


DEFAULTS = {"temperature": 0, "max_tokens": MOST_TOKENS}


@pytest.mark.parametrize("refused", [(), ("temperature",), ("max_tokens",), tuple(DEFAULTS)])
def test_a_default_that_is_refused_is_left_out_from_then_on(refused: tuple[str, ...]) -> None:
    kept = {name: value for name, value in DEFAULTS.items() if name not in refused}
    with picky_server(*refused) as url:
        endpoint = LiveEndpoint(url, "m")
        for _ in range(2):
            reply = endpoint.chat(messages=[])
            assert reply.body == {"sent": {"model": "m", "messages": [], **kept}}


class Fixed(LiveEndpoint):
    """Always the same answer."""

    def __init__(self, status: int, body: Any) -> None:
        self.fixed = Reply(status, json.dumps(body), body)

    def chat(self, **body: Any) -> Reply:
        return self.fixed


FULL = {"message": "m", "type": "t", "param": None, "code": None}


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (200, {"error": FULL}, "HTTP 200, not 400"),
        (500, {"error": FULL}, "HTTP 500, not 400"),
        (400, {"detail": "x"}, "there is no"),
        (400, {"error": {"message": "m", "type": "t"}}, "the error has no param, code"),
    ],
)
def test_an_error_of_another_shape_is_found(status: int, body: Any, problem: str) -> None:
    with pytest.raises(Fault, match=problem):
        error_body(Fixed(status, body))


def test_an_error_with_all_four_members_is_right() -> None:
    error_body(Fixed(400, {"error": FULL}))


def check(name: str, error: Exception | None) -> Check:
    def run(_endpoint: LiveEndpoint) -> str | None:
        if error:
            raise error
        return "fine"

    return Check(name, run, "do this")


def test_a_check_works_fails_or_is_unsure_and_only_failures_get_advice() -> None:
    checks = [check("a", None), check("b", Fault("bad")), check("c", Unsure("who knows"))]
    found = list(run_checks(Fixed(200, {}), checks))
    assert [(f.verdict, f.detail, f.advice) for f in found] == [
        (Verdict.WORKS, "fine", ""),
        (Verdict.FAILS, "bad", "do this"),
        (Verdict.UNSURE, "who knows", ""),
    ]


def test_a_server_that_never_answered_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        list(run_checks(Fixed(200, {}), [check("a", Unreachable("gone"))]))


def test_a_server_that_answered_once_and_then_not_has_failed() -> None:
    checks = [check("a", None), check("b", Unreachable("gone"))]
    found = list(run_checks(Fixed(200, {}), checks))
    assert (found[1].verdict, found[1].detail) == (Verdict.FAILS, "no answer: gone")
