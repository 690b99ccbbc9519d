"""Streaming stays streaming: text flows at once, and live so do the arguments of a call."""

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.scenes import TOOLS
from tests.e2e.gateway.wire import chat_body, connected, request_bytes
from tests.e2e.prompted.models import INDEPENDENT, leaky, raw
from tests.e2e.prompted.routes import route
from tests.scripted import ScriptedServer

STEP = 0.02
"""Seconds between two pieces of the backend's text, of ten characters each."""
WORDS = "one two three four five six seven eight nine ten "
CITY = "Llanfair and so on " * 10
SAID: list[Any] = [{"text": WORDS * 2, "calls": [["get_weather", {"city": CITY, "days": 3}]]}]

Arrival = tuple[float, str, str]
"""When something came, what it was (`text`, `call`, `arguments`, `end`), and the text of it."""


def arrivals(gateway: Gateway, model: str, profile: str) -> list[Arrival]:
    """Read a stream as it comes, with the time of every delta since the first byte."""
    found: list[Arrival] = []
    with connected(gateway.port) as sock:
        body = chat_body(model=model, tools=TOOLS, stream=True)
        sock.sendall(request_bytes(body, f"toolwire-profile: {profile}"))
        buffer, began = b"", 0.0
        while b"[DONE]" not in buffer:
            block = sock.recv(65536)
            began = began or time.monotonic()
            buffer += block
            *lines, buffer = buffer.split(b"\n\n")
            now = time.monotonic() - began
            found += [arrival for line in lines for arrival in _read(line, now)]
            buffer = b"[DONE]" if any(b"[DONE]" in line for line in lines) else buffer
    return found


def _read(event: bytes, now: float) -> list[Arrival]:
    data = event.rpartition(b"data: ")[2]
    if data == b"[DONE]" or not data.startswith(b"{"):
        return []
    found = []
    for choice in json.loads(data)["choices"]:
        delta = choice["delta"]
        if delta.get("content"):
            found.append((now, "text", delta["content"]))
        for call in delta.get("tool_calls", ()):
            kind = "call" if "id" in call else "arguments"
            found.append((now, kind, call["function"]["arguments"]))
    return found


def of_kind(found: list[Arrival], kind: str) -> list[Arrival]:
    return [arrival for arrival in found if arrival[1] == kind]


def longest_silence(found: list[Arrival]) -> float:
    times = [at for at, _, _ in found]
    return max(later - earlier for earlier, later in pairwise(times))


@pytest.mark.parametrize("name", INDEPENDENT)
@pytest.mark.parametrize("mode", ["prompted", "hybrid"])
def test_text_and_arguments_arrive_as_the_model_writes_them(
    gateway: Gateway, backend: ScriptedServer, mode: str, name: str
) -> None:
    script = raw(name, SAID) if mode == "prompted" else leaky(name, SAID)
    backend.use(f"letters:10+slow:{STEP * 1000:.0f}", script)
    found = arrivals(gateway, route(mode, name), "live")
    text, arguments = of_kind(found, "text"), of_kind(found, "arguments")
    total = found[-1][0]
    assert "".join(piece for _, _, piece in text).startswith(WORDS)
    assert json.loads("".join(piece for _, _, piece in arguments)) == {"city": CITY, "days": 3}
    assert text[0][0] < total / 4, "the first words are not held"
    assert len(text) >= 8, "text comes in as many pieces as it is written in"
    assert len(arguments) >= 10, "arguments come in pieces"
    ((called, _, _),) = of_kind(found, "call")
    assert called < arguments[-1][0] - 8 * STEP, "the call is announced while it is written"
    assert longest_silence(found) < total / 2


def test_text_flows_also_where_a_call_is_held_until_it_is_complete(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use(f"letters:10+slow:{STEP * 1000:.0f}", raw("hermes", SAID))
    found = arrivals(gateway, route("prompted", "hermes"), "default")
    text, (arguments,) = of_kind(found, "text"), of_kind(found, "arguments")
    assert json.loads(arguments[2]) == {"city": CITY, "days": 3}
    assert text[0][0] < found[-1][0] / 4, "the first words are not held"
    assert len(text) >= 8, "text comes in as many pieces as it is written in"


def test_a_stream_that_was_held_back_is_noticed() -> None:
    """The measure above tells a stream from one that came all at the end."""
    held = [(0.0, "text", "a"), (1.0, "arguments", "b"), (1.0, "arguments", "c")]
    assert longest_silence(held) == 1.0
