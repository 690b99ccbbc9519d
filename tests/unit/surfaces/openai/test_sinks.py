"""When things go out: the head with the first chunk, keepalives in silence, one write per read."""

from typing import Any
from weakref import ref

from tests.contract.chatting import Client
from tests.contract.wire import body, read

from toolwire.errors import UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import CallEnd, CallStart, TextDelta, TurnEnd
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.exchange import HttpRequest, header_list
from toolwire.surfaces.openai.chunks import CompletionHead
from toolwire.surfaces.openai.sinks import ChatStreamSink, ChatWholeSink

HEAD = CompletionHead("chatcmpl-1", 5, "m")


class Watched(Client):
    """A client that counts writes."""

    writes = 0

    def write(self, data: bytes) -> None:
        super().write(data)
        self.writes += 1


def sink(kind: Any = ChatStreamSink, **fields: Any) -> tuple[Any, Watched]:
    client = Watched(HttpRequest())
    made = kind(client, RequestContext("req_1"), read(body(**fields)), HEAD)
    made.begin(Begun("backend", "native"))
    return made, client


def test_nothing_is_sent_before_there_is_something_to_say() -> None:
    made, client = sink()
    made.flush()
    assert not client.started
    assert not made.committed


def test_what_one_read_gave_goes_out_in_one_write() -> None:
    made, client = sink()
    made.send(0, [TextDelta("a"), TextDelta("b")])
    made.send(1, [TextDelta("c")])
    assert client.writes == 0
    made.flush()
    assert client.writes == 1
    assert made.committed


def test_a_keepalive_is_a_comment_that_begins_the_stream() -> None:
    made, client = sink()
    made.keepalive()
    made.keepalive()
    assert client.written == b": keepalive\n\n: keepalive\n\n"
    assert client.status == 200
    assert not made.committed, "the client has seen nothing that could not be said again"


def test_an_error_after_a_keepalive_is_an_event() -> None:
    made, client = sink()
    made.keepalive()
    made.fail(UpstreamError("x"))
    assert client.written.startswith(b': keepalive\n\ndata: {"error":')
    assert client.ended


def test_what_was_said_before_an_error_goes_out_before_it() -> None:
    made, client = sink()
    made.send(0, [TextDelta("a")])
    made.fail(UpstreamError("x"))
    assert client.written.index(b'"content":"a"') < client.written.index(b'"error"')


def test_an_error_before_anything_is_a_response_of_its_own() -> None:
    made, client = sink()
    made.fail(UpstreamError("x"))
    assert (client.status, client.ended, client.aborted) == (502, True, False)


def test_the_end_is_one_write() -> None:
    made, client = sink(stream=True, stream_options={"include_usage": True})
    made.send(0, [TextDelta("a")])
    made.flush()
    made.send(0, [TurnEnd("stop")])
    made.done(Report(usage=TokenUsage(1, 2)))
    assert client.writes == 2
    assert client.written.endswith(b"data: [DONE]\n\n")


def test_a_whole_answer_forgets_an_attempt_that_failed() -> None:
    made, client = sink(ChatWholeSink)
    made.send(0, [TextDelta("first"), CallStart(0, "f", "call_1")])
    made.begin(Begun("backend", "native"))
    made.send(0, [TextDelta("second"), TurnEnd("stop")])
    made.done(Report(usage=TokenUsage(1, 2)))
    assert client.json["choices"][0]["message"]["content"] == "second"
    assert "tool_calls" not in client.json["choices"][0]["message"]


def test_a_whole_answer_has_no_keepalives() -> None:
    made, client = sink(ChatWholeSink)
    made.keepalive()
    made.flush()
    assert not client.started


def test_the_estimate_is_the_same_streamed_or_not() -> None:
    estimates = []
    for kind in (ChatStreamSink, ChatWholeSink):
        made, _ = sink(kind)
        made.send(
            0, [TextDelta("a" * 100), CallStart(0, "f", "call_1"), CallEnd(0), TurnEnd("stop")]
        )
        estimates.append(made.done(Report()))
    assert estimates[0] == estimates[1]


def test_headers_say_who_answered_and_what_was_done() -> None:
    made, client = sink(ChatWholeSink, frobnicate=1)
    made.send(0, [TextDelta("a"), TurnEnd("stop")])
    made.done(Report(repairs={"b:x", "a"}))
    assert client.headers["toolwire-backend"] == "backend"
    assert client.headers["toolwire-request-id"] == client.headers["x-request-id"] == "req_1"
    assert client.headers["toolwire-repairs"] == "a, b:x"


class TestHeaderList:
    def test_plain_names_stay_as_they_are(self) -> None:
        assert header_list(["top_k", "a.b", "dangling_ref:f:#/$defs/X"]) == (
            "top_k, a.b, dangling_ref:f:#/$defs/X"
        )

    def test_nothing_breaks_out(self) -> None:
        assert header_list(["a\r\nb: c", "é", "x,y"]) == "a%0D%0Ab: c, %C3%A9, x%2Cy"

    def test_long_names_and_long_lists_are_cut(self) -> None:
        assert header_list(["x" * 500]) == "x" * 80
        assert header_list([str(number) for number in range(40)]).endswith("31, +8 more")

    def test_a_long_name_is_not_remembered(self) -> None:
        class Name(str):
            """One that can be watched."""

        name = Name("y" * 1_000_000)
        watched = ref(name)
        header_list([name])
        del name
        assert watched() is None
