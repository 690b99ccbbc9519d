"""A web page in the user's browser can do nothing to a gateway that asks for no key (R24)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, run_and_fail, running
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.scripted import ScriptedServer

PAGE = "http://localhost:3000"
CONFIG = f"""
[listen]
allowed_hosts = ["Tools.lan"]
allowed_origins = ["{PAGE}"]
"""
KEYED = f"""
[listen]
allowed_origins = ["{PAGE}"]
"""
KEY = {"authorization": "Bearer tw-secret"}
PATHS = ["/v1/models", "/metrics", "/v1/embeddings", "/nothing"]

FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:8181",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "127.0.0.1@evil.example",
    "[::1]evil.example",
    "tools.lan.evil.example",
]
OWN_HOSTS = [
    "localhost",
    "LOCALHOST:1",
    "localhost.",
    "api.localhost:8181",
    "127.0.0.1",
    "127.9.9.9:80",
    "[::1]:8181",
    "192.168.1.5:8181",
    "host.docker.internal:8181",
    "tools.lan",
    "TOOLS.lan:8181",
]
FOREIGN_PAGES: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:3001"},
    {"origin": "https://localhost:3000"},
    {"origin": "http://localhost:3000.evil.example"},
    {"origin": "vscode-webview://abc"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "CROSS-SITE"},
    {"sec-fetch-site": "same-origin, cross-site"},
    {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
]


@pytest.fixture(autouse=True)
def _backend_says_hi(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


@pytest.fixture(scope="module")
def keyed(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that asks for a key."""
    env = {"TOOLWIRE_API_KEY": "tw-secret"}
    with running("--upstream", backend.url, config=KEYED, env=env) as process:
        yield process


def assert_forbidden(reply: Reply, code: str, option: str) -> None:
    """It is refused, and whoever runs the gateway is told what to set."""
    assert (reply.status, reply.error["code"]) == (403, code)
    assert f"{option} in [listen]" in reply.error["message"]
    assert "access-control-allow-origin" not in reply.headers


def simple_post(gateway: Gateway, headers: Mapping[str, str]) -> Reply:
    """What a form or a script may send without asking first."""
    data = json.dumps(chat_body()).encode()
    return ask(gateway.port, data, headers={"content-type": "text/plain", **headers})


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_name_that_is_not_ours_is_refused(
    gateway: Gateway, backend: ScriptedServer, host: str
) -> None:
    reply = ask(gateway.port, chat_body(), headers={"host": host})
    assert_forbidden(reply, "host_not_allowed", "allowed_hosts")
    assert backend.requests == []


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_a_name_or_address_of_this_machine_is_answered(gateway: Gateway, host: str) -> None:
    assert ask(gateway.port, chat_body(), headers={"host": host}).status == 200


@pytest.mark.parametrize("path", PATHS)
def test_nothing_but_health_is_shown_to_a_foreign_name(gateway: Gateway, path: str) -> None:
    foreign = {"host": "evil.example"}
    assert_forbidden(ask(gateway.port, path=path, headers=foreign), *HOST)
    assert ask(gateway.port, path="/healthz", headers=foreign).status == 200
    assert ask(gateway.port, path="/readyz", headers=foreign).status == 200


HOST = ("host_not_allowed", "allowed_hosts")
ORIGIN = ("origin_not_allowed", "allowed_origins")


@pytest.mark.parametrize("headers", FOREIGN_PAGES)
def test_a_request_of_a_foreign_page_is_refused(
    gateway: Gateway, backend: ScriptedServer, headers: dict[str, str]
) -> None:
    assert_forbidden(ask(gateway.port, chat_body(), headers=headers), *ORIGIN)
    assert_forbidden(simple_post(gateway, headers), *ORIGIN)
    assert_forbidden(ask(gateway.port, path="/v1/models", headers=headers), *ORIGIN)
    assert_forbidden(preflight(gateway, headers.get("origin", "null")), *ORIGIN)
    assert backend.requests == []


def preflight(gateway: Gateway, origin: str) -> Reply:
    """What a browser asks before it sends a page's request."""
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-os",
    }
    return ask(gateway.port, method="OPTIONS", headers=headers)


def test_a_page_of_ours_and_a_typed_address_are_answered(gateway: Gateway) -> None:
    own = {"origin": f"http://127.0.0.1:{gateway.port}", "sec-fetch-site": "same-origin"}
    assert ask(gateway.port, chat_body(), headers=own).status == 200
    assert ask(gateway.port, path="/v1/models", headers={"sec-fetch-site": "none"}).status == 200


@pytest.mark.parametrize("stream", [True, False])
def test_a_page_that_was_named_may_ask_and_read(gateway: Gateway, stream: bool) -> None:
    asked = preflight(gateway, PAGE)
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == PAGE
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "x-stainless-os" in asked.headers["access-control-allow-headers"]
    reply = ask(gateway.port, chat_body(stream=stream), headers={"origin": PAGE})
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert reply.headers["vary"] == "origin"
    wrong = ask(gateway.port, chat_body(messages=5), headers={"origin": PAGE})
    assert (wrong.status, wrong.headers["access-control-allow-origin"]) == (400, PAGE)


def test_with_keys_the_key_decides(keyed: Gateway) -> None:
    foreign = {"host": "evil.example", "origin": "https://evil.example"}
    assert ask(keyed.port, chat_body(), headers=foreign).status == 401
    reply = ask(keyed.port, chat_body(), headers={**foreign, **KEY})
    assert reply.status == 200
    assert "access-control-allow-origin" not in reply.headers
    assert preflight(keyed, "https://evil.example").status == 401
    assert preflight(keyed, PAGE).status == 204


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('allowed_hosts = ["tools.lan:8181"]', "without a port"),
        ('allowed_origins = ["http://localhost:3000/"]', "without a path"),
        ('allowed_origins = ["localhost:3000"]', "without a path"),
    ],
)
def test_what_is_not_a_host_or_an_origin_is_said_at_the_start(
    tmp_path: Path, line: str, words: str
) -> None:
    code, text = run_and_fail(tmp_path, config=f"[listen]\n{line}\n")
    assert code == 1
    assert "toolwire.toml:2:" in text
    assert words in text
