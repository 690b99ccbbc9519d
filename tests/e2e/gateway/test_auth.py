"""Who may ask: keys, addresses that are open, and what no client can make us do (R8, R10)."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, run_and_fail, running
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import CHAT, ask, chat_body, connected, read_to_end, statuses
from tests.scripted import ScriptedServer

from toolwire.server.access.auth import hash_key

KEY = "tw-right-0123456789abcdefghijklmnopqrstuvwxyz"
OTHER = "tw-other-0123456789abcdefghijklmnopqrstuvwxyz"
KEYS = f"""
[[keys]]
name = "first"
sha256 = "{hash_key(KEY)}"

[[keys]]
name = "second"
sha256 = "{hash_key(OTHER)}"
"""


@pytest.fixture(scope="module")
def guarded(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that demands a key; the backend demands another."""
    with running("--upstream", backend.url, config=KEYS) as process:
        yield process
        assert "Traceback" not in process.log


@pytest.fixture(autouse=True)
def _backend_says_hi(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


def bearer(key: str) -> dict[str, str]:
    """The header that presents a key."""
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_each_right_key_is_let_in(guarded: Gateway, key: str) -> None:
    assert ask(guarded.port, chat_body(), headers=bearer(key)).status == 200


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_each_right_key_is_let_in_by_its_other_header(guarded: Gateway, key: str) -> None:
    assert ask(guarded.port, chat_body(), headers={"x-api-key": key}).status == 200


def test_without_a_key_the_answer_is_openais_401(guarded: Gateway, backend: ScriptedServer) -> None:
    reply = ask(guarded.port, chat_body())
    assert reply.status == 401
    assert reply.error["code"] == "invalid_api_key"
    assert reply.error["type"] == "invalid_request_error"
    assert "Authorization" in reply.error["message"]
    assert backend.requests == []


WRONG = {
    "another": "tw-wrong",
    "the beginning": KEY[:-1],
    "one more": KEY + "x",
    "one other letter": KEY[:-1] + "Z",
    "capitals": KEY.upper(),
    "nothing": "",
    "SQL": "' OR '1'='1' --",
    "a path": "../../etc/passwd",
    "its hash": hash_key(KEY),
    "two": f"{KEY} {OTHER}",
    "two with a comma": f"{KEY}, {OTHER}",
    "long": "x" * 60_000,
    "not ASCII": "schlüssel-ÿ",
    "a zero byte escaped": KEY + "%00",
    "quoted": f'"{KEY}"',
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_key_is_refused_and_never_repeated(
    guarded: Gateway, backend: ScriptedServer, name: str
) -> None:
    reply = ask(guarded.port, chat_body(), headers=bearer(WRONG[name]))
    assert reply.status == 401
    assert reply.error["code"] == "invalid_api_key"
    assert not WRONG[name] or WRONG[name] not in reply.error["message"]
    assert backend.requests == []


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_key_in_the_other_header_is_refused_too(
    guarded: Gateway, backend: ScriptedServer, name: str
) -> None:
    reply = ask(guarded.port, chat_body(), headers={"x-api-key": WRONG[name]})
    assert reply.status == 401
    assert not WRONG[name] or WRONG[name] not in reply.error["message"]
    assert backend.requests == []


def test_two_thousand_keys_are_refused(guarded: Gateway, backend: ScriptedServer) -> None:
    def try_keys(part: int) -> set[int]:
        connection = HTTPConnection("127.0.0.1", guarded.port, timeout=20)
        seen = set()
        for number in range(part, size(2000, 10_000), 4):
            key = KEY[: number % len(KEY)] + str(number)
            connection.request("GET", "/v1/models", headers=bearer(key))
            response = connection.getresponse()
            response.read()
            seen.add(response.status)
        connection.close()
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(try_keys, range(4))) == {401}
    assert backend.requests == []


@pytest.mark.parametrize(
    "header",
    [
        f"Basic {KEY}",
        f"Bearer{KEY}",
        f"Token {KEY}",
        KEY,
        f"Bearer\t\t{KEY}x",
        f"Bearer {KEY}\r\nauthorization: Bearer {KEY}",
    ],
)
def test_another_form_of_the_header_is_refused(guarded: Gateway, header: str) -> None:
    data = f"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: {header}\r\n\r\n".encode()
    with connected(guarded.port) as sock:
        sock.sendall(data.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        assert statuses(read_to_end(sock)) == [401]


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("/v1/models", "x/healthz?"),
        ("/v1/models", "healthz"),
        ("//v1/models", "x"),
        ("/v1/models?/healthz", "x"),
        ("/v1/models#/healthz", "x"),
        ("/healthz/../v1/models", "x"),
        ("/healthz/v1/models", "x"),
        ("/v1/%2e%2e/healthz", "x"),
        ("http://x/v1/models", "x"),
        ("http://x//healthz", "x"),
        ("/metrics", "x"),
        ("/v1/embeddings", "x"),
        ("/nothing", "x"),
        ("/HEALTHZ", "x"),
    ],
)
def test_no_path_or_host_gets_around_the_key(
    guarded: Gateway, backend: ScriptedServer, target: str, host: str
) -> None:
    data = f"GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    with connected(guarded.port) as sock:
        sock.sendall(data.encode())
        assert statuses(read_to_end(sock)) == [401]
    assert backend.requests == []


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_key(guarded: Gateway, path: str) -> None:
    assert ask(guarded.port, path=path).status == 200


def test_metrics_need_the_key(guarded: Gateway) -> None:
    assert ask(guarded.port, path="/metrics").status == 401
    assert ask(guarded.port, path="/metrics", headers=bearer(KEY)).status == 200


def test_without_keys_a_loopback_address_is_open(gateway: Gateway) -> None:
    assert ask(gateway.port, chat_body()).status == 200
    assert ask(gateway.port, chat_body(), headers=bearer("anything")).status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_a_public_address_without_keys_is_refused(tmp_path: Path, host: str) -> None:
    code, text = run_and_fail(tmp_path, "--upstream", "http://127.0.0.1:9/v1", "--host", host)
    assert code == 1
    assert "[[keys]]" in text
    assert "--public" in text
    assert "Traceback" not in text


def test_a_public_address_with_keys_or_the_flag_is_served(backend: ScriptedServer) -> None:
    flags = ("--upstream", backend.url, "--host", "0.0.0.0")
    with running(*flags, "--public") as everybodys:
        assert ask(everybodys.port, chat_body()).status == 200
    with running(*flags, env={"TOOLWIRE_API_KEY": KEY}) as guarded:
        assert ask(guarded.port, chat_body()).status == 401
        assert ask(guarded.port, chat_body(), headers=bearer(KEY)).status == 200


# What a client cannot make us do (R10).


class Trap:
    """A port that notes whoever connects to it."""

    def __enter__(self) -> "Trap":
        self._sock = socket.socket()
        self._sock.bind(("127.0.0.1", 0))
        self._sock.listen()
        self._sock.setblocking(False)
        self.url = f"http://127.0.0.1:{self._sock.getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    @property
    def sprung(self) -> bool:
        """Whether anybody has come."""
        try:
            self._sock.accept()[0].close()
        except BlockingIOError:
            return False
        return True


def test_nothing_in_a_request_chooses_where_it_goes(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    with Trap() as trap:
        host = trap.url.removeprefix("http://")
        fields = dict.fromkeys(("api_base", "base_url", "custom_host", "endpoint"), trap.url)
        fields |= {"extra_headers": {"host": host}, "api_version": trap.url}
        headers = dict.fromkeys(
            ("x-forwarded-host", "x-upstream-host", "x-original-url", "forwarded"), host
        )
        reply = ask(gateway.port, chat_body(**fields), headers=headers)
        assert reply.status == 200
        assert not trap.sprung
    (request,) = backend.requests
    assert set(fields).isdisjoint(request.json)
    assert host not in json.dumps(request.headers)
    assert "api_base" in reply.headers["toolwire-ignored-params"]


def test_keys_and_bodies_in_a_request_are_not_used(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    body = chat_body(api_key="sk-smuggled-key", extra_body={"n": 99}, headers={"x": "y"})
    assert ask(gateway.port, body, headers=bearer("sk-client-key")).status == 200
    (request,) = backend.requests
    assert "authorization" not in request.headers
    assert set(request.json) == {"model", "messages", "stream"}


@pytest.mark.parametrize("path", [CHAT, "/v1/embeddings"])
def test_a_redirect_is_not_followed(gateway: Gateway, backend: ScriptedServer, path: str) -> None:
    with Trap() as trap:
        backend.use(f"redirect:{trap.url}/v1/chat/completions", ["hi"])
        reply = ask(gateway.port, chat_body(input="x"), path=path)
        assert "location" not in reply.headers
        assert trap.url not in reply.body.decode()
        assert not trap.sprung
    assert reply.status == 502
    assert len(backend.requests) == 1
