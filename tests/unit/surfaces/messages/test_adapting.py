"""What a backend refuses and an agent cannot leave out: it is asked again without it."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.contract.chatting import Backend, Recitation
from tests.contract.messaging import HELLO, blocks, ending, events, message

from toolwire.backends.base import BackendRequest
from toolwire.errors import UpstreamRefused
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.sampling import SamplingParams

WINDOW = "model_context_window_exceeded"
FULL = "context_length_exceeded"
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}


@dataclass
class Picky(Backend):
    """Refuses the first requests, with these words."""

    words: list[UpstreamRefused] = field(default_factory=list)
    finish: str = "stop"

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.opened.append(outgoing)
        if self.words:
            raise self.words.pop(0)
        return Recitation([[Fragment(text="Fine.", finish=self.finish)]], True, None)


def picky(*words: str, code: str | None = None) -> Picky:
    return Picky(words=[UpstreamRefused(said, status=400, code=code) for said in words])


def sampling(backend: Backend) -> SamplingParams:
    return backend.opened[-1].request.sampling


@pytest.mark.parametrize(
    ("words", "code", "lowered"),
    [
        (
            "This model's maximum context length is 32768 tokens. However, you requested 42000 "
            "tokens (10000 in the messages, 32000 in the completion).",
            FULL,
            22736,
        ),
        (
            "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, "
            "whereas you provided 32000.",
            None,
            16384,
        ),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", None, 8192),
        (
            "input length and `max_tokens` exceed context limit: 9000 + 32000 > 20000",
            None,
            20000 - 9000 - 32,
        ),
        ("Your request exceeded model token limit: 8192 (requested: 32010)", FULL, 8186),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_limit_is_lowered_to_what_fits(
    words: str, code: str | None, lowered: int, stream: bool
) -> None:
    backend = picky(words, code=code)
    client = message(backend, max_tokens=32000, stream=stream)
    assert sampling(backend).max_tokens == lowered
    assert blocks(client) == [{"type": "text", "text": "Fine."}]
    assert client.headers["toolwire-adjusted-params"] == "max_tokens"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("words", "finish", "reason"),
    [
        ("maximum context length is 32768 tokens. 10000 in the messages", "length", WINDOW),
        ("maximum context length is 32768 tokens. 10000 in the messages", "stop", "end_turn"),
        ("max_tokens is too large. At most 8192 completion tokens", "length", "max_tokens"),
    ],
)
def test_an_answer_that_fills_the_context_says_so(
    words: str, finish: str, reason: str, *, stream: bool
) -> None:
    backend = picky(words)
    backend.finish = finish
    client = message(backend, max_tokens=32000, stream=stream)
    assert ending(client)["stop_reason"] == reason


def test_a_prompt_that_does_not_fit_is_not_tried_again() -> None:
    backend = picky("maximum context length is 8192 tokens and has 9000 input tokens", code=FULL)
    client = message(backend, max_tokens=32000)
    assert len(backend.opened) == 1
    assert client.json["error"]["message"] == "prompt is too long: 9000 tokens > 8192 maximum"


@pytest.mark.parametrize(
    "words",
    [
        '"llama3" does not support thinking',
        "Unrecognized request argument: reasoning_effort",
        "chat_template is not supported for Mistral tokenizers.",
        'think value "high" is not supported for this model',
        'invalid reasoning value: \'none\' (must be "high", "medium", or "low")',
    ],
)
def test_thinking_that_a_model_does_not_have_is_left_out(words: str) -> None:
    backend = picky(words)
    client = message(backend, thinking={"type": "adaptive"}, output_config={"effort": "high"})
    assert client.status == 200
    assert sampling(backend).reasoning_effort is None
    assert sampling(backend).thinking is None
    assert "thinking" in client.headers["toolwire-adjusted-params"]


def test_a_form_that_a_server_cannot_hold_a_model_to_is_asked_for_in_words() -> None:
    backend = picky("'response_format' of type 'json_schema' is not supported")
    form = {"format": {"type": "json_schema", "schema": SCHEMA}}
    client = message(backend, output_config=form, system="Be brief.")
    assert client.status == 200
    request = backend.opened[-1].request
    assert request.response_format is None
    assert json.dumps(SCHEMA, separators=(",", ":")) in str(request.messages[0].content)
    assert client.headers["toolwire-adjusted-params"] == "output_config.format"


@pytest.mark.parametrize(
    "words",
    ["image input is not supported", "m is not a multimodal model", "This model takes text only"],
)
def test_images_are_left_out_for_a_model_that_takes_text_only(words: str) -> None:
    backend = picky(words)
    client = message(backend, messages=[{"role": "user", "content": [PNG]}])
    assert client.status == 200
    said = backend.opened[-1].request.messages[-1].content
    assert said == "(image, not shown: this model takes text only)"
    assert client.headers["toolwire-adjusted-params"] == "image"


@pytest.mark.parametrize(
    "words",
    [
        "Invalid content type: file",
        "Only text parts are supported, not documents",
        "takes text only",
    ],
)
def test_documents_are_left_out_for_a_server_that_takes_none(words: str) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}
    document = {"type": "document", "title": "plan.pdf", "source": source}
    backend = picky(words)
    client = message(backend, messages=[{"role": "user", "content": [document]}])
    assert client.status == 200
    said = backend.opened[-1].request.messages[-1].content
    assert said == "(plan.pdf, not shown: this model takes no files)"
    assert client.headers["toolwire-adjusted-params"] == "document"


def test_several_refusals_are_met_one_after_the_other() -> None:
    backend = picky("model does not support thinking", "the image is not supported")
    client = message(
        backend, thinking={"type": "adaptive"}, messages=[{"role": "user", "content": [PNG]}]
    )
    assert client.status == 200
    assert len(backend.opened) == 3


@dataclass
class Slow(Picky):
    """Thinks for a while, which the client sees as pings, before it refuses."""

    async def open(self, outgoing: BackendRequest) -> Recitation:
        if not self.words:
            return await super().open(outgoing)
        self.opened.append(outgoing)
        return Recitation([[Fragment(reasoning="Hm.")]], False, self.words.pop(0))


def test_a_refusal_that_comes_after_pings_is_met_in_the_same_stream() -> None:
    refused = UpstreamRefused("the image is not supported", status=400)
    backend = Slow(words=[refused])
    client = message(backend, stream=True, messages=[{"role": "user", "content": [PNG]}])
    kinds = [event["type"] for event in events(client)]
    assert kinds[:3] == ["message_start", "ping", "content_block_start"]
    assert kinds.count("message_start") == 1
    assert blocks(client) == [{"type": "text", "text": "Fine."}]
    assert events(client)[-2]["toolwire"]["adjusted"] == ["image"]


@pytest.mark.parametrize("words", ["no", "thinking", "image", "max_tokens is wrong", "json_schema"])
def test_what_cannot_be_left_out_is_an_error_in_the_backends_words(words: str) -> None:
    backend = picky(words)
    client = message(backend, messages=HELLO)
    assert (client.status, client.json["error"]["message"]) == (400, words)
    assert len(backend.opened) == 1


def test_a_backend_that_always_refuses_is_not_asked_for_ever() -> None:
    words = [f"max_tokens must be at most {number} tokens" for number in range(900, 100, -1)]
    backend: Any = picky(*words)
    assert message(backend, max_tokens=1000).status == 400
    assert len(backend.opened) == 5
