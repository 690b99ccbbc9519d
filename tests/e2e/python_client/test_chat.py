"""One request: what is sent, what comes back, and what happens if something goes wrong."""

import asyncio
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from tests.e2e.gateway.process import running
from tests.scripted import ScriptedServer

from toolwire.client import (
    APIError,
    AsyncClient,
    AuthenticationFailed,
    BadAnswer,
    BadRequest,
    Client,
    ConfigurationError,
    ConnectionFailed,
    NotFound,
    RateLimited,
    RequestTimeout,
    ServerError,
    StreamBroken,
)

CERTIFICATE = Path("tests/tls/cert.pem")


def test_any_parameter_can_be_given_and_none_is_left_out(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("std", ["ok"])
    client.chat("Hi.", seed=7, temperature=None, response_format={"type": "json_object"})
    (asked,) = backend.requests
    assert asked.json == {
        "model": "scripted",
        "messages": [{"role": "user", "content": "Hi."}],
        "seed": 7,
        "response_format": {"type": "json_object"},
    }
    assert asked.headers["user-agent"].startswith("toolwire-python/")


def test_a_stream_gives_text_chunks_and_the_whole_answer(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("std", ["One two three."])
    whole = client.chat("Hi.")
    assert "".join(client.chat("Hi.", stream=True).text()) == "One two three."
    with client.chat("Hi.", stream=True) as stream:
        first = next(stream)
        final = stream.final()
    assert first.choices[0].delta.role == "assistant"
    assert final == whole
    assert final.usage is not None


def test_the_async_client_does_the_same(backend: ScriptedServer) -> None:
    backend.use("std", ["One two three."])

    async def talk() -> None:
        async with AsyncClient(backend.url, model="scripted") as client:
            whole = await client.chat("Hi.")
            stream = await client.chat("Hi.", stream=True)
            assert [text async for text in stream.text()] == ["One ", "two ", "three."]
            async with await client.chat("Hi.", stream=True) as stream:
                assert (await stream.final()) == whole
            assert await client.models() == ["scripted", "scripted-mini"]

    asyncio.run(talk())


def test_a_connection_is_used_again_after_a_stream(backend: ScriptedServer) -> None:
    backend.use("std", ["ok"])
    ports = set()
    with Client(backend.url, model="m") as client:
        for _ in range(3):
            stream = client.chat("Hi.", stream=True)
            stream.final()
            ports.add(_port(stream))
    assert len(ports) == 1


def _port(stream: Any) -> Any:
    return stream._response.extensions["network_stream"].get_extra_info("client_addr")


def test_a_server_that_never_ends_the_body_is_left(backend: ScriptedServer, client: Client) -> None:
    backend.use("hang_end", ["ok"])
    began = time.monotonic()
    assert client.chat("Hi.", stream=True).final().text == "ok"
    assert time.monotonic() - began < 8

    async def talk() -> str:
        async with AsyncClient(backend.url, model="m", timeout=10) as other:
            return (await (await other.chat("Hi.", stream=True)).final()).text

    assert asyncio.run(talk()) == "ok"


def test_a_stream_that_is_closed_early_frees_the_server(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("flood", ["ok"])
    with client.chat("Hi.", stream=True) as stream:
        next(stream)
    (asked,) = backend.requests
    backend.wait_for(lambda: asked.closed_at or asked.finished_at)


def test_messages_of_the_openai_package_can_be_sent(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("std", [{"calls": [["f", {}]]}, "ok"])
    with openai.OpenAI(base_url=backend.url, api_key="k") as theirs:
        answer = theirs.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi."}]
        )
    message = answer.choices[0].message
    assert message.tool_calls is not None
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "1"}
    assert client.chat([{"role": "user", "content": "Hi."}, message, result]).text == "ok"
    assert backend.requests[-1].json["messages"][1]["tool_calls"][0]["function"]["name"] == "f"


@pytest.mark.parametrize(
    ("variant", "kind", "facts"),
    [
        ("err400", BadRequest, (400, "invalid_value", "messages[0].role")),
        ("err401", AuthenticationFailed, (401, "invalid_api_key", None)),
        ("err404", NotFound, (404, "model_not_found", None)),
        ("ctxlen", BadRequest, (400, "context_length_exceeded", "messages")),
        ("err_plain", BadRequest, (400, None, None)),
        ("err_string", BadRequest, (400, None, None)),
        ("err_detail", BadRequest, (422, None, None)),
        ("err_empty", ServerError, (500, None, None)),
        ("redirect", APIError, (302, None, None)),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_carries_what_the_server_said(
    backend: ScriptedServer, variant: str, kind: type[APIError], facts: Any, stream: bool
) -> None:
    backend.use(variant, ["ok"])
    with Client(backend.url, model="m", max_retries=0) as client, pytest.raises(kind) as caught:
        client.chat("Hi.", stream=stream)
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.code, error.param) == facts
    assert error.message


def test_the_message_of_an_error_says_what_to_do(backend: ScriptedServer) -> None:
    backend.use("err401", ["ok"])
    with (
        Client(backend.url, model="m") as client,
        pytest.raises(AuthenticationFailed, match="set TOOLWIRE_API_KEY"),
    ):
        client.chat("Hi.")
    backend.use("std", ["ok"])
    with (
        Client(backend.url.removesuffix("/v1"), model="m") as client,
        pytest.raises(NotFound, match=r"Did you mean base_url='http://127\.0\.0\.1:\d+/v1'"),
    ):
        client.chat("Hi.")


@pytest.mark.parametrize("variant", ["err429", "err500", "err503", "html502", "refuse"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_failure_that_passes_is_tried_again(
    backend: ScriptedServer, client: Client, variant: str, stream: bool
) -> None:
    backend.use(variant, ["ok"])
    answer: Any = client.chat("Hi.", stream=stream)
    assert (answer.final() if stream else answer).text == "ok"
    assert len(backend.requests) == 2


@pytest.mark.parametrize("variant", ["midstream_cut", "midstream_close", "cut_early"])
def test_a_whole_answer_that_broke_off_is_asked_for_again(
    backend: ScriptedServer, client: Client, variant: str
) -> None:
    backend.use(variant, ["ok then"])
    assert client.chat("Hi.").text == "ok then"


@pytest.mark.parametrize("variant", ["midstream_cut", "midstream_close", "eof_early"])
def test_a_stream_that_broke_off_is_an_error(
    backend: ScriptedServer, client: Client, variant: str
) -> None:
    backend.use(variant, ["one two three four"])
    with pytest.raises(StreamBroken, match="ended before the answer did"):
        client.chat("Hi.", stream=True).final()


def test_a_limit_that_lasts_is_an_error_with_the_wait(backend: ScriptedServer) -> None:
    backend.use("err429_always", ["ok"])
    with (
        Client(backend.url, model="m", max_retries=1) as client,
        pytest.raises(RateLimited) as caught,
    ):
        client.chat("Hi.")
    assert caught.value.retry_after == 1.0
    assert len(backend.requests) == 2


@pytest.mark.parametrize("variant", ["html200", "garbage_json", "empty200"])
def test_what_is_no_answer_is_said(backend: ScriptedServer, client: Client, variant: str) -> None:
    backend.use(variant, ["ok"])
    with pytest.raises(BadAnswer):
        client.chat("Hi.")
    backend.use(variant, ["ok"])
    with pytest.raises(BadAnswer):
        client.chat("Hi.", stream=True).final()


@pytest.mark.parametrize("variant", ["hang_headers", "hang_first", "hang_mid"])
def test_a_silent_server_is_a_timeout(backend: ScriptedServer, variant: str) -> None:
    backend.use(variant, ["one two three four"])
    with (
        Client(backend.url, model="m", timeout=0.3) as client,
        pytest.raises(RequestTimeout, match="silent for longer than the timeout"),
    ):
        client.chat("Hi.", stream=True).final()
    assert len(backend.requests) == 1


def test_no_server_is_said_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with (
        Client(f"http://127.0.0.1:{port}/v1", model="m", max_retries=0) as client,
        pytest.raises(ConnectionFailed, match=f"Could not connect to http://127.0.0.1:{port}"),
    ):
        client.chat("Hi.")


def test_the_only_model_of_a_server_need_not_be_named(backend: ScriptedServer) -> None:
    backend.use("std", ["ok"])
    with running("--upstream", backend.url) as gateway, Client(gateway.url) as client:
        names = client.models()
        assert names
    with (
        Client(backend.url) as client,
        pytest.raises(ConfigurationError, match="The server has scripted, scripted-mini"),
    ):
        client.chat("Hi.")


def test_a_key_is_sent_and_headers_come_back(backend: ScriptedServer) -> None:
    backend.use("std", ["ok"])
    with (
        running("--upstream", backend.url) as gateway,
        Client(gateway.url, "sk-mine", model="scripted") as client,
    ):
        answer = client.chat("Hi.", no_such_parameter=1, headers={"x-team": "a"})
    assert answer.headers["toolwire-ignored-params"] == "no_such_parameter"
    assert answer.headers["Toolwire-Ignored-Params"] == "no_such_parameter"


def test_proxies_of_the_environment_and_of_the_caller_are_used(
    backend: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _Proxy() as proxy:
        with (
            Client("http://far.example/v1", model="m", proxy=proxy.url, max_retries=0) as client,
            pytest.raises(APIError, match="from the proxy"),
        ):
            client.chat("Hi.")
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        with (
            Client("http://far.example/v1", model="m", max_retries=0) as client,
            pytest.raises(APIError, match="from the proxy"),
        ):
            client.chat("Hi.")
    assert proxy.lines == ["POST http://far.example/v1/chat/completions HTTP/1.1"] * 2


def test_a_certificate_is_checked_and_can_be_named(backend: ScriptedServer) -> None:
    backend.use("std", ["ok"])
    config = f"""
[listen]
tls_cert = "{CERTIFICATE.resolve()}"
tls_key = "{Path("tests/tls/key.pem").resolve()}"
[[models]]
name = "*"
backend = {{ url = "{backend.url}" }}
"""
    with running(config=config) as gateway:
        url = f"https://localhost:{gateway.port}/v1"
        with (
            Client(url, model="m", max_retries=0) as client,
            pytest.raises(ConnectionFailed, match="SSL_CERT_FILE or verify="),
        ):
            client.chat("Hi.")
        with Client(url, model="m", verify=False) as client:
            assert client.chat("Hi.").text == "ok"


def test_an_http_client_can_be_handed_in_and_stays_open(backend: ScriptedServer) -> None:
    backend.use("std", ["ok"])
    with httpx2.Client(headers={"x-mine": "1"}) as http:
        with Client(backend.url, model="m", http_client=http) as client:
            assert client.chat("Hi.").text == "ok"
        assert not http.is_closed
    assert backend.requests[0].headers["x-mine"] == "1"


def test_options_beside_an_http_client_are_refused() -> None:
    with httpx2.Client() as http, pytest.raises(ConfigurationError, match="Give proxy to the"):
        Client("http://127.0.0.1:9/v1", http_client=http, proxy="http://127.0.0.1:8")


def test_a_value_that_is_no_json_is_refused_before_anything_is_sent(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("std", ["ok"])
    with pytest.raises(ConfigurationError, match="cannot be written as JSON"):
        client.chat("Hi.", metadata=object())
    assert backend.requests == []


class _Proxy:
    """Answers each request with an error, and remembers its first line."""

    def __enter__(self) -> "_Proxy":
        self.lines: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        body = json.dumps({"error": {"message": "from the proxy"}}).encode()
        head = f"HTTP/1.1 418 No\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.lines.append(connection.recv(65536).decode().splitlines()[0])
                connection.sendall(head.encode() + body)
