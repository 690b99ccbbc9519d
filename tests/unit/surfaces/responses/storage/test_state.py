"""What is kept of responses, for whom, and what is said where nothing is kept."""

import asyncio
import json
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from openai.types.responses import ResponseItem
from pydantic import TypeAdapter
from tests.contract.chatting import Backend, Client, speaking
from tests.unit.surfaces.responses.responding import (
    CALLED,
    END,
    READER,
    WEATHER,
    Answer,
    ask,
    call,
    made,
    result,
    user,
)

from toolwire.errors import GatewayError, StoreUnavailable, UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.protocol.fragments import Fragment
from toolwire.sessions.base import Key
from toolwire.sessions.memory import MemoryStore
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.responses.errors import error_body
from toolwire.surfaces.responses.request.items import Item
from toolwire.surfaces.responses.request.reader import (
    ParsedResponsesRequest,
    ReadRequest,
    ResponseReader,
)
from toolwire.surfaces.responses.storage.state import ResponseStore
from toolwire.surfaces.responses.storage.stored import StoredResponses

ITEM: TypeAdapter[Any] = TypeAdapter(ResponseItem)
LONG = "limit=000000001" + "1" * 5000
BOTH = pytest.mark.parametrize("stream", [False, True])
SPOKEN = (
    Fragment(reasoning="Hm."),
    Fragment(text="Let me see."),
    call("get_weather", '{"city":"Paris"}'),
    CALLED,
)


def first(kept: MemoryStore, **fields: Any) -> Answer:
    answer = ask(speaking(*SPOKEN), kept=kept, tools=[WEATHER], input="Weather?", **fields)
    assert answer.status == 200, answer.written
    return answer


def results_of(answer: Answer) -> list[Any]:
    made = [item for item in answer.output if item["type"] == "function_call"]
    return [result(item["call_id"], "rain") for item in made]


@BOTH
def test_a_conversation_goes_on_from_a_response(stream: bool) -> None:
    store = MemoryStore()
    before = first(store, stream=stream, instructions="Be brief.")
    assert before.response["store"] is True
    answer = ask(
        kept=store,
        previous_response_id=before.response["id"],
        input=results_of(before),
        tools=[WEATHER],
    )
    messages = answer.asked[0].messages
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert (messages[1].content, messages[1].reasoning) == ("Let me see.", "Hm.")
    assert messages[2].content == "rain"
    assert answer.response["previous_response_id"] == before.response["id"]


def test_a_chain_holds_all_that_came_before() -> None:
    store = MemoryStore()
    previous = first(store)
    for number in range(3):
        items = [*(results_of(previous) if not number else ()), user(f"turn {number}")]
        previous = ask(kept=store, previous_response_id=previous.response["id"], input=items)
    texts = [message.content for message in previous.asked[0].messages]
    assert texts[-1] == "turn 2"
    assert texts[0] == "Weather?"


def test_items_can_be_sent_as_references_only() -> None:
    store = MemoryStore()
    before = first(store)
    references = [{"type": "item_reference", "id": item["id"]} for item in before.output[:2]]
    items = [user("Weather?"), *references, before.output[2], *results_of(before)]
    messages = ask(kept=store, input=items, tools=[WEATHER]).asked[0].messages
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert (messages[1].content, messages[1].reasoning) == ("Let me see.", "Hm.")


def test_an_item_with_nothing_but_an_id_is_a_reference() -> None:
    store = MemoryStore()
    before = first(store)
    answer = ask(kept=store, input=[user("a"), {"id": before.output[1]["id"]}, user("b")])
    assert answer.asked[0].messages[1].content == "Let me see."


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"type": "item_reference"}, "missing_required_parameter"),
        ({"type": "item_reference", "id": {}}, "invalid_type"),
        ({"id": []}, "invalid_type"),
    ],
)
def test_a_reference_without_an_id_is_an_error_beside_one_that_has_it(
    reference: Any, code: str
) -> None:
    store = MemoryStore()
    known = {"type": "item_reference", "id": first(store).output[0]["id"]}
    answer = ask(kept=store, input=[user("Hi."), known, reference])
    assert answer.status == 400
    assert answer.json["error"]["param"] == "input[2].id"
    assert answer.json["error"]["code"] == code


def test_references_are_limited_by_what_they_refer_to() -> None:
    store = MemoryStore()
    spoken = ask(speaking(Fragment(text="long " * 2000), END), kept=store).output[0]
    reference = {"type": "item_reference", "id": spoken["id"]}
    assert ask(kept=store, input=[reference, user("Hi.")] * 50).status == 200
    answer = ask(kept=store, input=[reference, user("Hi.")] * 200)
    assert (answer.status, answer.json["error"]["code"]) == (400, "array_above_max_length")


class WatchedReader(ResponseReader):
    """Notes in which threads requests are built."""

    threads: ClassVar[list[threading.Thread]] = []

    def request(self, asked: ParsedResponsesRequest, items: Sequence[Item]) -> ReadRequest:
        self.threads.append(threading.current_thread())
        return super().request(asked, items)


@pytest.mark.parametrize(("words", "in_loop"), [(10, True), (50_000, False)])
def test_a_long_stored_conversation_is_read_off_the_event_loop(words: int, in_loop: bool) -> None:
    store, reader = MemoryStore(), WatchedReader(READER.tools, READER.max_items)
    before = ask(kept=store, input="long " * words).response
    reader.threads.clear()
    answer = ask(kept=store, reader=reader, input="Hi.", previous_response_id=before["id"])
    assert answer.status == 200
    assert [one is threading.main_thread() for one in reader.threads] == [in_loop]


def test_a_response_that_failed_does_not_claim_to_be_kept() -> None:
    backend = Backend([[Fragment(text="a")]], error=UpstreamError("It broke."))
    answer = ask(backend, kept=MemoryStore(), stream=True)
    assert answer.kinds[-1] == "failed"
    assert answer.response["store"] is False


def test_what_is_not_to_be_kept_is_not() -> None:
    store = MemoryStore()
    before = first(store, store=False)
    assert before.response["store"] is False
    refused = ask(kept=store, previous_response_id=before.response["id"])
    assert refused.status == 400
    assert refused.json["error"]["code"] == "previous_response_not_found"
    assert refused.json["error"]["param"] == "previous_response_id"


def test_another_key_sees_nothing_of_it() -> None:
    store = MemoryStore()
    before = first(store, owner="one")
    asked = {"kept": store, "previous_response_id": before.response["id"]}
    assert ask(owner="one", **asked).status == 200
    assert ask(owner="two", **asked).status == 400
    item = {"type": "item_reference", "id": before.output[1]["id"]}
    assert ask(kept=store, owner="two", input=[user("a"), item]).status == 404


def test_without_a_store_nothing_is_said_to_be_kept_and_references_are_errors() -> None:
    assert ask(store=True).response["store"] is False
    refused = ask(previous_response_id="resp_1")
    assert (refused.status, refused.json["error"]["code"]) == (400, "previous_response_not_found")
    assert "keeps no responses" in refused.json["error"]["message"]
    unknown = ask(input=[user("a"), {"type": "item_reference", "id": "msg_1"}])
    assert (unknown.status, unknown.json["error"]["code"]) == (404, None)
    assert "msg_1" in unknown.json["error"]["message"]
    assert "`store` is set to false" in unknown.json["error"]["message"]


class _Broken(MemoryStore):
    async def put(self, values: dict[Key, bytes], ttl: float) -> None:
        raise StoreUnavailable("gone")


@BOTH
def test_an_answer_that_cannot_be_kept_says_so_and_is_given(stream: bool) -> None:
    answer = ask(kept=_Broken(), stream=stream)
    assert (answer.status, answer.response["store"]) == (200, False)


def test_what_is_too_large_is_not_kept_and_says_so() -> None:
    answer = ask(kept=MemoryStore(), input="x" * (1 << 20))
    assert answer.response["store"] is False


def call_endpoint(store: MemoryStore | None, name: str, target: str, owner: str = "") -> Client:
    client = Client(HttpRequest("GET", target.encode()))
    ends = StoredResponses(ResponseStore(store, 60, 1 << 20))
    try:
        asyncio.run(getattr(ends, name)(client, RequestContext("req_1", key_name=owner)))
    except GatewayError as error:
        client.respond(error.status, [], error_body(error))
    return client


def test_a_response_can_be_read_and_deleted_with_its_items() -> None:
    store = MemoryStore()
    before = first(store)
    path = f"/v1/responses/{before.response['id']}"
    assert call_endpoint(store, "show", path).json == before.response
    deleted = call_endpoint(store, "delete", path).json
    assert deleted == {"id": before.response["id"], "object": "response", "deleted": True}
    for name in ("show", "delete", "list_input", "cancel"):
        assert call_endpoint(store, name, path).status == 404
    item = {"type": "item_reference", "id": before.output[1]["id"]}
    assert ask(kept=store, input=[user("a"), item]).status == 404


def test_a_streamed_response_can_be_read_as_it_was_in_the_end() -> None:
    store = MemoryStore()
    before = first(store, stream=True)
    shown = call_endpoint(store, "show", f"/v1/responses/{before.response['id']}").json
    assert shown["output"] == before.output
    assert shown["usage"] == before.response["usage"]


def test_another_key_cannot_read_or_delete_a_response() -> None:
    store = MemoryStore()
    path = f"/v1/responses/{first(store, owner='one').response['id']}"
    assert call_endpoint(store, "delete", path, "two").status == 404
    assert call_endpoint(store, "show", path, "one").status == 200


def test_the_input_is_listed_by_pages() -> None:
    store = MemoryStore()
    items = [user(f"turn {number}") for number in range(5)]
    path = f"/v1/responses/{ask(kept=store, input=items).response['id']}/input_items"
    page = call_endpoint(store, "list_input", f"{path}?order=asc&limit=2").json
    assert [item["content"][0]["text"] for item in page["data"]] == ["turn 0", "turn 1"]
    assert (page["object"], page["has_more"]) == ("list", True)
    rest = f"{path}?order=asc&limit=100&after={page['last_id']}"
    page = call_endpoint(store, "list_input", rest).json
    assert [item["content"][0]["text"] for item in page["data"]] == ["turn 2", "turn 3", "turn 4"]
    assert page["has_more"] is False
    assert (
        call_endpoint(store, "list_input", path).json["data"][0]["content"][0]["text"] == "turn 4"
    )


LISTED = [
    {"role": "user", "content": "a"},
    {"id": None, "type": None, "status": None, "role": "user", "content": "a"},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]},
    {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "a"}]},
    {"role": "assistant", "content": "a"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    {"type": "reasoning", "summary": [], "encrypted_content": "foreign"},
    made("c1", namespace="space"),
    result("c1", "a"),
    made("c2"),
    result("c2", [{"type": "input_text", "text": "a"}]),
    {"type": "custom_tool_call", "call_id": "c3", "name": "apply_patch", "input": "a"},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "a"},
    {"type": "tool_search_call", "call_id": "c4", "arguments": {}},
    {"type": "tool_search_output", "call_id": "c4", "tools": []},
    {"type": "shell_call", "call_id": "c5", "action": {"commands": ["a"]}},
    {
        "type": "shell_call_output",
        "call_id": "c5",
        "output": [{"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
    {"type": "additional_tools", "role": "developer", "tools": []},
]


def test_every_listed_item_is_one_of_openais_types_with_all_that_it_needs() -> None:
    store = MemoryStore()
    answer = ask(kept=store, input=LISTED)
    path = f"/v1/responses/{answer.response['id']}/input_items?order=asc"
    page = call_endpoint(store, "list_input", path).json
    assert len(page["data"]) == len(LISTED)
    for item in page["data"]:
        ITEM.validate_json(json.dumps(item), strict=True)
    prefixes = [item["id"].partition("_")[0] for item in page["data"]]
    assert prefixes[6:12] == ["rs", "fc", "fco", "fc", "fco", "ctc"]


def test_going_on_sends_the_stored_items_as_they_were_sent_before() -> None:
    store = MemoryStore()
    before = ask(kept=store, input=[*LISTED, user("Hi.")])
    asked = ask(kept=store, input="Go on.", previous_response_id=before.response["id"]).asked[0]
    sent = before.asked[0].messages
    assert asked.messages[: len(sent)] == sent


def test_a_result_without_a_call_id_still_belongs_to_its_call_later() -> None:
    store = MemoryStore()
    items = [user("a"), made("c1"), {"type": "function_call_output", "output": "rain"}]
    before = ask(kept=store, input=items)
    asked = ask(kept=store, input="Go on.", previous_response_id=before.response["id"]).asked[0]
    assert [m.content for m in asked.messages if m.role == "tool"] == ["rain"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=0000000019999", LONG, "order=up"]
)
def test_a_wrong_page_is_refused(query: str) -> None:
    store = MemoryStore()
    path = f"/v1/responses/{first(store).response['id']}/input_items?{query}"
    assert call_endpoint(store, "list_input", path).status == 400


def test_events_are_not_replayed_and_nothing_can_be_cancelled() -> None:
    store = MemoryStore()
    path = f"/v1/responses/{first(store).response['id']}"
    for name, target in (("show", f"{path}?stream=true"), ("cancel", f"{path}/cancel")):
        refused = call_endpoint(store, name, target)
        assert refused.status == 400
        assert refused.json["error"]["code"] == "unsupported_parameter"


def test_the_tokens_of_a_prompt_are_counted_without_a_model() -> None:
    store = MemoryStore()
    before = first(store)
    answer = ask(
        kept=store, endpoint="count", previous_response_id=before.response["id"], input="And now?"
    )
    counted = json.loads(answer.written)
    assert counted["object"] == "response.input_tokens"
    assert counted["input_tokens"] > 10
    assert answer.headers["toolwire-usage"] == "estimated"
    assert answer.asked == []


def test_nothing_cannot_be_counted() -> None:
    answer = ask(endpoint="count", input=[], max_output_tokens=1)
    assert (answer.status, answer.json["error"]["param"]) == (400, "input")


def test_an_empty_input_goes_on_from_a_response() -> None:
    store = MemoryStore()
    before = ask(speaking(Fragment(text="Hello."), END), kept=store)
    answer = ask(kept=store, previous_response_id=before.response["id"], input=[])
    assert [message.role for message in answer.asked[0].messages] == ["user", "assistant"]
