"""Turns with and without a conversation, through a real process, tools native and prompted."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import connected, read_until
from tests.e2e.native.client import ADD, CHAT, NativeClient, answered, events, user
from tests.scripted import ScriptedServer

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
ADDS = [{"calls": [["add", {"a": 1, "b": 2}, "provider-1"]]}, "It is 3."]
PROMPTED = {"raw": "hermes", "turns": ADDS}


@pytest.fixture
def client(gateway: Gateway) -> NativeClient:
    """A client with the first of the keys."""
    return NativeClient(gateway.port)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The id of a conversation of this test alone."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def sent_by(backend: ScriptedServer) -> list[Any]:
    """The messages that the backend was sent last."""
    messages: list[Any] = backend.requests[-1].json["messages"]
    return messages


@BOTH
@pytest.mark.parametrize("script", [ADDS, PROMPTED], ids=["native", "prompted"])
def test_a_tool_is_called_and_answered_in_a_conversation(
    client: NativeClient, backend: ScriptedServer, name: str, script: Any, stream: bool
) -> None:
    backend.use("std" if script is ADDS else "refuses_tools", script)
    model = "m" if script is ADDS else "a model without tools"
    first = answered(
        client.chat(
            model=model, conversation_id=name, messages=[user("1 + 2?")], tools=[ADD], stream=stream
        )
    )
    (call,) = first["calls"]
    assert call["function"] == {"name": "add", "arguments": {"a": 1, "b": 2}}
    results = [{"tool_call_id": call["id"], "content": {"sum": 3}}]
    last = answered(client.chat(conversation_id=name, tool_results=results, stream=stream))
    assert last["content"].strip() == "It is 3."
    assert last["done"]["conversation_id"] == name
    assert client.get(f"/{name}").json["turns"] == 2


def test_a_backend_sees_its_own_ids_and_the_client_sees_ours(
    client: NativeClient, backend: ScriptedServer, name: str
) -> None:
    backend.use("std", ADDS)
    asked = {"messages": [user("1 + 2?")], "tools": [ADD]}
    reply = client.chat(model="m", conversation_id=name, **asked)
    (call,) = answered(reply)["calls"]
    assert b"provider-1" not in reply.body
    client.chat(conversation_id=name, tool_results=[{"tool_call_id": call["id"], "content": 3}])
    assistant, result = sent_by(backend)[-2:]
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"] == "provider-1"
    assert result["content"] == "3"


def test_a_client_carries_the_ids_itself(client: NativeClient, backend: ScriptedServer) -> None:
    backend.use("std", ADDS)
    asked = [user("1 + 2?")]
    reply = client.chat(model="m", messages=asked, tools=[ADD])
    message = reply.json["choices"][0]["message"]
    results = [{"tool_call_id": message["tool_calls"][0]["id"], "content": "3", "is_error": True}]
    more: dict[str, Any] = {"model": "m", "messages": [*asked, message], "tools": [ADD]}
    signed = reply.headers["toolwire-call-map"]
    answered(client.chat(**more, tool_results=results, call_map=signed))
    assert sent_by(backend)[-1]["tool_call_id"] == "provider-1"
    assert sent_by(backend)[-1]["content"] == "Error: 3"
    answered(client.chat(**more, tool_results=results))
    assert sent_by(backend)[-1]["tool_call_id"] == "call_1"
    other = NativeClient(client.port, "second").chat(**more, call_map=signed)
    assert (other.status, other.json["error"]["code"]) == (400, "invalid_call_map")


@BOTH
def test_a_wrong_call_is_a_422_after_asking_again_and_is_not_kept(
    client: NativeClient, backend: ScriptedServer, name: str, stream: bool
) -> None:
    backend.use("std", [{"calls": [["add", {"a": "one"}]]}])
    asked = {"messages": [user("1 + 2?")], "tools": [ADD], "stream": stream}
    reply = client.chat(model="m", conversation_id=name, **asked)
    assert (reply.status, reply.json["error"]["code"]) == (422, "invalid_tool_arguments")
    (said,) = reply.json["error"]["model_said"]["tool_calls"]
    assert json.loads(said["arguments"]) == {"a": "one"}
    assert len(backend.requests) == 2
    assert client.get(f"/{name}").status == 404


def test_a_key_sees_only_its_own_conversations(
    client: NativeClient, backend: ScriptedServer, name: str
) -> None:
    backend.use("std", ADDS)
    other = NativeClient(client.port, "second")
    asked = {"messages": [user("1 + 2?")], "tools": [ADD]}
    (call,) = answered(client.chat(model="m", conversation_id=name, **asked))["calls"]
    before = len(backend.requests)
    stolen = {"conversation_id": name, "tool_results": [{"tool_call_id": call["id"], "content": 1}]}
    refused = other.chat(model="m", **stolen)
    unknown = client.chat(
        conversation_id=name, tool_results=[{"tool_call_id": "call_x", "content": 1}]
    )
    assert refused.status == unknown.status == 400
    assert refused.body == unknown.body
    assert len(backend.requests) == before
    assert other.get(f"/{name}").status == other.delete(name).status == 404
    assert name not in [entry["id"] for entry in other.get("?limit=100").json["data"]]
    assert name in [entry["id"] for entry in client.get("?limit=100").json["data"]]
    assert client.delete(name).json["deleted"]


def test_the_same_request_is_answered_once(
    client: NativeClient, backend: ScriptedServer, name: str
) -> None:
    backend.use("std", ADDS)
    asked: dict[str, Any] = {"model": "m", "messages": [user("1 + 2?")], "tools": [ADD]}
    first = client.chat(conversation_id=name, key="k", **asked)
    again = client.chat(conversation_id=name, key="k", **asked)
    assert first.body == again.body
    assert len(backend.requests) == 1


def test_two_turns_at_once_are_never_mixed(
    client: NativeClient, backend: ScriptedServer, name: str
) -> None:
    backend.use("silence:0.5", ["hi"])
    replies: list[Any] = []

    def turn(number: int) -> None:
        asked = [user(f"turn {number}")]
        replies.append(client.chat(model="m", conversation_id=name, messages=asked, wait=20))

    threads = [threading.Thread(target=turn, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    backend.wait_for(lambda: backend.requests)
    busy = client.chat(model="m", conversation_id=name, messages=[user("now")])
    assert (busy.status, busy.json["error"]["code"]) == (409, "conversation_busy")
    assert busy.headers["retry-after"] == "1"
    for thread in threads:
        thread.join()
    assert [reply.status for reply in replies] == [200] * 3
    roles = [message["role"] for message in client.get(f"/{name}").json["messages"]]
    assert roles == ["user", "assistant"] * 3


def leave_mid_stream(client: NativeClient, body: Any, backend: ScriptedServer) -> None:
    """Begin a stream, and leave before it ends."""
    data = json.dumps(body).encode()
    head = [f"POST {CHAT} HTTP/1.1", "host: localhost", f"content-length: {len(data)}"]
    head += [f"{name}: {value}" for name, value in client.headers.items()]
    with connected(client.port) as sock:
        sock.sendall("\r\n".join([*head, "", ""]).encode() + data)
        read_until(sock, b"text.delta")
        sock.shutdown(socket.SHUT_RDWR)
    backend.wait_for(lambda: backend.requests[-1].closed_at)


def test_a_client_that_leaves_in_a_stream_changes_nothing(
    client: NativeClient, backend: ScriptedServer, name: str
) -> None:
    backend.use("std", ["hello"])
    answered(client.chat(model="m", conversation_id=name, messages=[user("a")]))
    before = client.get(f"/{name}").json
    backend.use("hang_mid", ["a long answer that never ends"])
    body = {"conversation_id": name, "messages": [user("b")], "stream": True}
    leave_mid_stream(client, body, backend)
    assert client.get(f"/{name}").json == before
    backend.use("std", ["hello"])
    answered(client.chat(conversation_id=name, messages=[user("b")], wait=5))


@pytest.mark.parametrize("stop", ["midstream_cut", "midstream_error", "err500_always"])
def test_a_turn_is_kept_if_and_only_if_it_is_done(
    client: NativeClient, backend: ScriptedServer, name: str, stop: str
) -> None:
    backend.use("std", ["hello"])
    answered(client.chat(model="m", conversation_id=name, messages=[user("a")]))
    before = client.get(f"/{name}").json
    backend.use(stop, ["a long answer that breaks off in the middle of it"])
    reply = client.chat(conversation_id=name, messages=[user("b")], stream=True)
    last = events(reply)[-1]["type"] if reply.status == 200 else "error"
    assert last in ("done", "error")  # it may break before the first byte, and is tried again
    assert (client.get(f"/{name}").json == before) == (last == "error")


def test_a_wrong_path_and_a_wrong_method_get_errors_of_this_api(client: NativeClient) -> None:
    assert client.get("/a/b").status == 404
    assert client.delete("").status in (404, 405)


def test_a_conversation_goes_on_in_another_process_after_a_kill(
    backend: ScriptedServer, tmp_path: Path
) -> None:
    backend.use("std", ADDS)
    flags = ("--upstream", backend.url, "--sessions", f"sqlite:{tmp_path}/sessions.db")
    asked: dict[str, Any] = {"messages": [user("1 + 2?")], "tools": [ADD]}
    with running(*flags) as one:
        reply = NativeClient(one.port).chat(model="m", conversation_id="c", **asked)
        (call,) = answered(reply)["calls"]
        one.process.kill()
    with running(*flags) as other:
        results = [{"tool_call_id": call["id"], "content": 3}]
        reply = NativeClient(other.port).chat(conversation_id="c", tool_results=results)
        assert answered(reply)["content"] == "It is 3."


@pytest.mark.parametrize("shared", [True, False], ids=["one key", "a key each"])
def test_processes_with_one_key_read_each_others_maps(
    backend: ScriptedServer, shared: bool
) -> None:
    backend.use("std", ADDS)
    config = '[native]\ncall_map_key_env = "MAP_KEY"\n' if shared else ""
    flags, env = ("--upstream", backend.url, "--sessions", "off"), {"MAP_KEY": "a-map-key"}
    asked: dict[str, Any] = {"model": "m", "tools": [ADD]}
    with (
        running(*flags, config=config, env=env) as one,
        running(*flags, config=config, env=env) as other,
    ):
        reply = NativeClient(one.port).chat(messages=[user("1 + 2?")], **asked)
        message, signed = reply.json["choices"][0]["message"], reply.headers["toolwire-call-map"]
        results = [{"tool_call_id": message["tool_calls"][0]["id"], "content": 3}]
        asked |= {"messages": [user("1 + 2?"), message], "tool_results": results}
        reply = NativeClient(other.port).chat(**asked, call_map=signed)
        kept = NativeClient(other.port).chat(**asked, conversation_id="c")
    assert reply.status == (200 if shared else 400)
    assert (kept.status, kept.json["error"]["code"]) == (400, "sessions_off")


@pytest.mark.parametrize("variant", ["hang_mid", "hang_end"])
def test_a_process_that_is_killed_in_mid_turn_changes_nothing(
    backend: ScriptedServer, tmp_path: Path, variant: str
) -> None:
    flags = ("--upstream", backend.url, "--sessions", f"sqlite:{tmp_path}/sessions.db")
    body = {"conversation_id": "c", "messages": [user("b")]}
    backend.use("std", ["hello"])
    with running(*flags) as one:
        client = NativeClient(one.port)
        answered(client.chat(model="m", conversation_id="c", messages=[user("a")]))
        before = client.get("/c").json
        backend.use(variant, ["a long answer that never ends"])
        waiting = threading.Thread(target=lost_request, args=(client, body))
        waiting.start()
        backend.wait_for(lambda: backend.requests)
        one.process.kill()
        waiting.join()
    backend.use("std", ["hello"])
    with running(*flags) as other:
        client = NativeClient(other.port)
        assert client.get("/c").json == before
        # Its lock expires by itself, and until then there is an error that says so.
        assert client.chat(**body).status in (200, 409)


def lost_request(client: NativeClient, body: Any) -> None:
    """A request whose server dies."""
    with contextlib.suppress(OSError, HTTPException):
        client.chat(**body)


def test_the_example_of_the_docs_runs(backend: ScriptedServer) -> None:
    weather = [{"calls": [["get_weather", {"city": "Paris"}]]}, "It rains in Paris."]
    backend.use("std", weather)
    example = Path(__file__).parents[3] / "examples" / "native_api.py"
    with running("--upstream", backend.url, "--sessions", "memory") as opened:
        server = f"http://127.0.0.1:{opened.port}"
        made = subprocess.run(
            [sys.executable, example, server, "m", "What is the weather in Paris?"],
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        )
    assert made.stdout == "It rains in Paris.\n"
