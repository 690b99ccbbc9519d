"""The types of the wire: their schemas hold for what is sent, and the docs show nothing else."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from tests.unit.surfaces.native.speaking import (
    ASKED,
    TEXT,
    Gateway,
    body,
    call_of,
    calling,
    events,
    weather_call,
)

from toolwire.formats import get, names
from toolwire.protocol.fragments import Fragment
from toolwire.surfaces.native import wire

PAGE = (Path(__file__).parents[4] / "docs" / "native-api.md").read_text(encoding="utf-8")


def validator(kind: Any) -> Any:
    """Checks JSON by the schema of a type."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return jsonschema_rs.validator_for({**root, "$defs": parts})


REQUEST, RESPONSE = validator(wire.ChatRequest), validator(wire.ChatResponse)
EVENT, ERROR = validator(wire.Event), validator(wire.ErrorResponse)
ANSWERS = {
    "text": TEXT,
    "reasoning": (Fragment(reasoning="Hm."), *TEXT),
    "calls": calling(("a", "get_weather", '{"city": "Paris"}'), text="Let me see."),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_answers_fit_their_schema(answer: Any) -> None:
    sent = body(conversation_id="new", tool_choice="auto", wait=1)
    REQUEST.validate(sent)
    client = Gateway(answer).ask(sent)
    RESPONSE.validate(client.json)
    streamed = Gateway(answer).ask({**sent, "stream": True})
    for event in events(streamed):
        EVENT.validate(event)


def test_errors_fit_their_schema() -> None:
    wrong = calling(("a", "no_such_tool", "{}"), text="Hm.")
    ERROR.validate(Gateway(wrong).ask(body()).json)
    ERROR.validate(Gateway().ask(body(tools=[7], messages=3)).json)
    for event in events(Gateway(wrong).ask(body(stream=True))):
        EVENT.validate(event)


def test_conversations_fit_their_schema() -> None:
    gateway = Gateway(weather_call())
    call = call_of(gateway.ask(body(conversation_id="c")))
    gateway.ask(
        {"conversation_id": "c", "tool_results": [{"tool_call_id": call["id"], "content": 1}]}
    )
    validator(wire.StoredConversation).validate(gateway.kept("show", "/c").json)
    validator(wire.ConversationList).validate(gateway.kept("list").json)
    validator(wire.DeletedConversation).validate(gateway.kept("delete", "/c").json)


def test_an_answer_can_be_sent_back_as_a_message() -> None:
    gateway = Gateway(ANSWERS["calls"], TEXT)
    answer = gateway.ask(body()).json["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": answer["tool_calls"][0]["id"], "content": {}}
    sent = body(ASKED, answer, result)
    REQUEST.validate(sent)
    assert gateway.ask(sent).status == 200


def test_the_page_shows_every_event_with_an_example_that_fits() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| `(\{.*\})` \|$", PAGE, re.MULTILINE)
    assert [kind for kind, _ in rows] == [
        kind.__struct_config__.tag for kind in wire.Event.__args__  # type: ignore[attr-defined]
    ]  # fmt: skip
    for kind, example in rows:
        value = json.loads(example)
        EVENT.validate(value)
        assert value["type"] == kind


def test_the_page_shows_every_field_of_a_request() -> None:
    fields = re.findall(r"^\| `([a-z_]+)` \|", PAGE.partition("## Requests")[2], re.MULTILINE)
    assert set(wire.ChatRequest.__struct_fields__) <= set(fields)


def test_the_page_names_every_format_that_has_a_form_for_errors() -> None:
    special = [name for name in names() if get(name).results.error]
    assert special
    assert [name for name in special if f"`{name}`" not in PAGE] == []


def test_every_field_of_the_wire_that_a_client_sends_is_explained() -> None:
    schema = msgspec.json.schema(wire.ChatRequest)
    fields = schema["$defs"]["ChatRequest"]["properties"]
    assert [name for name, field in fields.items() if not about(field)] == []


def about(field: Any) -> str:
    """The description of a field, or of what it may be."""
    nested = [about(option) for option in field.get("anyOf", ())]
    return field.get("description", "") or next(filter(None, nested), "")
