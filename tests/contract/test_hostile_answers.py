"""What a backend may answer has limits, so that no answer blocks the event loop (R17)."""

import asyncio
import contextlib
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.contract.chatting import Backend, chat
from tests.contract.wire import body, tool
from tests.timing import below
from tests.unit.gateway.fitting import toolset

from toolwire.backends.anthropic.answer import MessagesDecoder
from toolwire.backends.http.connection import Connection
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.responses.answer import ResponsesDecoder
from toolwire.errors import UpstreamError
from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.native_call import as_text
from toolwire.gateway.repair.arguments import is_object
from toolwire.gateway.repair.costly import Allowance, TooCostly
from toolwire.gateway.repair.lenient import tidied
from toolwire.gateway.repair.rules import EVERY_RULE
from toolwire.gateway.repair.streaming_validator import StreamingValidator
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart
from toolwire.protocol.fragments import MOST_CALLS, CallFragment, Fragment
from toolwire.protocol.json_numbers import decode_any
from toolwire.surfaces.chat.answer import join_logprobs, joined_json
from toolwire.surfaces.responses.output.json_string import InputReader
from toolwire.surfaces.responses.output.logprobs import read_logprobs

WORST = 0.25


def native() -> NativeReader:
    return NativeReader({"f": toolset(a={}).tools["f"]}, lambda: "call_1")


def delta(index: int | None, name: str | None = None, text: str | None = None) -> Fragment:
    return Fragment(0, calls=(CallFragment(index, None, name, text),))


def test_deltas_have_so_many_indexes_and_no_more() -> None:
    reader = native()
    reader.feed(delta(0, "f", '{"a": '))
    for index in range(1, 2 * MOST_CALLS):
        reader.feed(delta(index, None, "1"))
    reader.feed(delta(2 * MOST_CALLS, None, "1"))
    with pytest.raises(UpstreamError, match="too many indexes"):
        [reader.feed(delta(2 * MOST_CALLS + n, None, "1")) for n in (1, 2)]


def test_a_name_has_a_length() -> None:
    reader = native()
    reader.feed(delta(0, "f" * 1000))
    with pytest.raises(UpstreamError, match="too long a name"):
        reader.feed(delta(0, "f" * 100))


def test_odd_choices_are_counted_before_they_are_read_one_by_one() -> None:
    body = b'{"choices":[{"index":""}' + b",{}" * 100_000 + b"]}"
    decoder = AnswerDecoder(streamed=False, max_line=8 << 20)
    decoder.feed(body)
    with pytest.raises(UpstreamError, match="length <= 1000"):
        decoder.finish()


def test_a_header_that_does_not_end_is_given_up() -> None:
    async def run() -> None:
        connection = Connection(bytearray(65536))
        waiting = asyncio.ensure_future(connection.relay(lambda _: None))
        await asyncio.sleep(0)
        connection._read(b"HTTP/1.1 200 OK\r\nx: ")
        for _ in range(5):
            connection._read(b"y" * 65536)
        with pytest.raises(UpstreamError, match="too many headers"):
            await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


@pytest.mark.parametrize("first", [b"data: ", b'{"choices": [{"text": "', b"data:x\n" * 1000])
def test_a_line_in_tiny_pieces_takes_no_more_memory_than_in_one(first: bytes) -> None:
    decoder = AnswerDecoder(max_line=8 << 20)
    decoder.feed(first)
    tracemalloc.start()
    for n in range(200_000):
        decoder.feed(b"%02d" % (n % 100))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 1_000_000


def test_many_lines_of_one_event_count_as_what_they_take() -> None:
    decoder = AnswerDecoder(max_line=1 << 20)
    with pytest.raises(UpstreamError, match="more than 1048576 bytes"):
        decoder.feed(b"data:\n" * 17_000)


def test_all_choices_together_have_a_limit_of_calls() -> None:
    calls = tuple(CallFragment(n, None, "f", "{}") for n in range(MOST_CALLS // 2))
    blocks = [[Fragment(choice, calls=calls, finish="tool_calls")] for choice in range(4)]
    client = chat(body(tools=[tool("f")], n=4), Backend(blocks))
    assert client.status == 502
    assert b"more than 1024 calls" in client.written


def test_a_response_has_a_limit_of_items() -> None:
    decoder = ResponsesDecoder(max_line=8 << 20)
    event = 'data: {{"type":"response.output_text.delta","item_id":"m{0}","delta":"x"}}\n\n'
    with pytest.raises(UpstreamError, match="items"):
        [decoder.feed(event.format(n).encode()) for n in range(10_000)]


def test_long_text_is_not_repaired() -> None:
    assert tidied('{"a": "x\n"}') == '{"a": "x\\n"}'
    assert tidied('{"a": "' + "\n" * (1 << 20) + '"}') is None


def test_repairs_are_paid_for() -> None:
    allowance, tools, text = Allowance(), toolset(a={}), "{a:1,a:1]" * 100
    for index in range(100):
        EVERY_RULE.repair(index, "f", text, tools, allowance)
    with pytest.raises(TooCostly):
        [EVERY_RULE.repair(index, "f", text, tools, allowance) for index in range(100)]


def test_pieces_are_joined_once() -> None:
    assert joined_json([b'"a"', b'"b"', b'"c"']) == "abc"
    assert joined_json([b"[1]", b"[2, 3]"]) == [1, 2, 3]
    assert joined_json([b'"a"', b"[1]", b"[2]"]) == [1, 2]
    assert joined_json([b'"a"', b"7"]) == 7
    assert joined_json([]) is None


@pytest.mark.parametrize("odd", [7, "x", {"a": 1}, True, [7], [{"token": 7}], [{"bytes": "x"}]])
def test_odd_log_probabilities_are_not_a_defect(odd: Any) -> None:
    raw = msgspec.json.encode({"content": odd})
    assert join_logprobs([raw, raw]) is not None
    assert read_logprobs(raw) == []
    pieces = [[Fragment(text=said, logprobs=raw)] for said in ("<", "tool_", "x")]
    blocks = [*pieces, [Fragment(finish="stop")]]
    assert chat(body(tools=[tool("f")], logprobs=True), Backend(blocks)).status == 200


def test_too_many_log_probabilities_are_left_out() -> None:
    part = b'{"content":[' + b",".join([b"{}"] * 100_000) + b"]}"
    assert len(join_logprobs([part, part])["content"]) == 200_000
    assert join_logprobs([part] * 8) is None


@pytest.mark.parametrize(
    "text", ['{"a": "' + "x" * 20_000 + '"}', '{"a": [' + "{}," * 9_000 + "{}]}"]
)
def test_large_objects_are_objects(text: str) -> None:
    assert is_object(text)
    assert not is_object(text[:-1])
    assert not is_object(f"[{text}]")
    assert is_object(f"  {text} ")


def live(pieces: list[str]) -> list[Any]:
    validator = StreamingValidator(toolset(a={}), EVERY_RULE, Allowance())
    events = validator.feed([CallStart(0, "f", "call_1")])
    for piece in pieces:
        events += validator.feed([ArgsDelta(0, piece)])
    return [*events, *validator.feed([CallEnd(0, complete=True)])]


def test_arguments_that_begin_otherwise_wait_for_their_end() -> None:
    said = "".join(e.json for e in live(["[", '{"a"', ": 1}", "]"]) if isinstance(e, ArgsDelta))
    assert json.loads(said) in ({"a": 1}, [{"a": 1}])
    said = "".join(e.json for e in live([" ", "\n", '{"a"', ": 1}"]) if isinstance(e, ArgsDelta))
    assert json.loads(said) == {"a": 1}


def test_text_that_does_not_come_first_is_not_looked_for_for_long() -> None:
    reader = InputReader()
    assert reader.feed('{"other": "' + "x" * 2_000) == ""
    assert reader.feed('{"input": "y"}') == ""
    assert InputReader().feed('{"input": "y"}') == "y"


def claude(*content: str) -> list[Fragment]:
    """Decode a whole message with these blocks, for a client of the same API."""
    decoder = MessagesDecoder(max_line=8 << 20, streamed=False, own=True)
    blocks = ",".join(content)
    decoder.feed(f'{{"type":"message","content":[{blocks}],"stop_reason":"end_turn"}}'.encode())
    return decoder.finish()


def claude_stream(block: str, *pieces: str) -> list[Fragment]:
    """Decode a streamed block that only a client of the same API understands."""
    decoder = MessagesDecoder(max_line=8 << 20, own=True)
    start = f'{{"type":"content_block_start","index":0,"content_block":{block}}}'
    deltas = [
        json.dumps({"type": "content_block_delta", "index": 0, "delta": {"partial_json": piece}})
        for piece in pieces
    ]
    events = [start, *deltas, '{"type":"content_block_stop","index":0}']
    return [f for event in events for f in decoder.feed(f"data: {event}\n\n".encode())]


@pytest.mark.parametrize("odd", ["7", '"x"', "{}", "null", "true"])
def test_odd_fields_of_a_block_are_not_a_defect(odd: str) -> None:
    for field in ("citations", "signature"):
        assert claude(f'{{"type":"text","text":"x","{field}":{odd}}}')[0].text == "x"


def test_a_block_is_copied_and_its_input_is_an_object() -> None:
    block, written = '{"type":"server_tool_use","n":12345678901234567890123}', '{"q": [1, 2]}'
    (made,) = claude_stream(block, *written)
    assert json.loads(made.extras[0][1]) == {**json.loads(block), "input": {"q": [1, 2]}}
    for odd in ("[1]", "7", "{", "{}x"):
        (made,) = claude_stream(block, odd)
        assert json.loads(made.extras[0][1])["input"] == {}


def test_bytes_that_are_no_text_are_not_copied() -> None:
    decoder = MessagesDecoder(max_line=8 << 20, streamed=False, own=True)
    decoder.feed(b'{"type":"message","content":[{"type":"other","x":"\xff"}]}')
    with pytest.raises(UpstreamError, match="invalid"):
        decoder.finish()


def test_a_number_in_the_arguments_keeps_all_its_digits() -> None:
    number = "9" * 400
    made = claude(f'{{"type":"tool_use","id":"1","name":"f","input": {{"a" : {number}}}}}')
    assert made[0].calls[0].arguments == f'{{"a":{number}}}'


def whole_answer(numbers: str) -> list[Fragment]:
    """Decode a whole chat completion with a call whose arguments are these numbers."""
    decoder = AnswerDecoder(streamed=False, max_line=8 << 20)
    call = f'{{"function":{{"name":"f","arguments":{{"a":[{numbers}1]}}}}}}'
    decoder.feed(f'{{"choices":[{{"message":{{"tool_calls":[{call}]}}}}]}}'.encode())
    return decoder.finish()


MANY_KEYS = (
    '{"type":"tool_use","id":"1","name":"f","input":{'
    + ",".join(f'"k{n}":{n}' for n in range(500_000))
    + "}}"
)
FLOODS: dict[str, Callable[[], object]] = {
    "pieces of an array": lambda: live(["[", *["1,"] * 60_000, "1]"]),
    "one object after the other": lambda: is_object('{"a":[' + "{}," * 2_000_000 + "{}]}"),
    "long fractions": lambda: decode_any("[" + ",".join(["1" * 308 + ".5"] * 26_000) + "]"),
    "a refusal in pieces": lambda: joined_json(
        [b'"' + b"x" * (8 << 20) + b'"', *[b'"yy"'] * 2_000]
    ),
    "text behind another member": lambda: [
        reader.feed(piece)
        for reader in [InputReader()]
        for piece in ['{"other": "' + "x" * (8 << 20), *["yy"] * 500]
    ],
    "an own block": lambda: claude_stream('{"type":"other"}', '{"a":[' + "[]," * 1_800_000 + "1]}"),
    "many keys": lambda: claude(MANY_KEYS),
    "whole numbers": lambda: [
        as_text(call.arguments)
        for made in whole_answer(("9" * 4000 + ",") * 1500)
        for call in made.calls
    ],
    "line breaks": lambda: EVERY_RULE.as_json('{"a": "' + "\n" * 3_900_000 + '"}'),
}


@pytest.mark.timed
@pytest.mark.parametrize("flood", FLOODS)
def test_no_flood_takes_long(flood: str) -> None:
    def read() -> None:
        with contextlib.suppress(UpstreamError, msgspec.MsgspecError, TooCostly):
            FLOODS[flood]()

    assert below(WORST, read) < WORST
