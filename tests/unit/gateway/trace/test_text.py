"""What a trace writes down, what it leaves out, and what it masks."""

import json
from typing import Any

import pytest

from toolwire.errors import UpstreamError
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.strategies.native import Hybrid
from toolwire.gateway.trace.mask import in_one_piece, masked_json
from toolwire.gateway.trace.records import AttemptTrace, TurnTrace
from toolwire.gateway.trace.replay import CannotReplay, check_replayable
from toolwire.gateway.trace.text import encode_trace
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, TextDelta, TurnEnd
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.server.telemetry.redact import Redactor

SECRET = "hunter2-hunter2"
REDACT = Redactor([SECRET]).redact
PRIVATE = "Zürich"


def written(trace: TurnTrace, *, bodies: bool) -> Any:
    return json.loads(encode_trace(trace, bodies=bodies, redact=REDACT))


def full() -> TurnTrace:
    """A trace in which everything says something private."""
    arguments = json.dumps({"city": PRIVATE}, ensure_ascii=False)
    attempt = AttemptTrace("b", Hybrid(format="hermes"), 0.1, final=True, resumed=False)
    call = CallFragment(0, "a", "f", arguments)
    attempt.heard = [(0.2, [Fragment(text=PRIVATE, reasoning=PRIVATE, calls=(call,))])]
    attempt.format_trace(0).add(0, 6, "text", f"'{PRIVATE}' is not a known tool")
    attempt.findings = [Finding("invalid_tool_arguments", 0, "f", PRIVATE)]
    attempt.error = UpstreamError(PRIVATE)
    send = attempt.recording(lambda *_: None)
    send(0, [TextDelta(PRIVATE), CallStart(0, "f", "call_0"), ArgsDelta(0, arguments)])
    send(0, [CallEnd(0), TurnEnd("tool_calls")])
    trace = TurnTrace("req_1", json.dumps({"x": PRIVATE}).encode(), 1.5, profile="default")
    trace.attempts = [attempt]
    trace.error = attempt.error
    return trace


def test_without_bodies_nothing_that_was_said_is_written() -> None:
    text = encode_trace(full(), bodies=False, redact=REDACT).decode()
    assert PRIVATE not in text
    assert PRIVATE[0] + "\\u00fc" not in text
    (attempt,) = json.loads(text)["attempts"]
    assert attempt["heard"][0]["fragments"][0]["text"] == len(PRIVATE)
    assert attempt["sent"]["0"]["content"] == len(PRIVATE)
    assert attempt["findings"][0]["code"] == "invalid_tool_arguments"


def test_with_bodies_everything_is_written() -> None:
    record = written(full(), bodies=True)
    (attempt,) = record["attempts"]
    assert json.loads(record["request"]["body"]) == {"x": PRIVATE}
    assert attempt["heard"][0] == {
        "at": 0.2,
        "fragments": [
            {
                "text": PRIVATE,
                "reasoning": PRIVATE,
                "calls": [{"index": 0, "id": "a", "name": "f", "arguments": '{"city": "Zürich"}'}],
            }
        ],
    }
    assert attempt["spans"]["0"] == [[0, 6, "text", "'Zürich' is not a known tool"]]
    assert attempt["sent"]["0"]["calls"] == [["call_0", "f", '{"city": "Zürich"}']]
    assert attempt["error"] == {"code": "upstream_error", "status": 502, "message": PRIVATE}


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
def test_a_secret_that_comes_in_pieces_is_masked(cut: int) -> None:
    pieces = (f"it is {SECRET[:cut]}", f"{SECRET[cut:]}!")
    blocks = [
        [Fragment(text=piece, reasoning=piece, calls=(CallFragment(0, arguments=piece),))]
        for piece in pieces
    ]
    first, second = (fragment for block in in_one_piece(blocks, REDACT) for fragment in block)
    whole = f"it is {SECRET}!"
    assert (first.text, first.reasoning, first.calls[0].arguments) == (whole, whole, whole)
    assert (second.text, second.reasoning, second.calls[0].arguments) == ("", "", "")


def test_pieces_without_a_secret_stay_as_they_came() -> None:
    blocks = [[Fragment(text="a")], [Fragment(text="b")]]
    assert in_one_piece(blocks, REDACT) is blocks


def test_a_masked_body_is_still_json() -> None:
    body = json.dumps({"a": f'say "Bearer {SECRET}"', SECRET: [SECRET]}).encode()
    masked = masked_json(body, REDACT)
    assert SECRET not in masked
    assert list(json.loads(masked)) == ["a", "***"]


def test_a_body_that_is_not_json_is_masked_as_text() -> None:
    assert masked_json(f"{{{SECRET}".encode(), REDACT) == "{***"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ([], "not a trace"),
        ({}, "not a trace"),
        ({"attempts": [], "version": 0}, "version 0"),
        ({"attempts": [], "version": 2, "bodies": False}, "bodies = true"),
        ({"attempts": [], "version": 2, "bodies": True, "plan": None}, "was refused"),
        ({"attempts": [], "version": 2, "bodies": True, "plan": {}}, "damaged: .*model"),
        ({"attempts": 1, "version": 2, "bodies": True, "plan": {}}, "damaged"),
    ],
)
def test_what_cannot_be_replayed_says_why(record: Any, says: str) -> None:
    with pytest.raises(CannotReplay, match=says):
        check_replayable(record)
