"""Every error below /v1/messages has Anthropic's form, also where no surface was reached."""

import http.client
import json
import signal
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer

from toolwire.server.access.auth import hash_key

KEY = "tw-key-of-a-test"
ASKED: Any = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "Hello"}]}
SETTINGS = f"""
[[keys]]
name = "laptop"
sha256 = "{hash_key(KEY)}"
[limits]
body_bytes = 4096
[timeouts]
first_token = 1
idle = 1
[retries]
attempts = 0
[[models]]
name = "m"
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that demands a key, and does not wait long."""
    with running(config=f'{SETTINGS}backend = {{ url = "{backend.url}" }}\n') as process:
        yield process


def send(
    gateway: Gateway, method: str, path: str, body: bytes = b"", key: str = KEY
) -> tuple[int, dict[str, str], Any]:
    """One request; the status, the headers and the body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, headers, json.loads(said or b"null")


def post(gateway: Gateway, **fields: Any) -> tuple[int, dict[str, str], Any]:
    return send(gateway, "POST", "/v1/messages", json.dumps({**ASKED, **fields}).encode())


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (("POST", "/v1/messages", b"{}", "wrong"), (401, "authentication_error")),
        (("POST", "/v1/messages/batches", b"{}"), (404, "not_found_error")),
        (("GET", "/v1/messages"), (405, "invalid_request_error")),
        (("GET", "/v1/messages/count_tokens"), (405, "invalid_request_error")),
        (("POST", "/v1/messages", b"{"), (400, "invalid_request_error")),
    ],
)
def test_an_error_before_the_surface_has_its_form(
    request_: Any, expected: tuple[int, str], gateway: Gateway
) -> None:
    status, headers, said = send(gateway, *request_)
    assert (status, said["error"]["type"]) == expected
    assert said["type"] == "error"
    assert said["request_id"] == headers["request-id"]


def test_a_body_that_is_too_large_has_its_form(gateway: Gateway) -> None:
    status, headers, said = post(gateway, system="x" * 9000)
    assert (status, said["error"]["type"]) == (413, "request_too_large")
    assert said["request_id"] == headers["request-id"]


@pytest.fixture
def small(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that answers one request at a time, and one of them for ever."""
    backend.use("hang_first")
    config = f'[limits]\nrequests = 1\n[[models]]\nname = "m"\nbackend.url = "{backend.url}"\n'
    asked_before = len(backend.requests)
    with running(config=config) as process:
        connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=10)
        connection.request("POST", "/v1/messages", json.dumps(ASKED))
        backend.wait_for(lambda: len(backend.requests) > asked_before)
        yield process
        connection.close()


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/messages"])
def test_an_overloaded_server_says_so_in_its_form_and_when_to_come_back(
    path: str, small: Gateway
) -> None:
    status, headers, said = send(small, "POST", path, json.dumps(ASKED).encode())
    assert (status, said["error"]["type"]) == (529, "overloaded_error")
    assert headers["retry-after"] == "1"
    assert said["request_id"] == headers["request-id"]


def test_so_does_one_that_is_shutting_down(small: Gateway) -> None:
    small.signal(signal.SIGTERM)
    small.wait_for_log("shutting down")
    status, headers, said = send(small, "POST", "/v1/messages", json.dumps(ASKED).encode())
    assert (status, said["error"]["type"]) == (529, "overloaded_error")
    assert headers["retry-after"] == "1"


def test_a_client_of_this_api_gets_its_errors_on_shared_paths_too(gateway: Gateway) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    connection.request("GET", "/v1/models", headers={"anthropic-version": "2023-06-01"})
    said = json.loads(connection.getresponse().read())
    connection.close()
    assert (said["type"], said["error"]["type"]) == ("error", "authentication_error")


@pytest.mark.parametrize("path", ["/", "/api/hello"])
def test_a_connection_can_be_opened_ahead_without_a_key(path: str, gateway: Gateway) -> None:
    assert send(gateway, "HEAD", path, key="wrong")[0] == 200


@pytest.mark.parametrize("path", ["/messages", "/v1/v1/messages", "/v1/messages?beta=true"])
def test_base_urls_that_are_pasted_by_mistake_work(
    path: str, gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", ["Hello"])
    status, _, said = send(gateway, "POST", path, json.dumps(ASKED).encode())
    assert (status, said["type"]) == (200, "message")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("err429_always", (429, "rate_limit_error")),
        ("err503:always", (529, "overloaded_error")),
        ("err500_always", (500, "api_error")),
        ("hang_first", (504, "timeout_error")),
        ("err400", (400, "invalid_request_error")),
        ("err404", (404, "not_found_error")),
        ("ctxlen", (400, "invalid_request_error")),
        ("garbage_json", (500, "api_error")),
    ],
)
def test_what_a_backend_does_wrong_has_its_form(
    variant: str, expected: tuple[int, str], stream: bool, gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use(variant)
    status, headers, said = post(gateway, stream=stream)
    assert (status, said["error"]["type"]) == expected
    assert said["request_id"] == headers["request-id"]
    if variant == "ctxlen":
        assert said["error"]["message"] == "prompt is too long: 8193 tokens > 8192 maximum"


def test_a_model_that_is_not_there_has_its_form(gateway: Gateway) -> None:
    status, _, said = post(gateway, model="other")
    assert (status, said["error"]["type"]) == (404, "not_found_error")


def test_a_stream_that_breaks_raises_with_the_words_of_the_backend(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("midstream_error:always", ["Hello, this is a long answer of several words."])
    client = anthropic.Anthropic(
        base_url=gateway.url.removesuffix("/v1"), api_key=KEY, max_retries=0, timeout=20
    )
    with (
        client,
        pytest.raises(anthropic.APIStatusError) as broken,
        client.messages.stream(**ASKED) as stream,
    ):
        stream.get_final_message()
    assert broken.value.body["type"] == "error"  # type: ignore[index]
