"""The page about the Responses API: its tables come from the code that reads requests."""

from collections.abc import Callable, Iterable

from toolwire.surfaces.responses.request.fields import FIELDS, OWN
from toolwire.surfaces.responses.request.items import ITEMS
from toolwire.surfaces.responses.request.tools import TOOLS

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]

USE = """\
from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8181/v1", api_key="any")
response = client.responses.create(model="my-model", input="Hello")
"""
ENDPOINTS = (
    ("`POST /v1/responses`", "streamed and whole"),
    ("`POST /v1/responses/input_tokens`", "counts a prompt; no model is asked for an answer"),
    ("`GET /v1/responses/{id}`", "a stored response; its events are not kept"),
    ("`DELETE /v1/responses/{id}`", "deletes it and its items"),
    ("`GET /v1/responses/{id}/input_items`", "what it answered; `limit`, `order`, `after`"),
    ("`POST /v1/responses/{id}/cancel`", "400: nothing runs in the background"),
    ("`/v1/responses/compact`, `/v1/conversations`", "404"),
    ("a WebSocket at `/v1/responses`", "426, at which Codex goes on over HTTP"),
)
ERRORS = (
    ("400", "`invalid_type`, `invalid_value`, ...", "the request is wrong; `param` says where"),
    ("400", "`unsupported_parameter`, `unsupported_value`", "it cannot be done here"),
    ("400", "`previous_response_not_found`", "unknown, expired, or of another key"),
    ("400", "`context_length_exceeded`", "the backend's context is full"),
    ("401", "`invalid_api_key`", "no key, or a wrong one"),
    ("404", "`model_not_found`; none", "no such model; no such response or item"),
    ("429", "`rate_limit_exceeded`", "with `retry-after`"),
    ("503", "`server_is_overloaded`", "Toolwire's own limits"),
    ("500, 502, 504", "as on chat completions", "the backend failed, or Toolwire did"),
)


def parts(table: Table) -> Iterable[str]:
    """The page, part by part."""
    yield "# Responses API"
    yield (
        "`POST /v1/responses` is OpenAI's Responses API in front of any backend. Codex, "
        "openai-agents, the AI SDK's default provider and Cline's `openai-native` speak it. "
        "[Codex on your own model](codex.md) has the settings."
    )
    yield f"```python\n{USE}```"
    yield table(("endpoint", ""), ENDPOINTS)
    yield (
        "Anything that can be ignored is accepted: clients add fields, items and tools with every "
        "release. What is ignored, adjusted or repaired is named in the headers "
        "`toolwire-ignored-params`, `toolwire-adjusted-params` and `toolwire-repairs`; what "
        "becomes known during a stream is in a `toolwire` object of the last response."
    )
    yield "## Fields"
    rows = [(f"`{name}`", rule.use, rule.about) for name, rule in FIELDS.items()]
    yield table(("field", "", "how"), [*rows, ("others", "ignored", "never forwarded")])
    kept = ", ".join(f"`{name}`" for name in sorted(OWN))
    yield (
        'A backend that speaks this API itself (`dialect = "responses"`) also gets these fields as '
        f"they are, and they are not reported: {kept}. Its encrypted reasoning is passed to the "
        "client, and back."
    )
    yield "## Input items"
    items = [(f"`{name}`", rule.about) for name, rule in ITEMS.items()]
    yield table(("item", "becomes"), [*items, ("others", "left out and reported")])
    yield (
        "**All items of the assistant** up to the next item of somebody else are one message. "
        "Results go to the backend in the order of their calls. Images in results follow all "
        "results of the turn, in one user message, because few servers take them in a result."
    )
    yield (
        "**A broken history is repaired**, whatever `history` says: a call without a result gets "
        "one that says so, a result without a call is left out, a late result is moved to its "
        "call, and of two the last one counts. Arguments that are not JSON are repaired or quoted."
    )
    yield (
        "**Developer messages** before the first answer join one system message; a later one is "
        "text of the user's turn, in a `<system-reminder>` tag, so that a prompt always begins "
        "with the one before it."
    )
    yield "## Tools"
    yield table(
        ("tool", "", "how"),
        [(_code(name), use, about) for name, (use, about) in TOOLS.items()],
    )
    yield (
        "A model is only ever offered functions, so every kind of tool works with every model. If "
        "a model forgets the object around a custom tool's text, the text counts. Not a character "
        "of it is changed."
    )
    yield "## Reasoning"
    yield (
        "Reasoning is given as the summary of a `reasoning` item. With `include: "
        '["reasoning.encrypted_content"]` it also comes in a form that the client sends back, so '
        "a model gets its own reasoning again between its calls without anything being stored. "
        "It is packed, not secret."
    )
    yield "## State"
    yield (
        "Responses are kept in the [sessions' store](sessions.md), for its `ttl`, unless a request "
        "says `store: false`. `previous_response_id` goes on from one, and `item_reference` stands "
        "for one of its items. Each API key sees only its own. `instructions` are not inherited. A "
        "response of more than `max_bytes` is not kept; neither is any without a store, or while "
        "it does not answer: then the response says `store: false`. Of each API key, the newest "
        "`max_responses` are kept, as far as they have no more than `responses_bytes` together; "
        "older ones are deleted."
    )
    yield "## Streams"
    yield (
        "The events are those of OpenAI, with `sequence_number` from 0 without gaps and the same "
        "ids throughout. A call is done only when it is complete and checked; a call that was cut "
        "off appears only in `response.incomplete`. While the model is silent, "
        "`response.in_progress` is repeated, because Codex's time limit does not count comments. "
        "An error in a stream is sent as `error` and as `response.failed`, since each client knows "
        "only one of them."
    )
    yield "## Errors"
    yield table(("status", "`code`", "from"), ERRORS)


def _code(names: str) -> str:
    return names if names == "others" else ", ".join(f"`{name}`" for name in names.split(", "))
