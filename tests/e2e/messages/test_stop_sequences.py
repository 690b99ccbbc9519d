"""Stop sequences that Toolwire watches for itself, with a real connection to the backend."""

import json

import pytest
from tests.e2e.gateway.process import running
from tests.e2e.gateway.wire import ask
from tests.scripted import ScriptedServer

TEXT = "one two STOP " + "and more words " * 200
ASKED = {
    "model": "m",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "Count."}],
    "stop_sequences": ["a1", "a2", "a3", "a4", "STOP"],
}


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_ends_there_and_so_does_the_backends(stream: bool) -> None:
    with ScriptedServer() as backend, running("--upstream", backend.url) as gateway:
        backend.use("slow:60" if stream else "std", [TEXT])
        reply = ask(gateway.port, {**ASKED, "stream": stream}, path="/v1/messages", timeout=10)
        assert b'"stop_sequence":"STOP"' in reply.body
        assert b"more" not in reply.body
        assert json.loads(backend.requests[0].body)["stop"] == ["a1", "a2", "a3", "a4"]
        assert ask(gateway.port, ASKED, path="/v1/messages").status == 200
