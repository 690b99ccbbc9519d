"""Models that the catalogue does not know: their calls are found in whatever format they write."""

import asyncio
import json
from typing import Any

import pytest
from tests.contract.chatting import Backend, Client
from tests.contract.wire import READER, body, read, tool

from toolwire.backends.pool import BackendPool
from toolwire.formats import RenderedCall, Trace, names, render_calls
from toolwire.gateway.context import RequestContext
from toolwire.gateway.observer import Lesson, Unobserved
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.native import Hybrid
from toolwire.gateway.strategies.selection import REMEMBERED, StrategySelector
from toolwire.gateway.turn import TurnService
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.openai.chat import OpenAiChat

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [tool("get_weather", PARAMETERS)]
FORMATS = (
    "mistral", "qwen3_coder", "llama3_json", "pythonic", "deepseek_v3", "openai", "glm45",
    "granite", "hermes", "react", "anthropic_xml",
)  # fmt: skip
FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```'


def written(name: str) -> str:
    return render_calls(name, [RenderedCall("get_weather", {"city": "Paris"}, "call_1")])


class Learner(Unobserved):
    """Writes down the formats that are learned."""

    def __init__(self, lessons: list[str]) -> None:
        self.lessons = lessons

    def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None:
        self.lessons.append(found or lesson)


class Served:
    """One model whose backend says what it is told, a character at a time."""

    model = "my-finetune"

    def __init__(self, mode: Any = "auto", configured: str | None = None) -> None:
        self.now = 0.0
        self.lessons: list[str] = []
        self.strategies = StrategySelector(
            mode, configured, clock=lambda: self.now, observer=Learner(self.lessons)
        )

    def ask(self, text: str, *, key: str | None = None, **fields: Any) -> Client:
        said = [[Fragment(text=char)] for char in text]
        return self.hear([*said, [Fragment(finish="stop")]], key=key, **fields)

    def call(self, **fields: Any) -> Client:
        """The backend makes a call itself."""
        made = CallFragment(0, "a", "get_weather", '{"city": "Paris"}')
        return self.hear([[Fragment(calls=(made,))], [Fragment(finish="tool_calls")]], **fields)

    def hear(self, said: Any, *, key: str | None = None, **fields: Any) -> Client:
        backend = Backend(said)
        raw = body(model=self.model, **{"tools": TOOLS, **fields})
        client = Client(HttpRequest("POST", b"/v1/chat/completions", {}, raw))
        asyncio.run(self._answer(client, backend, RequestContext("req_1", key_name=key)))
        return client

    async def _answer(self, client: Client, backend: Backend, context: RequestContext) -> None:
        pool = BackendPool([backend], asyncio.get_running_loop().time)
        turns = TurnService(
            routes=Routes([ServedModel("*", pool, strategies=self.strategies)]),
            limits=TurnLimits(attempts=1),
            repair_history=False,
            new_call_id=lambda: "call_1",
            now=lambda: 0.0,
        )
        surface = OpenAiChat(READER, turns, lambda prefix: f"{prefix}1", lambda: 0.0)
        await surface.answer(client, context)


def calls(client: Client) -> list[tuple[str, Any]]:
    made = client.json["choices"][0]["message"].get("tool_calls") or []
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in made]


PARIS = [("get_weather", {"city": "Paris"})]


@pytest.mark.parametrize("mode", ["auto", "prompted"])
@pytest.mark.parametrize("name", FORMATS)
def test_the_first_call_of_an_unknown_model_is_read_in_whatever_format_it_is(
    name: str, mode: str
) -> None:
    served = Served(mode)
    answer = served.ask(written(name))
    assert calls(answer) == PARIS
    assert calls(served.ask(written(name))) == PARIS
    if name not in ("hermes", "qwen3_coder"):  # hermes, which is expected, reads both
        assert "format_detected:" in answer.headers["toolwire-repairs"]


@pytest.mark.parametrize("name", names())
def test_a_model_of_any_format_is_read_right_and_a_quoted_call_is_not_made(name: str) -> None:
    served, call = Served(), written(name)
    assert calls(served.ask(call)) == PARIS
    assert calls(served.ask(f"I look.\n{call}")) == PARIS
    quoted = f"A call:\n```\n{call}\n```\nThat is how."
    answer = served.ask(quoted)
    assert calls(answer) == []
    assert answer.json["choices"][0]["message"]["content"] == quoted


@pytest.mark.parametrize(
    "around", ["Write `{}` now.", "Write ``{}``\nnow.", "So:\n```\n{}\n```\nLike this."]
)
@pytest.mark.parametrize("name", names())
def test_while_nothing_is_known_of_a_model_no_quoted_call_is_made(name: str, around: str) -> None:
    if name in ("gemma3", "command_r_plus") and "``" not in around:
        return  # their calls contain a fence
    quoted = around.format(written(name))
    answer = Served().ask(quoted)
    assert calls(answer) == []
    assert answer.json["choices"][0]["message"]["content"] == quoted


WRAPPED = "<|START_THINKING|>I look.<|END_THINKING|><|START_RESPONSE|>Wait.<|END_RESPONSE|>"


@pytest.mark.parametrize("call", ["", written("cohere_command3")])
def test_the_first_answer_of_an_unknown_model_shows_no_marker(call: str) -> None:
    answer = Served().ask(WRAPPED + call + "<|END_OF_TURN_TOKEN|>")
    message = answer.json["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("Wait.", "I look.")
    assert calls(answer) == ([("get_weather", {"city": "Paris"})] if call else [])
    assert "format_detected:cohere_command3" in answer.headers["toolwire-repairs"]


WITHOUT = [{"tools": []}, {"tool_choice": "none"}]
ANNOUNCED = {
    "openai": "<|channel|>analysis<|message|>I look.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Wait.<|return|>",
    "cohere_command3": WRAPPED,
    "inkling": "<|message_model|><|content_thinking|>I look.<|end_message|>"
    "<|message_model|><|content_text|>Wait.<|end_message|>",
    "muse_glimmer": " to=self<|message|>I look.<|eom|>"
    "<|start|>assistant to=user<|message|>Wait.<|eot|>",
    "mistral": "[THINK]I look.[/THINK]Wait.",
}


@pytest.mark.parametrize("fields", WITHOUT, ids=["no tools", "none"])
@pytest.mark.parametrize("name", ANNOUNCED)
def test_without_tools_an_answer_is_read_in_the_format_that_it_begins_with(
    name: str, fields: dict[str, Any]
) -> None:
    served = Served()
    for reported in (True, False):
        answer = served.ask(ANNOUNCED[name], **fields)
        message = answer.json["choices"][0]["message"]
        assert (message["content"], message["reasoning_content"]) == ("Wait.", "I look.")
        repairs = answer.headers.get("toolwire-repairs", "")
        assert (f"format_detected:{name}" in repairs) == reported
    assert served.lessons == [name]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "A plain answer.",
        " \n",
        "<|chan",
        "<|channel|> begins a header.",
        "<|start|> begins a message.",
        "to=selfish",
        "assistant: <|channel|>final<|message|>",
        "See <|channel|>final<|message|>x.",
        "`<|channel|>` begins a header.",
        '"<|start|>assistant<|channel|>"',
        "<think>Hm.</think>Yes.",
        "[TODO] x",
    ],
)
def test_without_tools_any_other_answer_is_not_touched(text: str, stream: bool) -> None:
    served = Served()
    answer = served.ask(text, stream=stream, tools=[])
    if stream:
        deltas = [c["choices"][0]["delta"].get("content") or "" for c in answer.chunks]
        assert "".join(deltas) == text
    else:
        assert answer.json["choices"][0]["message"]["content"] == text
    assert served.lessons == []


def test_without_tools_a_call_in_an_announced_format_is_dropped() -> None:
    call = written("openai").removeprefix("<|start|>assistant to=functions.get_weather")
    text = f"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant to=functions.f{call}"
    answer = Served().ask(text, tools=[])
    message = answer.json["choices"][0]["message"]
    assert (message["content"] or "", message["reasoning_content"]) == ("", "Hm.")
    assert "tool_calls" not in message
    assert "call_dropped:no_tools" in answer.headers["toolwire-repairs"]


def test_the_format_is_remembered() -> None:
    served = Served()
    served.ask(written("mistral"))
    again = served.ask(written("mistral"))
    assert "format_detected" not in again.headers.get("toolwire-repairs", "")


def test_one_answer_does_not_decide_how_the_next_ones_are_read() -> None:
    """Anybody can make a model repeat a call in some format."""
    served = Served()
    for name in ("mistral", "hermes", "pythonic", "mistral"):
        assert calls(served.ask(written(name))) == PARIS


def test_in_a_format_that_is_configured_and_seen_another_one_is_a_quotation() -> None:
    served = Served(configured="mistral")
    assert calls(served.ask(written("mistral"))) == PARIS
    answer = served.ask(written("hermes"))
    assert calls(answer) == []
    assert answer.json["choices"][0]["message"]["content"] == written("hermes")


def test_a_format_that_is_configured_and_not_written_is_reported_every_time() -> None:
    served = Served(configured="mistral")
    for _ in range(2):
        answer = served.ask(written("hermes"))
        assert calls(answer) == PARIS
        assert "format_detected:hermes" in answer.headers["toolwire-repairs"]


def test_a_call_in_a_fence_counts_where_tools_are_in_the_prompt_or_a_call_is_demanded() -> None:
    assert calls(Served("prompted").ask(FENCED)) == PARIS
    assert calls(Served("auto").ask(FENCED, tool_choice="required")) == PARIS


def test_a_call_in_a_fence_counts_until_the_backend_has_called_natively() -> None:
    served = Served("auto")
    assert calls(served.ask(FENCED)) == PARIS
    assert calls(served.call()) == PARIS
    answer = served.ask(FENCED)
    assert calls(answer) == []
    assert answer.json["choices"][0]["message"]["content"] == FENCED
    assert calls(served.ask(FENCED, tool_choice="required")) == PARIS


@pytest.mark.parametrize("mode", ["auto", "prompted"])
def test_a_call_in_a_fence_counts_also_where_the_format_is_known_and_was_seen(mode: str) -> None:
    served = Served(mode, configured="mistral")
    assert calls(served.ask(written("mistral"))) == PARIS
    assert calls(served.ask(FENCED)) == PARIS
    assert calls(served.ask(f"```\n{written('mistral')}\n```")) == PARIS


@pytest.mark.parametrize("text", ["Well, no.", "```python\nprint(1)\n```", "``", "`", " \n"])
def test_what_is_no_fence_of_calls_comes_out_as_it_is(text: str) -> None:
    served = Served("prompted", configured="mistral")
    served.ask(written("mistral"))
    assert served.ask(text).json["choices"][0]["message"]["content"] == text


def is_known(served: Served, name: str, key: str) -> bool:
    """Whether calls in this format are no surprise for this key."""
    answer = served.ask(written(name), key=key)
    assert calls(answer) == PARIS
    return "format_detected" not in answer.headers.get("toolwire-repairs", "")


def test_a_format_that_one_key_has_seen_is_not_expected_for_the_others() -> None:
    served = Served()
    assert not is_known(served, "mistral", "a")
    assert is_known(served, "mistral", "a")
    assert not is_known(served, "mistral", "b")
    assert is_known(served, "mistral", "c")


def test_a_format_that_was_detected_is_forgotten_after_a_while() -> None:
    served = Served()
    assert not is_known(served, "mistral", "a")
    served.now = REMEMBERED - 1
    assert is_known(served, "mistral", "a")
    served.now += REMEMBERED
    assert not is_known(served, "mistral", "a")


def test_prose_around_a_fence_makes_it_text() -> None:
    answer = Served("prompted").ask(f"For example:\n{FENCED}\nThat is how.")
    assert calls(answer) == []
    assert answer.json["choices"][0]["message"]["content"].endswith("That is how.")


@pytest.mark.parametrize("stream", [False, True])
def test_plain_text_comes_out_as_it_is(stream: bool) -> None:
    text = "A list: [1, 2], an object {}, `code` and <b>tags</b>. Action: none."
    answer = Served().ask(text, stream=stream)
    if stream:
        deltas = [c["choices"][0]["delta"].get("content") or "" for c in answer.chunks]
        assert "".join(deltas) == text
    else:
        assert answer.json["choices"][0]["message"]["content"] == text


BESIDE = "text stands beside the code fence that holds the call"


@pytest.mark.parametrize(
    ("text", "why", "detecting"),
    [
        (f"Sure:\n{FENCED}", "a call that is quoted is mentioned, not made", True),
        (f"{FENCED}\nDone.", BESIDE, True),
        (f"{FENCED}\nDone.", BESIDE, False),
    ],
)
def test_the_trace_says_why_a_call_in_a_fence_is_text(text: str, why: str, detecting: bool) -> None:
    watch = (lambda _: None) if detecting else None
    trace = Trace()
    strategy = Hybrid(format="hermes", watch=watch, unproven=True)
    reader = strategy.parser(read(body(tools=TOOLS)), trace, set())
    for char in text:
        reader.feed(char)
    reader.finish()
    assert {span.why for span in trace.spans} == {why}
