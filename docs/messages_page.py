"""The page about the Messages API: its tables come from the code that reads requests."""

from collections.abc import Callable, Iterable, Mapping

from toolwire.surfaces.messages.answer import STOP_REASONS
from toolwire.surfaces.messages.blocks import BLOCKS
from toolwire.surfaces.messages.notes import Rule
from toolwire.surfaces.messages.own_form import KEPT_BACK
from toolwire.surfaces.messages.reader import FIELDS
from toolwire.surfaces.messages.tools import TOOLS

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]

USE = """\
from anthropic import Anthropic

client = Anthropic(base_url="http://127.0.0.1:8181", api_key="any")
message = client.messages.create(
    model="my-model", max_tokens=1000, messages=[{"role": "user", "content": "Hello"}]
)
"""
ERRORS = (
    ("400", "`invalid_request_error`", "the request is wrong, or the backend refuses it"),
    ("401", "`authentication_error`", "no key, or a wrong one"),
    ("403", "`permission_error`", "the backend does not allow it"),
    ("404", "`not_found_error`", "no such path or model"),
    ("413", "`request_too_large`", "the body is over the limit"),
    ("429", "`rate_limit_error`", "with `retry-after`"),
    ("500", "`api_error`", "the backend failed, or Toolwire did"),
    ("504", "`timeout_error`", "the backend is too slow"),
    ("529", "`overloaded_error`", "the backend or Toolwire is busy, or cannot be reached"),
)


def parts(table: Table) -> Iterable[str]:
    """The page, part by part."""
    yield "# Messages API"
    yield (
        "`POST /v1/messages` and `POST /v1/messages/count_tokens` are Anthropic's Messages API in "
        "front of any backend: Claude Code, the Anthropic SDKs, the AI SDK's `anthropic` provider "
        "and Cline's speak it. [Claude Code on your own model](claude-code.md) has the settings."
    )
    yield f"```python\n{USE}```"
    yield (
        "Anything that can be ignored is accepted. What is ignored, adjusted or repaired is named "
        "in the headers `toolwire-ignored-params`, `toolwire-adjusted-params` and "
        "`toolwire-repairs`; what becomes known during a stream is in a `toolwire` object of its "
        "`message_delta`. Any "
        "`anthropic-version` and `anthropic-beta` is accepted, also none. `/messages` and "
        "`/v1/v1/messages` are the same endpoint, for base URLs with a missing or an extra `/v1`."
    )
    yield "## Fields"
    yield _rules(table, "field", FIELDS)
    yield "## Content blocks"
    yield _rules(table, "block", BLOCKS)
    yield (
        "**System messages** may stand anywhere. One before the first answer joins the system "
        "prompt; a later one is text of the user's turn, after its results, in a "
        "`<system-reminder>` tag. Many chat templates allow one system message, at the beginning. "
        "What was sent once is sent the same way in every later turn, so a prompt begins with the "
        "one before it, byte for byte, and a backend finds it in its cache."
    )
    yield (
        "**A broken history is repaired**, whatever `history` says: a call without a result gets "
        "one that says so, and a result that belongs to no call becomes text. A last message of "
        "the assistant (a prefill) is refused, because few servers continue it."
    )
    yield "## Tools"
    yield _rules(table, "tool", TOOLS)
    yield "## Answers"
    yield (
        "Content blocks come one at a time: thinking and text in the order of the model's output, "
        "and calls after the text, once they are complete and checked. A thinking block has a "
        "signature of Toolwire's; thinking that was not asked for is left out. A call's arguments "
        "come as `input_json_delta` events. Together they are one JSON object, unless the answer "
        "ended within the call, with `max_tokens`."
    )
    yield table(
        ("finish reason", "`stop_reason`"),
        [(f"`{ours}`", f"`{theirs}`") for ours, theirs in STOP_REASONS.items()],
    )
    yield (
        "A complete call is `tool_use` even where the answer ended at the token limit. If the "
        "backend names the stop sequence it met (vLLM, SGLang, Anthropic), the reason is "
        "`stop_sequence`, and so it is for the fifth and every later one, which Toolwire watches "
        "for itself: it cuts the text there and ends the backend's stream. An answer that filled "
        "the context (the backend says so, or `max_tokens` had to be lowered to what fits, and "
        "was reached) ends with `model_context_window_exceeded`."
    )
    yield (
        "`usage` has what the backend says: `input_tokens` without what came from its cache, which "
        "is `cache_read_input_tokens`. If it says nothing, Toolwire counts with the model's "
        "`tokenizer` (see [configuration](configuration.md)), or makes a slightly high estimate. "
        "`count_tokens` counts with the `tokenizer`, too. Without one it asks a server that counts "
        "tokens (vLLM, SGLang, llama.cpp, Anthropic), or makes the same estimate if there is no "
        "count within 3 s. Nothing is generated."
    )
    yield "## What a backend refuses"
    yield (
        "Agents ask every model for 32000 tokens, thinking and images. If a backend refuses one of "
        "these, and its words say which, it is asked again with a lower `max_tokens`, without "
        "thinking, without images, or with the JSON Schema of `output_config.format` in the "
        "prompt. The change is reported in `toolwire-adjusted-params`."
    )
    yield "## A backend with the same API"
    yield (
        'With [`dialect = "anthropic"`](configuration.md) the backend is a server with this API, '
        "such as Claude's. It gets the client's own JSON: `cache_control` on blocks, tools and the "
        "system prompt, `thinking` with its budget, signed thinking of earlier turns, "
        "`context_management`, `metadata`, `service_tier`, tools that the server runs, fields that "
        "Toolwire does not know, and the headers `anthropic-beta` and `anthropic-version`. The "
        "answer comes back with the server's own signatures, blocks, citations, stop reasons and "
        "usage. The key is the backend's, never the client's."
    )
    yield (
        "Toolwire changes only what it has to: `model`, `max_tokens` and `stream`, a conversation "
        "that it repaired (then without thinking, whose signatures are lost), tools that the route "
        "limits, and what the server has refused. Thinking that another model wrote is left out. "
        + _listed(KEPT_BACK - {"model", "max_tokens", "stream"})
        + " are never "
        "passed on, because they choose another model or account than the route does. A backend of "
        "another kind gets none of these fields."
    )
    yield "## Errors"
    yield table(("status", "type", "from"), ERRORS)
    yield (
        "A full context is always `prompt is too long: N tokens > M maximum`, the words that make "
        "clients summarize the conversation. `x-should-retry: false` comes with errors that asking "
        "again cannot change. Every answer of these paths has the header `request-id`, and every "
        "error the same id in `request_id`; so has a request that Toolwire refuses because it is "
        "overloaded or shutting down, with `retry-after`. A request with an `anthropic-version` "
        "gets errors in this form on every path. Threads are answered with the error code "
        "`thread_unsupported_request`, after which the SDKs send the whole conversation."
    )


def _listed(names: Iterable[str]) -> str:
    *most, last = (f"`{name}`" for name in sorted(names))
    return f"{', '.join(most)} and {last}"


def _rules(table: Table, head: str, rules: Mapping[str, Rule]) -> str:
    rows = [(_code(name), rule.treatment, rule.how) for name, rule in rules.items()]
    return table((head, "", "how"), rows)


def _code(names: str) -> str:
    if names.startswith(("other", "custom")):
        return names
    return ", ".join(f"`{name}`" for name in names.split(", "))
