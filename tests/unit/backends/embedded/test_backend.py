import asyncio
import json
import math
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import pytest
from tests.asking import asking

from toolwire.backends.base import BackendRequest, Constraint
from toolwire.backends.embedded.backend import EmbeddedBackend
from toolwire.backends.embedded.tuning import AS_WRITTEN, Bounds, ModelTuning
from toolwire.backends.gguf import GgufFacts
from toolwire.errors import GatewayError, Place, UpstreamError, UpstreamRefused
from toolwire.gateway.strategies.prompted import Constrained
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import NO_TOOLS, AssistantCall, ToolSet, ToolSpec

MESSAGES = (ChatMessage("user", "hi"),)
USAGE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
OVERFLOW = {
    "code": 400,
    "type": "exceed_context_size_error",
    "message": "request (900 tokens) exceeds ...",
    "n_prompt_tokens": 900,
    "n_ctx": 512,
}


def said(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


class FakeEngine:
    """Says what it is told, at once; then ends as `end` does."""

    name = "fake"
    has_tools = False
    facts = GgufFacts("fake", "llama", 512, "")
    marks = ("<end>",)
    has_grammars = True
    context = 512
    most_characters = 512 * 10
    tuning = ModelTuning(call_threshold=-5.0, bounds=Bounds(string=100, array=10, tokens=500))

    def __init__(self, *chunks: dict[str, Any], end: Callable[[], None] = lambda: None) -> None:
        self.chunks = chunks
        self.end = end
        self.bodies: list[dict[str, Any]] = []

    @property
    def body(self) -> dict[str, Any]:
        return self.bodies[-1]

    def submit(self, work: Callable[[Any], None]) -> "Future[None]":
        turn: Future[None] = Future()
        try:
            turn.set_result(work(self))
        except (ValueError, RuntimeError, UpstreamError) as error:
            turn.set_exception(error)
        return turn

    def generate(self, body: bytes, take: Callable[[bytes], bool]) -> None:
        self.bodies.append(json.loads(body))
        for chunk in self.chunks:
            take(json.dumps(chunk).encode())
        self.end()


def relay(engine: FakeEngine, **params: bytes) -> tuple[list[Fragment], bool]:
    async def work() -> tuple[list[Fragment], bool]:
        fragments: list[Fragment] = []
        outgoing = BackendRequest(asking(MESSAGES, params), MESSAGES, NO_TOOLS)
        answer = await EmbeddedBackend("embedded", engine).open(outgoing)  # type: ignore[arg-type]
        done = await answer.relay(fragments.extend)
        answer.close()
        return fragments, done

    return asyncio.run(asyncio.wait_for(work(), 5))


def failure(engine: FakeEngine) -> GatewayError:
    with pytest.raises(UpstreamError) as caught:
        relay(engine)
    return caught.value


def refuse() -> None:
    raise ValueError("no such thing")


def test_progress_and_the_bare_role_are_nothing_that_was_said() -> None:
    progress = {
        "choices": [{"delta": {"role": "assistant", "content": None}}],
        "prompt_progress": {},
    }
    fragments, done = relay(FakeEngine(progress, said("Hi"), USAGE))
    assert [fragment.text for fragment in fragments] == ["Hi", ""]
    assert fragments[-1].usage is not None
    assert done


def test_an_answer_that_just_ends_is_not_called_done() -> None:
    _, done = relay(FakeEngine(said("Hi")))
    assert not done


def test_a_prompt_that_is_too_long_gets_openais_code() -> None:
    error = failure(FakeEngine({"error": OVERFLOW}))
    assert (error.status, error.code) == (400, "context_length_exceeded")
    assert error.place == Place("messages")
    assert "512 tokens" in error.message
    assert "900 tokens" in error.message
    assert not getattr(error, "retryable", True)


def test_a_prompt_that_cannot_fit_is_refused_before_the_engine_reads_it() -> None:
    engine = FakeEngine(USAGE)
    backend = EmbeddedBackend("embedded", engine)  # type: ignore[arg-type]

    def ask(*lengths: int) -> None:
        messages = tuple(ChatMessage("user", "x" * length) for length in lengths)
        asyncio.run(backend.open(BackendRequest(Request("m", messages), messages, NO_TOOLS)))

    with pytest.raises(UpstreamRefused, match=r"512 tokens.*5121 characters") as caught:
        ask(5000, 121)
    assert (caught.value.status, caught.value.code) == (400, "context_length_exceeded")
    assert not engine.bodies
    ask(5000, 120)
    assert engine.bodies


def test_what_the_engine_refuses_is_an_error_of_the_request() -> None:
    error = failure(FakeEngine({"error": {"code": 400, "message": "no", "type": "invalid"}}))
    assert isinstance(error, UpstreamRefused)
    assert (error.status, error.message) == (400, "no")


def test_what_the_engine_raises_is_an_error_of_the_request() -> None:
    error = failure(FakeEngine(end=refuse))
    assert isinstance(error, UpstreamRefused)
    assert (error.status, "no such thing" in error.message) == (400, True)


def test_a_failure_in_the_middle_is_the_backends() -> None:
    error = failure(FakeEngine(said("Hi"), {"error": {"code": 500, "message": "Compute error."}}))
    assert (error.status, "Compute error." in error.message) == (502, True)


def test_tools_that_the_template_would_leave_out_are_refused() -> None:
    tools = ToolSet({"look": ToolSpec("look")})
    outgoing = BackendRequest(Request("m", MESSAGES, tools=tools), MESSAGES, tools)
    engine = FakeEngine(USAGE)
    with pytest.raises(UpstreamRefused, match="has no tools") as caught:
        asyncio.run(EmbeddedBackend("embedded", engine).open(outgoing))  # type: ignore[arg-type]
    assert (caught.value.status, caught.value.place) == (400, Place("tools"))
    engine.has_tools = True
    asyncio.run(EmbeddedBackend("embedded", engine).open(outgoing))  # type: ignore[arg-type]
    assert engine.body["tools"][0]["function"]["name"] == "look"


def test_a_turn_is_always_streamed_and_counted() -> None:
    engine = FakeEngine(USAGE)
    relay(engine)
    assert engine.body["stream"] is True
    assert engine.body["stream_options"] == {"include_usage": True}
    assert engine.body["return_progress"] is True
    assert "cache_prompt" not in engine.body


def test_a_seed_wants_the_prompt_read_afresh() -> None:
    engine = FakeEngine(USAGE)
    relay(engine, seed=b"7")
    assert (engine.body["seed"], engine.body["cache_prompt"]) == (7, False)


def test_only_what_the_engine_has_is_sent() -> None:
    engine = FakeEngine(USAGE)
    params = {"n": b"2", "top_k": b"3", "max_completion_tokens": b"4", "grammar": b'"root"'}
    relay(engine, **params)
    assert (engine.body["top_k"], engine.body["max_tokens"]) == (3, 4)
    assert not {"n", "grammar"} & set(engine.body)
    request = asking(MESSAGES, params)
    ignored = EmbeddedBackend("embedded", engine).ignored(request)  # type: ignore[arg-type]
    assert ignored == ["n", "grammar"]


SCHEMA = b'{"type":"object"}'
MAY_CALL = Constraint(SCHEMA, optional=True)
RESULT = (*MESSAGES, ChatMessage("assistant", None, (AssistantCall("c", "look", "{}"),)),
          ChatMessage("tool", "seen", call_id="c"))  # fmt: skip


def opening(**likelihoods: float) -> dict[str, Any]:
    tokens = [{"token": token, "logprob": math.log(p)} for token, p in likelihoods.items()]
    place = {"token": "x", "logprob": 0.0, "top_logprobs": tokens}
    return {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [place]}}]}


def asked(outgoing: BackendRequest, **likelihoods: float) -> list[dict[str, Any]]:
    engine = FakeEngine(opening(**likelihoods), USAGE)
    asyncio.run(EmbeddedBackend("embedded", engine).open(outgoing))  # type: ignore[arg-type]
    return engine.bodies


@pytest.mark.parametrize(
    ("likelihoods", "held"),
    [
        ({"The": 0.9, "[": 0.02}, True),
        ({"The": 0.9, ' [{"': 0.004, "{": 0.004}, True),
        ({"The": 0.9, "[": 0.001}, False),
        ({"The": 0.9}, False),
    ],
)
def test_how_likely_a_call_is_decides_whether_the_answer_is_held_to_the_schema(
    likelihoods: dict[str, float], held: bool
) -> None:
    outgoing = BackendRequest(Request("m", MESSAGES), MESSAGES, NO_TOOLS, MAY_CALL)
    probe, *_, answer = asked(outgoing, **likelihoods)
    assert (probe["max_tokens"], "grammar" in probe) == (1, False)
    assert ("grammar" in answer) is held
    assert answer.get("max_tokens") == (500 if held else None)


@pytest.mark.parametrize(("threshold", "chooses"), [(-5.0, True), (AS_WRITTEN, False)])
def test_a_model_with_a_threshold_can_be_let_choose(threshold: float, chooses: bool) -> None:
    engine = FakeEngine()
    engine.tuning = ModelTuning(call_threshold=threshold)
    backend = EmbeddedBackend("embedded", engine)  # type: ignore[arg-type]
    assert backend.capabilities.chooses is chooses


def test_a_demanded_schema_is_not_up_to_the_model() -> None:
    _, answer = asked(
        BackendRequest(Request("m", MESSAGES), MESSAGES, NO_TOOLS, Constraint(SCHEMA))
    )
    assert "grammar" in answer


def held(engine: FakeEngine, schema: bytes = SCHEMA, **params: bytes) -> list[Fragment]:
    async def work() -> list[Fragment]:
        fragments: list[Fragment] = []
        outgoing = BackendRequest(asking(MESSAGES, params), MESSAGES, NO_TOOLS, Constraint(schema))
        answer = await EmbeddedBackend("embedded", engine).open(outgoing)  # type: ignore[arg-type]
        await answer.relay(fragments.extend)
        return fragments

    return asyncio.run(asyncio.wait_for(work(), 5))


def test_the_grammar_is_the_schema_with_the_bounds_of_the_model() -> None:
    engine = FakeEngine(said('{"'), USAGE)
    held(engine, b'{"type":"object","properties":{"city":{"type":"string"}}}')
    grammar = engine.body["grammar"]
    assert grammar.startswith("%llguidance {}\nstart: %json {")
    schema = json.loads(grammar.partition("%json ")[2])
    assert schema["properties"]["city"]["maxLength"] == 100
    assert "response_format" not in engine.body


def test_an_engine_without_grammars_of_its_own_is_given_the_bounded_schema() -> None:
    engine = FakeEngine(said('{"'), USAGE)
    engine.has_grammars = False
    held(engine, b'{"type":"object","properties":{"city":{"type":"string"}}}')
    schema = engine.body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["city"]["maxLength"] == 100
    assert "grammar" not in engine.body


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_the_clients_own_limit_stands(limit: str) -> None:
    engine = FakeEngine(said('{"'), USAGE)
    held(engine, **{limit: b"900"})
    assert engine.body["max_tokens"] == 900


def test_the_one_token_is_one_token_whatever_limits_the_client_sets() -> None:
    params = {"max_tokens": b"7", "max_completion_tokens": b"8"}
    request = asking(MESSAGES, params)
    probe, _ = asked(BackendRequest(request, MESSAGES, NO_TOOLS, MAY_CALL), The=0.9)
    assert probe["max_tokens"] == 1


@pytest.mark.parametrize(
    ("wanted", "is_held"),
    [
        (b'{"type":"json_object"}', True),
        (b'{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}', True),
        (b'{"type":"text"}', False),
        (b"null", False),
    ],
)
def test_a_form_that_the_client_wants_is_a_grammar_too(wanted: bytes, is_held: bool) -> None:
    engine = FakeEngine(said("{}"), USAGE)
    relay(engine, response_format=wanted)
    assert ("grammar" in engine.body) is is_held


class TemptedEngine(FakeEngine):
    """Breaks the line if it is tempted to, as an engine does that keeps to no grammar."""

    keeps = False
    too_long = False

    def generate(self, body: bytes, take: Callable[[bytes], bool]) -> None:
        asked = json.loads(body)
        word = "{\n" if "logit_bias" in asked and not self.keeps else '{"'
        self.chunks = (said("" if word in asked.get("stop", ()) else word), USAGE)
        if self.too_long:
            self.chunks = ({"error": OVERFLOW},)
        super().generate(body, take)


def test_a_schema_that_the_engine_does_not_keep_to_is_refused() -> None:
    engine = TemptedEngine()
    with pytest.raises(UpstreamRefused, match="nothing fits the JSON Schema") as caught:
        held(engine)
    assert caught.value.status == 400
    assert [body["max_tokens"] for body in engine.bodies] == [2]
    # It is no reason to think that the backend can hold to nothing.
    assert Constrained().lack(caught.value) is None


@pytest.mark.parametrize("keeps", [True, False])
def test_a_grammar_is_tried_once(keeps: bool) -> None:
    engine = TemptedEngine()
    engine.keeps = keeps
    backend = EmbeddedBackend("embedded", engine)  # type: ignore[arg-type]

    async def ask(schema: bytes) -> None:
        with suppress(UpstreamRefused):
            await backend.open(
                BackendRequest(Request("m", MESSAGES), MESSAGES, NO_TOOLS, Constraint(schema))
            )

    for schema in (SCHEMA, SCHEMA, b'{"type":"object","minProperties":1}'):
        asyncio.run(ask(schema))
    tempted = ["logit_bias" in body for body in engine.bodies]
    assert tempted == ([True, False, False, True, False] if keeps else [True, True])


def test_a_grammar_that_could_not_be_tried_is_tried_again() -> None:
    engine = TemptedEngine()
    backend = EmbeddedBackend("embedded", engine)  # type: ignore[arg-type]
    outgoing = BackendRequest(Request("m", MESSAGES), MESSAGES, NO_TOOLS, Constraint(SCHEMA))
    engine.too_long = True
    with pytest.raises(UpstreamRefused, match="maximum context length"):
        asyncio.run(backend.open(outgoing))
    engine.too_long = False
    with pytest.raises(UpstreamRefused, match="nothing fits the JSON Schema"):
        asyncio.run(backend.open(outgoing))


def test_a_stop_sequence_ends_neither_the_trial_of_a_grammar_nor_the_one_token() -> None:
    engine = TemptedEngine()
    form = b'{"type":"json_object"}'
    with pytest.raises(UpstreamRefused, match="nothing fits the JSON Schema"):
        relay(engine, response_format=form, stop=b'["{\\n"]')
    assert "stop" not in engine.body
    request = asking(MESSAGES, {"stop": b'["["]'})
    probe, text = asked(BackendRequest(request, MESSAGES, NO_TOOLS, MAY_CALL), The=0.9)
    assert ("stop" in probe, text["stop"]) == (False, ["["])


def test_a_stop_sequence_is_for_text_and_does_not_cut_a_call() -> None:
    engine = FakeEngine(said("{"), USAGE)
    held(engine, stop=b'["}"]')
    assert "stop" not in engine.body
    relay(engine, stop=b'["}"]')
    assert engine.body["stop"] == ["}"]


def test_a_schema_that_nothing_fits_never_reaches_the_engine() -> None:
    engine = FakeEngine(USAGE)
    with pytest.raises(UpstreamRefused, match="minLength 5 with maxLength 3"):
        held(engine, b'{"properties":{"a":{"type":"string","minLength":5,"maxLength":3}}}')
    assert engine.bodies == []


def test_a_call_that_was_chosen_is_asked_for_with_the_conversation_for_it() -> None:
    shown = (ChatMessage("user", "an example"), *MESSAGES)
    request = Request("m", MESSAGES)
    outgoing = BackendRequest(
        request, MESSAGES, NO_TOOLS, Constraint(SCHEMA, optional=True, messages=shown)
    )
    for likelihood, messages in ((0.5, 2), (0.0001, 1)):
        probe, *_, answer = asked(outgoing, **{"{": likelihood})
        assert (len(probe["messages"]), len(answer["messages"])) == (1, messages)


@pytest.mark.parametrize("examples", [0, 3])
def test_prompts_with_and_without_examples_have_places_of_their_own(examples: int) -> None:
    engine = FakeEngine(opening(The=0.9), USAGE)
    engine.tuning = ModelTuning(call_threshold=-5.0, examples=examples)
    backend: Any = EmbeddedBackend("embedded", engine)  # type: ignore[arg-type]
    request = asking(MESSAGES, {"id_slot": b"7"})
    chosen = BackendRequest(
        request, MESSAGES, NO_TOOLS, Constraint(SCHEMA, optional=True, messages=MESSAGES)
    )
    asyncio.run(backend.open(chosen))
    asyncio.run(backend.open(BackendRequest(request, MESSAGES, NO_TOOLS)))
    slots = [body.get("id_slot") for body in engine.bodies]
    assert slots == ([0, 0, 1] if examples else [None, None, None])
    assert backend.ignored(request) == ["id_slot"]


def test_what_the_file_says_of_the_model_is_known_of_the_backend() -> None:
    engine = FakeEngine()
    engine.facts = GgufFacts("Some-Model", "llama", 512, "{{ tools }}")
    facts = EmbeddedBackend("embedded", engine).capabilities  # type: ignore[arg-type]
    assert (facts.name, facts.template, facts.marks) == ("Some-Model", "{{ tools }}", ("<end>",))
    assert not facts.has_tools
