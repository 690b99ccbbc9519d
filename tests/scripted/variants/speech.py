"""Variants of what the model says: the words are odd, the wire is not."""

from dataclasses import replace

from tests.scripted.answer import Answer, Call
from tests.scripted.chunks import Chunk, deltas
from tests.scripted.raw_formats import RAW_FORMATS, written
from tests.scripted.request import ChatRequest
from tests.scripted.variants.base import Variant


class Parallel(Variant, name="parallel"):
    """Several calls in one turn, one after the other; the argument says how many, 2 by default."""

    default_arg = "2"

    def ask(self, request: ChatRequest) -> ChatRequest:
        return replace(request, width=int(self.arg))


class ContentAndTool(Variant, name="content_and_tool"):
    """Text comes before the calls."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        text = answer.text or "I will use a tool for that."
        return replace(answer, text=text) if answer.calls else answer


class Reasoning(Variant, name="reasoning"):
    """There is reasoning before everything else, as `reasoning_content`."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        # Another one each turn: goose drops an assistant message whose reasoning it has seen.
        thought = f"Thinking about turn {request.turn}: what is there to do?"
        return replace(answer, reasoning=answer.reasoning or thought)


class ReasoningField(Reasoning, name="reasoning_field"):
    """There is reasoning, and the field is called `reasoning`."""

    def chunks(self, chunks: list[Chunk]) -> list[Chunk]:
        for delta in deltas(chunks):
            _rename(delta)
        return chunks

    def whole(self, body: Chunk) -> Chunk:
        _rename(body["choices"][0]["message"])
        return body


class ReasoningTags(Variant, name="reasoning_tags"):
    """There is reasoning, in the text, between <think> and </think>."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        thought = answer.reasoning or "What is there to do?"
        return replace(answer, text=f"<think>\n{thought}\n</think>\n\n{answer.text}", reasoning="")


class _SpoilsOneCall(Variant):
    """Spoils the calls of the first answer that has any, and then no more."""

    def __init__(self, arg: str) -> None:
        super().__init__(arg)
        self._spent = False

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        if self._spent or not answer.calls:
            return answer
        self._spent = True
        return replace(answer, calls=tuple(self.spoil(call) for call in answer.calls))

    def spoil(self, call: Call) -> Call:
        """Make the call a bad one."""
        raise NotImplementedError


class BadArgs(_SpoilsOneCall, name="badargs"):
    """The first call's arguments are not JSON."""

    def spoil(self, call: Call) -> Call:
        return replace(call, args=call.arguments.removesuffix("}") + ", oops")


class UnknownTool(_SpoilsOneCall, name="unknown_tool"):
    """The first call names a tool that was not offered."""

    def spoil(self, call: Call) -> Call:
        return replace(call, name="no_such_tool")


class EmptyAnswer(Variant, name="empty_answer"):
    """The model says nothing at all, and stops properly."""

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        return Answer()


class TextCall(Variant, name="text_call"):
    """Calls are left in the text, in the form `:FORMAT` (hermes), and the turn ends with `stop`."""

    default_arg = "hermes"

    def say(self, answer: Answer, request: ChatRequest) -> Answer:
        text = written(RAW_FORMATS[self.arg], answer.text, answer.calls, ())
        return replace(answer, text=text, calls=())


def _rename(message: Chunk) -> None:
    if "reasoning_content" in message:
        message["reasoning"] = message.pop("reasoning_content")
