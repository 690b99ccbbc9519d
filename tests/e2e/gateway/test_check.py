"""`toolwire check` says of a backend that cannot be used why, and what to look at. HTTPS, too."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer

from toolwire.server.check import check_backends
from toolwire.server.config.loader import load

TLS = Path(__file__).parents[2] / "tls"
MODEL = '[[models]]\nname = "far"\nbackend = { url = "http://127.0.0.1:9/v1" }\n'
LISTEN_TLS = f'[listen]\ntls_cert = "{TLS}/cert.pem"\ntls_key = "{TLS}/key.pem"\n'


@pytest.fixture(scope="module")
def plain() -> Iterator[Gateway]:
    """Another gateway, as a backend."""
    with running(config=MODEL) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def secure() -> Iterator[Gateway]:
    """The same over HTTPS."""
    with running(config=LISTEN_TLS + MODEL) as gateway:
        yield gateway


def check(url: str) -> str:
    [finding] = check_backends(load(None, env={}, flags={"upstream": [url]}))
    return str(finding)


def test_a_backend_that_is_there_is_reached(plain: Gateway) -> None:
    assert "reached; models: far; a request with a tool to 'far' failed: " in check(plain.url)


def test_https_is_served_and_spoken(secure: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))
    assert "https://127.0.0.1" in secure.out
    assert "reached; models: far" in check(f"https://localhost:{secure.port}/v1")


def test_a_certificate_of_a_stranger_is_not_trusted(secure: Gateway) -> None:
    said = check(f"https://localhost:{secure.port}/v1")
    assert "its certificate is not trusted" in said
    assert "SSL_CERT_FILE" in said


def test_a_server_without_tls_is_not_called_forbidden(plain: Gateway) -> None:
    said = check(plain.url.replace("http:", "https:"))
    assert "TLS fails (" in said
    assert said.endswith("Does it speak https?")


def test_a_name_that_does_not_exist_is_said_to_be_one() -> None:
    said = check("http://no-such-name.invalid/v1")
    assert "Unknown error" not in said
    assert said.endswith("Is the name right?")


def test_a_port_where_nobody_listens_is_said() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        said = check(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    assert said.endswith("Connection refused. Is it running?")


def test_a_base_url_without_its_path_is_told_what_most_have(plain: Gateway) -> None:
    assert "(404) Is the URL right? Most end in /v1." in check(plain.url.removesuffix("/v1"))


WRITTEN = '<tool_call>\n{"name": "ping", "arguments": {"text": "hello"}}\n</tool_call>'


@pytest.mark.parametrize(
    ("variant", "script", "need"),
    [
        ("std", "file_task", "the server's own tools work (mode native)"),
        ("std", [WRITTEN], "(mode hybrid), format hermes"),
        ("refuses_tools", "raw:hermes", "written into the prompt (mode prompted)"),
        ("ignores_tools", "raw:hermes", "written into the prompt (mode prompted)"),
    ],
)
def test_one_request_with_a_tool_tells_which_mode_a_backend_needs(
    variant: str, script: object, need: str
) -> None:
    with ScriptedServer(variant, script) as backend:
        said = check(backend.url)
        assert said.startswith("ok")
        assert f"; scripted: {'the server' if 'prompted' not in need else 'tools'}" in said
        assert said.endswith(need)


@pytest.mark.parametrize("variant", ["refuses_tools", "ignores_tools"])
def test_a_model_that_makes_no_call_at_all_is_said_to(variant: str) -> None:
    with ScriptedServer(variant, ["I cannot."] * 4) as backend:
        said = check(backend.url)
    assert said.startswith("ok")
    assert "scripted: the model made no call, even with the tools in the prompt" in said
    assert "tool_choice" not in said


def test_a_key_that_lists_models_and_no_more_is_no_good() -> None:
    with ScriptedServer("err401") as backend:
        said = check(backend.url)
        assert said.startswith("FAIL")
        assert "refused Toolwire's key (401): Incorrect API key provided." in said


def test_a_model_that_fails_for_now_does_not_fail_the_check() -> None:
    with ScriptedServer("err503:always") as backend:
        assert check(backend.url).startswith("ok")
