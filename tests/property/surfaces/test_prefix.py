"""What a backend is sent in one turn begins what it is sent in the next, byte for byte.

Else the server's prompt cache is lost, and each turn of an agent costs as much as the first.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.property.surfaces.doors import DOORS, Json
from tests.property.surfaces.house import OPEN_DOORS, House

from toolwire.backends.anthropic.blocks import turns_of
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.openai.request import encode_body, encode_messages
from toolwire.backends.system_prompt import split_system
from toolwire.gateway.strategies.selection import Mode
from toolwire.protocol.fragments import CallFragment, Fragment

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Does something.\n\nReally.",
            "parameters": {
                "type": "object",
                "properties": {"b": {"type": "string"}, "a": {"type": "array", "items": {}}},
            },
        },
    }
    for name in ("zeta", "alpha")
]
OWN = [
    Fragment(reasoning="Hm, two calls."),
    Fragment(text="I will look."),
    Fragment(
        calls=(CallFragment(0, "x", "zeta", '{"b": "ü\\n", "a": [1.0, 2, {"z": 1, "y": 2}]}'),)
    ),
    Fragment(calls=(CallFragment(1, "y", "alpha", "{}"),)),
    Fragment(finish="tool_calls"),
]
WRITTEN = [
    Fragment(text='I will look.\n<tool_call>\n{"name": "zeta", "arguments": {"b": "1"}}\n</tool_'),
    Fragment(text="call>"),
    Fragment(finish="stop"),
]
SPOKEN = [Fragment(text="Done: "), Fragment(text="**ü**\n"), Fragment(finish="stop")]


def turns(name: str, served: House, first: Sequence[Fragment], *, stream: bool) -> list[Any]:
    """What the backend is sent in five turns: two with calls, one without, and again."""
    door, sent = DOORS[name], []
    history: list[Json] = [door.user("Look, please.")]
    for said in (first, first, SPOKEN, first, SPOKEN):
        answer = served.ask(door, said, TOOLS, history, stream=stream)
        sent.append(served.outgoing)
        history += answer.echo
        if answer.calls:
            results = [(call, f"result of {call.name}\n") for call in answer.calls]
            history += door.results(results)
        else:
            history.append(door.user("And again."))
    return sent


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["openai", "vllm", "mistral", "llamacpp"])
@pytest.mark.parametrize(
    ("mode", "said"), [("native", OWN), ("hybrid", OWN), ("hybrid", WRITTEN), ("prompted", WRITTEN)]
)
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_each_turn_begins_with_all_of_the_one_before(
    name: str, mode: Mode, said: list[Fragment], dialect: str, *, stream: bool
) -> None:
    spoken = DIALECTS[dialect]
    sent = turns(name, House(mode, "hermes"), said, stream=stream)
    prompts = [encode_messages(outgoing.messages, spoken) for outgoing in sent]
    for earlier, later in pairwise(prompts):
        assert later.startswith(earlier.removesuffix(b"]") + b",")
    tools = [encode_body(outgoing, spoken, None)[1:2] for outgoing in sent]
    assert tools == [tools[0]] * len(tools)


@pytest.mark.parametrize(("mode", "said"), [("native", OWN), ("prompted", WRITTEN)])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_so_it_does_for_a_server_with_the_messages_api(
    name: str, mode: Mode, said: list[Fragment]
) -> None:
    sent = turns(name, House(mode, "hermes"), said, stream=False)
    halves = [split_system(outgoing.messages) for outgoing in sent]
    assert len({system for system, _ in halves}) == 1
    prompts = [msgspec.json.encode(turns_of(messages, "anthropic")) for _, messages in halves]
    for earlier, later in pairwise(prompts):
        assert later.startswith(earlier.removesuffix(b"]") + b",")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_the_echo_of_an_answer_is_what_the_model_said(name: str, *, stream: bool) -> None:
    *_, last = turns(name, House("native"), OWN, stream=stream)
    answers = [message for message in last.messages if message.role == "assistant"]
    made = [[call.name for call in message.calls] for message in answers]
    assert made == [["zeta", "alpha"], ["zeta", "alpha"], [], ["zeta", "alpha"]]
    assert [message.content for message in answers] == [
        "I will look.", "I will look.", "Done: **ü**\n", "I will look.",
    ]  # fmt: skip
    assert {message.reasoning for message in answers if message.calls} == {"Hm, two calls."}
    results = [message.content for message in last.messages if message.role == "tool"]
    assert results == ["result of zeta\n", "result of alpha\n"] * 3
