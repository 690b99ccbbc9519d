"""Keys, prompts and arguments stay out of logs, error bodies and metrics (R19)."""

from collections.abc import Iterator

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import CHAT, ask, chat_body, connected, read_to_end
from tests.scripted import ScriptedServer

from toolwire.server.access.auth import hash_key

CLIENT = "tw-client-secret-AbCdEfGh12345678"
BACKEND = "backend-secret-without-any-known-form-0987654321"
HEADER = "header-secret-value-1122334455"
STRANGE = "sk-someone-elses-key-5566778899aabb"
IN_URL = "url-secret-abcdef0123456789"
PROMPT = "The launch code is 00000000-prompt"
ARGUMENT = "argument-value-that-is-private"
RESULT = "result-value-that-is-private"
SECRETS = (CLIENT, BACKEND, HEADER, STRANGE, IN_URL)
PRIVATE = (PROMPT, ARGUMENT, RESULT)

CONFIG = """
[log]
level = "{level}"
format = "{format}"

[[keys]]
name = "somebody"
sha256 = "{hash}"

[retries]
attempts = 0

[[models]]
name = "*"
backend = {{ url = "{url}", key_env = "THE_KEY", headers = {{ x-api-key = "{header}" }} }}
"""


@pytest.fixture(scope="module", params=[("debug", "text"), ("debug", "json"), ("error", "text")])
def gateway(request: pytest.FixtureRequest, backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire with a secret in every place that can hold one."""
    level, form = request.param
    config = CONFIG.format(
        level=level, format=form, hash=hash_key(CLIENT), url=backend.url, header=HEADER
    )
    with running(config=config, env={"THE_KEY": BACKEND}) as process:
        yield process


def send(gateway: Gateway, key: str = CLIENT, **fields: object) -> str:
    """Ask, with secrets in the body and the address; all that comes back, as text."""
    call = {"name": "f", "arguments": f'{{"a": "{ARGUMENT}"}}'}
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c", "content": RESULT},
    ]
    path = f"{CHAT}?api_key={IN_URL}"
    headers = {"authorization": f"Bearer {key}", "x-other": STRANGE}
    reply = ask(gateway.port, chat_body(messages=messages, **fields), path=path, headers=headers)
    return f"{reply.status} {reply.headers} {reply.body.decode()}"


def check(gateway: Gateway, *answers: str) -> None:
    """None of the secrets is anywhere; what is private is not in the log."""
    metrics = ask(gateway.port, path="/metrics", headers={"authorization": f"Bearer {CLIENT}"})
    seen = {"log": gateway.log, "out": gateway.out, "metrics": metrics.body.decode()}
    for place, text in (*seen.items(), *(("answer", answer) for answer in answers)):
        found = [secret for secret in SECRETS if secret in text]
        assert not found, (place, found)
    for place, text in seen.items():
        found = [words for words in PRIVATE if words in text]
        assert not found, (place, found)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "variant",
    [
        "std",
        "err_key",
        "err_key:400",
        "err_key:403",
        "err_key:429",
        "err_key:500",
        "midstream_error_key:always",
        "cut_in_call:always",
        "garbage_json",
        "html200",
        "redirect",
        "err200",
    ],
)
def test_whatever_the_backend_says_no_secret_gets_out(
    gateway: Gateway, backend: ScriptedServer, variant: str, stream: bool
) -> None:
    backend.use(variant, [{"text": "some words"}])
    answer = send(gateway, stream=stream)
    assert backend.requests[0].headers["authorization"] == f"Bearer {BACKEND}"
    assert backend.requests[0].headers["x-api-key"] == HEADER
    check(gateway, answer)


@pytest.mark.parametrize("variant", ["err_key", "err_key:400", "err_key:500"])
def test_a_passed_on_error_holds_no_secret(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant)
    headers = {"authorization": f"Bearer {CLIENT}"}
    body = {"model": "m", "input": PROMPT}
    reply = ask(gateway.port, body, path=f"/v1/embeddings?key={IN_URL}", headers=headers)
    assert reply.status >= 400
    check(gateway, f"{reply.headers} {reply.body.decode()}")


def test_a_refused_request_gives_nothing_away(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use()
    answers = [
        send(gateway, STRANGE),
        send(gateway, CLIENT + "x"),
        send(gateway, temperature=9),
        send(gateway, model=5),
        send(gateway, tools=[{"type": "function", "function": {"name": PROMPT}}]),
    ]
    assert [answer[:3] for answer in answers] == ["401", "401", "400", "400", "400"]
    assert backend.requests == []
    check(gateway, *answers)


def test_a_key_in_the_path_is_not_logged(gateway: Gateway) -> None:
    for path in (f"/v1/{CLIENT}", f"/v1/models/{STRANGE}", f"/?token={IN_URL}"):
        ask(gateway.port, path=path)
        ask(gateway.port, path=path, headers={"authorization": f"Bearer {CLIENT}"})
    check(gateway)


def test_what_is_no_http_is_not_logged(gateway: Gateway) -> None:
    with connected(gateway.port) as sock:
        sock.sendall(f"{STRANGE} {CLIENT}\r\n\r\n".encode())
        answer = read_to_end(sock).decode()
    check(gateway, answer)


def test_requests_are_logged_with_their_facts(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])
    answer = send(gateway)
    request_id = answer.partition("'toolwire-request-id': '")[2].partition("'")[0]
    if 'level = "error"' in (gateway.folder / "toolwire.toml").read_text():
        assert request_id not in gateway.log
        return
    line = gateway.wait_for_log(request_id)
    for fact in ("200", "POST", CHAT, "somebody", f"127.0.0.1:{backend.port}"):
        assert fact in line
    assert "?" not in line
