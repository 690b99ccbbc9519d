"""Whatever is sent to the native API gets an answer or an error with its places, never a defect."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.surfaces.native.speaking import ASKED, TEXT, WEATHER, Gateway, weather_call

WORDS = [
    "model", "messages", "tool_results", "tools", "tool_choice", "parallel_tool_calls", "stream",
    "conversation_id", "wait", "temperature", "n", "stop", "role", "content", "type", "function",
    "name", "description", "parameters", "id", "arguments", "tool_calls", "tool_call_id",
    "is_error", "properties", "$ref", "required", "additionalProperties", "response_format",
]  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["auto", "user", "assistant", "tool", "function", "object", "new", "#/x"])
)
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"a": [1]}}}
RIGHT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": {"any": "json"}, "is_error": True},
        {"role": "user", "content": [{"type": "text", "text": "And now?"}]},
    ],
    "tools": [WEATHER],
    "tool_choice": {"function": {"name": "get_weather"}},
    "stream": False,
    "conversation_id": "new",
    "wait": 0,
    "temperature": 1,
}


@st.composite
def changed(draw: st.DrawFn, value: Any = RIGHT, depth: int = 0) -> Any:
    """A right request with something of it replaced, left out or added."""
    if depth and draw(st.integers(0, 6)) == 0:
        return draw(JSON)
    if isinstance(value, dict):
        kept = {k: draw(changed(v, depth + 1)) for k, v in value.items() if draw(st.integers(0, 8))}
        if draw(st.integers(0, 8)) == 0:
            kept[draw(st.sampled_from(WORDS))] = draw(JSON)
        return kept
    if isinstance(value, list):
        return [draw(changed(v, depth + 1)) for v in value if draw(st.integers(0, 8))]
    return value


def check(raw: bytes) -> None:
    """Send it, and look at the answer."""
    client = Gateway(weather_call(), TEXT).ask(raw)
    assert client.ended
    assert client.status in (200, 400, 413, 422), client.written
    if client.status == 400:
        error = client.json["error"]
        assert error["message"]
        for problem in error.get("problems", ()):
            assert problem["message"]
            assert problem["code"]


@settings(max_examples=300, deadline=None)
@given(body=changed())
def test_a_request_that_is_nearly_right(body: Any) -> None:
    check(json.dumps(body).encode())


@settings(max_examples=100, deadline=None)
@given(body=JSON)
def test_any_json(body: Any) -> None:
    check(json.dumps(body).encode())


@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=40))
def test_any_bytes(raw: bytes) -> None:
    check(raw)


def test_the_right_request_is_right() -> None:
    assert Gateway(weather_call()).ask(RIGHT).status == 200
