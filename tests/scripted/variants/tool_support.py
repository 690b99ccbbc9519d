"""Variants of what a server can do about tools and schemas, whatever the model says."""

import json
from dataclasses import replace
from typing import Any, ClassVar

from tests.scripted.answer import Answer
from tests.scripted.reply import Reply, error_reply
from tests.scripted.request import ChatRequest
from tests.scripted.tools import fill_schema
from tests.scripted.variants.base import Exchange, Variant


class _Refuses(Variant):
    """Refuses every request that has one of these fields."""

    fields: ClassVar[tuple[str, ...]]
    message: ClassVar[str]

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        body = exchange.request.json_or_none
        asked = [field for field in self.fields if isinstance(body, dict) and field in body]
        return error_reply(400, self.message, param=asked[0]) if asked else reply


class RefusesTools(_Refuses, name="refuses_tools"):
    """Every request with tools is refused with 400, in words that mention them."""

    fields = ("tools",)
    message = "This model does not support tools."


class RefusesSchema(_Refuses, name="refuses_schema"):
    """Every request with `response_format` or its like is refused with 400."""

    fields = ("response_format", "structured_outputs", "json_schema", "guided_json", "grammar")
    message = "response_format: this server cannot constrain decoding."


class SmallWindow(Variant, name="small_window"):
    """Prompt and answer must fit into `:N` tokens (100000), as vLLM counts and says it."""

    default_arg = "100000"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        body = exchange.request.json_or_none
        asked = int(body.get("max_tokens") or 0) if isinstance(body, dict) else 0
        prompt = len(exchange.request.body) // 4
        if prompt + asked <= int(self.arg):
            return reply
        message = (
            f"'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum "
            f"context length is {self.arg} tokens and your request has {prompt} input tokens"
        )
        return error_reply(400, message, type="BadRequestError")


class OnlyCompletions(Variant, name="only_completions"):
    """There is no chat: `/chat/completions` is not found."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        path = exchange.request.path
        return error_reply(404, "Not Found") if "/chat/" in path else reply


class IgnoresTools(Variant, name="ignores_tools"):
    """The tools of a request are ignored, and so is its tool_choice: the model never sees them."""

    def ask(self, request: ChatRequest) -> ChatRequest:
        kept = {
            key: value
            for key, value in request.body.items()
            if key not in ("tools", "tool_choice", "parallel_tool_calls")
        }
        return replace(request, body=kept)


class ObeysSchema(Variant, name="obeys_schema"):
    """A request with a JSON schema is answered with bare JSON that fits it."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        schema = _schema(request.body)
        if schema is None:
            return answer
        return Answer(text=json.dumps(fill_schema(schema, {})), usage=answer.usage)


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    for name in ("json_schema", "guided_json"):
        if name in body:
            bare: dict[str, Any] = body[name]
            return bare
    if "structured_outputs" in body:
        found: dict[str, Any] | None = body["structured_outputs"].get("json")
        return found
    asked = body.get("response_format") or {}
    return (asked.get("json_schema") or {}).get("schema")
