"""The rows of the error contract that are about HTTP, keys, models and backends."""

import asyncio
import gzip
import hashlib
import io
import json
from typing import Any

import pytest
from tests.contract.chatting import Client, chat, speaking
from tests.contract.wire import body

from toolwire.backends.base import clip
from toolwire.backends.http import Head
from toolwire.backends.openai.refusal import refusal
from toolwire.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from toolwire.server.app import App
from toolwire.server.config.settings import BackendConfig, ClientKey, Config, RouteConfig
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.redact import Redactor
from toolwire.surfaces.exchange import HttpRequest

KEY = "tw-secret"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()


def app(**settings: Any) -> App:
    """The application, in front of a backend that nobody is to reach."""
    route = RouteConfig("m", (BackendConfig(name="b", url="http://127.0.0.1:9/v1"),))
    logs = Logs(level=50, as_json=False, redactor=Redactor(), stream=io.StringIO())
    return App(Config(models=(route,), **settings), logs, clock=lambda: 0.0)


def ask(
    method: str, target: bytes, raw: bytes = b"", *, key: bytes | None = None, keys: bool = False
) -> Client:
    """One request to the application."""
    settings = {"keys": (ClientKey("me", DIGEST),)} if keys else {}
    headers = {} if key is None else {b"authorization": key}
    client = Client(HttpRequest(method, target, headers, raw))
    asyncio.run(_call(app(**settings), client))
    return client


async def _call(served: App, client: Client) -> None:
    await served(client)


def told(client: Client) -> tuple[int, str, str | None, str | None]:
    """Status, type, param and code of an error in OpenAI's form."""
    (name, error), *rest = client.json.items()
    assert (name, rest) == ("error", [])
    assert list(error) == ["message", "type", "param", "code"]
    assert client.headers["content-type"] == "application/json"
    return client.status, error["type"], error["param"], error["code"]


CHAT = b"/v1/chat/completions"


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (None, "You didn't provide an API key."),
        (b"", "You didn't provide an API key."),
        (b"Bearer sk-wrong", "Incorrect API key provided"),
        (b"Bearer", "Incorrect API key provided"),
        (b"Basic " + KEY.encode(), "Incorrect API key provided"),
        (b"Bearer " + KEY.encode() + b"x", "Incorrect API key provided"),
    ],
)
def test_no_key_or_a_wrong_one_is_401(key: bytes | None, words: str) -> None:
    client = ask("POST", CHAT, body(), key=key, keys=True)
    assert told(client) == (401, "invalid_request_error", None, "invalid_api_key")
    assert client.json["error"]["message"].startswith(words)
    assert b"sk-wrong" not in client.written


def test_the_right_key_gets_past_the_gate() -> None:
    client = ask("POST", CHAT, b"{", key=b"Bearer " + KEY.encode(), keys=True)
    assert told(client) == (400, "invalid_request_error", None, None)


def test_an_unknown_model_is_404_and_the_message_names_those_there_are() -> None:
    client = ask("POST", CHAT, body(model="gpt-9"))
    assert told(client) == (404, "invalid_request_error", None, "model_not_found")
    assert client.json["error"]["message"] == (
        "The model 'gpt-9' does not exist or you do not have access to it. This server has: 'm'."
    )


def test_an_unknown_model_is_404_by_its_id_too() -> None:
    assert told(ask("GET", b"/v1/models/gpt-9"))[::3] == (404, "model_not_found")


def test_what_is_wrong_with_a_request_is_said_before_its_model_is_looked_for() -> None:
    assert told(ask("POST", CHAT, body(model="gpt-9", n=0)))[0] == 400


@pytest.mark.parametrize("target", [b"/v2/chat", b"/model/info", b"/v1/../etc", b"/v1/a b"])
def test_an_unknown_path_is_404_in_json(target: bytes) -> None:
    assert told(ask("GET", target))[::3] == (404, "not_found")


@pytest.mark.parametrize(("method", "target"), [("GET", CHAT), ("POST", b"/v1/models")])
def test_a_wrong_method_is_405_and_says_which_is_right(method: str, target: bytes) -> None:
    client = ask(method, target)
    assert told(client) == (405, "invalid_request_error", None, "method_not_allowed")
    right = "POST" if method == "GET" else "GET"
    assert right in client.json["error"]["message"]
    assert client.headers["allow"] == right


def test_a_compressed_body_is_called_one() -> None:
    client = ask("POST", CHAT, gzip.compress(body()))
    assert told(client) == (400, "invalid_request_error", None, None)
    assert "it is compressed, which is not supported" in client.json["error"]["message"]


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", None),
        (408, "invalid_request_error", "request_timeout"),
        (413, "invalid_request_error", "request_too_large"),
        (431, "invalid_request_error", "headers_too_large"),
        (503, "server_error", "overloaded"),
    ],
)
def test_what_is_no_request_at_all_is_refused_in_the_same_form(
    status: int, kind: str, code: str | None
) -> None:
    client = Client(HttpRequest())
    app().refuse(client, status)
    error = client.json["error"]
    assert (client.status, error["type"], error["code"]) == (status, kind, code)
    assert list(error) == ["message", "type", "param", "code"]


def failing(error: UpstreamError) -> Client:
    """The client's view of a backend that fails so before it says anything."""
    return chat(body(), speaking(refusal=error))


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UpstreamError("x"), 502, "upstream_error"),
        (UpstreamUnavailable("x"), 503, "upstream_error"),
        (UpstreamTimeout("x"), 504, "upstream_timeout"),
    ],
)
def test_a_backend_that_failed_is_a_server_error(
    error: UpstreamError, status: int, code: str
) -> None:
    assert told(failing(error)) == (status, "server_error", None, code)


def refused(status: int, said: Any, **headers: str) -> Client:
    """The client's view of a backend that answers with this status and body."""
    fields = {name.replace("_", "-").encode(): text.encode() for name, text in headers.items()}
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    return failing(refusal("b", Head(status, fields), raw, clip))


def test_a_rate_limit_is_passed_on_with_its_retry_after() -> None:
    client = refused(429, {"error": {"message": "Slow down."}}, retry_after="7")
    assert told(client) == (429, "requests", None, "rate_limit_exceeded")
    assert client.headers["retry-after"] == "7"
    assert client.json["error"]["message"] == "The backend 'b' answered 429: Slow down."


def test_an_empty_account_is_told_from_a_rate_limit() -> None:
    error = {"message": "No credit.", "type": "insufficient_quota", "code": "insufficient_quota"}
    assert told(refused(429, {"error": error})) == (
        429, "insufficient_quota", None, "insufficient_quota",
    )  # fmt: skip


@pytest.mark.parametrize("value", ["inf", "1e999", "nan", "Wed, 21 Oct 2026 07:28:00 GMT", "-3"])
def test_an_odd_retry_after_does_no_harm(value: str) -> None:
    client = refused(429, {}, retry_after=value)
    assert client.status == 429
    assert client.headers.get("retry-after", "0") == "0"


@pytest.mark.parametrize(
    ("status", "ours"), [(500, 502), (502, 502), (503, 503), (504, 502), (529, 503)]
)
def test_a_backend_in_trouble_is_502_and_a_busy_one_503(status: int, ours: int) -> None:
    assert told(refused(status, b"<html>Bad Gateway</html>"))[::3] == (ours, "upstream_error")


def test_a_proxys_page_is_not_repeated() -> None:
    assert b"html" not in refused(502, b"<html>Bad Gateway</html>").written


def test_a_backends_own_refusal_keeps_its_status_words_param_and_code() -> None:
    error = {"message": "Too long.", "param": "messages", "code": "context_length_exceeded"}
    client = refused(400, {"error": error})
    assert told(client) == (400, "invalid_request_error", "messages", "context_length_exceeded")
    assert client.json["error"]["message"] == "Too long."


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"error": "Too long."}, "Too long."),
        ({"detail": "Too long."}, "Too long."),
        ({"detail": [{"msg": "bad"}]}, "[{'msg': 'bad'}]"),
        ({"message": "Too long.", "code": 40001}, "Too long."),
        (b"Too long.", "Too long."),
        ("Too long.", "Too long."),
        (b"", "The backend 'b' refused the request (422)."),
        (b"\xff", "\ufffd"),
    ],
)
def test_a_refusal_in_any_form_is_understood(said: Any, message: str) -> None:
    client = refused(422, said)
    assert told(client) == (422, "invalid_request_error", None, "upstream_error")
    assert client.json["error"]["message"] == message


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_of_ours_is_not_the_clients_fault(status: int) -> None:
    client = refused(status, {"error": {"message": "Incorrect API key provided."}})
    assert told(client) == (status, "invalid_request_error", None, "upstream_key_refused")
    assert client.headers["x-should-retry"] == "false"
    assert b"The backend 'b' refused Toolwire's key" in client.written
    assert b"Incorrect API key provided. Set the right one with 'key_env'" in client.written


def test_a_redirect_is_not_followed_and_the_fix_is_named() -> None:
    client = refused(308, b"", location="http://elsewhere/")
    assert told(client)[0] == 502
    assert b"Configure the final address" in client.written
