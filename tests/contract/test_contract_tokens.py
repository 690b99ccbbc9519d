"""Usage that a backend does not give: counted with the model's tokenizer, else marked (SC-006)."""

from typing import Any

import pytest
from tests.contract.chatting import Backend, Client, chat, speaking
from tests.contract.wire import USER, body, tool

from toolwire.backends.tokenizers import FileTokenizer, ServerTokenizer, read_count
from toolwire.errors import UpstreamError
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage

WORDS = FileTokenizer(lambda text: range(len(text.split())))
"""A tokenizer whose tokens are words."""
PER_MESSAGE = 4


def model(*more: Fragment) -> Backend:
    call = CallFragment(0, "a", "f", "{}")
    said = Fragment(text="one two three", reasoning="four five", calls=(call,))
    return speaking(said, *more, Fragment(finish="stop"))


def asked(backend: Backend, **fields: Any) -> Client:
    tokens = fields.pop("tokens", WORDS)
    raw = body(tools=[tool("f", description="x y z")], **fields)
    return chat(raw, backend, tokens=tokens)


def test_a_whole_answer_is_counted() -> None:
    client = asked(model())
    usage = client.json["usage"]
    assert usage["completion_tokens"] == 3 + 2 + 1
    assert usage["prompt_tokens"] == len(["f", "x", "y", "z", "{}", "hello"]) + PER_MESSAGE
    assert usage["total_tokens"] == usage["prompt_tokens"] + 6
    assert "toolwire-usage" not in client.headers


def test_a_stream_is_counted_the_same() -> None:
    chunks = asked(model(), stream=True, stream_options={"include_usage": True}).chunks
    assert chunks[-1]["usage"] == asked(model()).json["usage"]
    assert "toolwire" not in chunks[-1]


def test_what_the_backend_says_counts_more() -> None:
    given = TokenUsage(100, 200)
    assert asked(model(Fragment(usage=given))).json["usage"]["prompt_tokens"] == 100


class Broken:
    """A tokenizer that cannot count."""

    calls = 0

    async def count(self, texts: Any, *, backend: str, model: str) -> list[int]:
        self.calls += 1
        raise UpstreamError("No.")


@pytest.mark.parametrize("tokens", [None, Broken(), ServerTokenizer({})])
def test_without_a_tokenizer_that_works_it_is_an_estimate_and_says_so(tokens: Any) -> None:
    client = asked(model(), tokens=tokens)
    assert client.json["usage"]["total_tokens"] > 0
    assert client.headers["toolwire-usage"] == "estimated"


def test_nobody_counts_what_nobody_sees() -> None:
    broken = Broken()
    asked(model(), tokens=broken, stream=True)
    assert broken.calls == 0


class Server:
    """A server that counts letters."""

    async def tokenize(self, text: str, model: str) -> int:
        assert model == "m"
        return len(text)


def test_the_server_that_answered_is_asked() -> None:
    client = chat(
        body(messages=[USER]),
        speaking(Fragment(text="four"), Fragment(finish="stop")),
        tokens=ServerTokenizer({"backend": Server()}),
    )
    assert client.json["usage"]["completion_tokens"] == 4
    assert client.json["usage"]["prompt_tokens"] == len("hello") + PER_MESSAGE


@pytest.mark.parametrize(
    ("body_", "count"),
    [
        (b'{"count":3,"max_model_len":9,"tokens":[1,2,3]}', 3),
        (b'{"tokens":[1,2]}', 2),
        (b'{"tokens":[{"id":1,"piece":"a"}]}', 1),
    ],
)
def test_the_figures_of_servers_are_read(body_: bytes, count: int) -> None:
    assert read_count(body_) == count


@pytest.mark.parametrize("body_", [b"{}", b'{"count":null}', b'{"tokens":5}', b"[]", b"oops"])
def test_what_is_no_figure_is_none(body_: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_count(body_)
