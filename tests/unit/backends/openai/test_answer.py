"""The bytes of an answer, whatever form they have, as fragments."""

import json
import time
from typing import Any

import pytest

from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.openai.error_kinds import error_text
from toolwire.errors import UpstreamError
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage


def chunk(
    delta: Any = None, *, index: int = 0, finish: str | None = None, **more: Any
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta or {}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion.chunk", "choices": [{**choice, **more}]}


def message(finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "choices": [choice]}


def sse(*chunks: Any, done: bool = True) -> bytes:
    lines = [c if isinstance(c, bytes) else json.dumps(c).encode() for c in chunks]
    return b"".join(b"data: " + line + b"\n\n" for line in [*lines, *[b"[DONE]"] * done])


def decode(
    *blocks: bytes, streamed: bool = True, max_line: int = 10_000
) -> tuple[list[Fragment], bool]:
    decoder = AnswerDecoder(streamed=streamed, max_line=max_line)
    fragments = [fragment for block in blocks for fragment in decoder.feed(block)]
    fragments += decoder.finish()
    return fragments, decoder.done


def one(delta: Any) -> Fragment:
    """The fragment of one delta."""
    fragments, _ = decode(sse(chunk(delta)))
    return fragments[0]


def failure(*blocks: bytes, **more: Any) -> str:
    with pytest.raises(UpstreamError) as caught:
        decode(*blocks, **more)
    return caught.value.message


class TestForms:
    STREAM = sse(chunk({"content": "Hi"}), chunk(finish="stop"))
    BODY = json.dumps(message(content="Hi")).encode()
    PIECES = (chunk({"content": "H"}), chunk({"content": "i"}))

    @pytest.mark.parametrize("streamed", [True, False])
    @pytest.mark.parametrize("answer", [STREAM, BODY], ids=["stream", "body"])
    def test_what_comes_decides_and_not_what_was_announced(
        self, answer: bytes, streamed: bool
    ) -> None:
        fragments, done = decode(answer, streamed=streamed)
        assert "".join(fragment.text for fragment in fragments) == "Hi"
        assert fragments[-1].finish == "stop"
        assert done

    @pytest.mark.parametrize("answer", [STREAM, BODY], ids=["stream", "body"])
    def test_any_cut_of_the_bytes_gives_the_same(self, answer: bytes) -> None:
        whole = decode(answer)
        for cut in range(1, len(answer)):
            assert decode(answer[:cut], answer[cut:]) == whole

    def test_a_complete_message_behind_its_deltas_is_not_said_again(self) -> None:
        function = {"name": "f", "arguments": "{}"}
        last = message(content="Hi", reasoning="hm", tool_calls=[{"function": function}])
        fragments, _ = decode(sse(chunk({"reasoning": "hm"}), *self.PIECES, last))
        assert [f.text for f in fragments] == ["", "H", "i", ""]
        assert [f.reasoning for f in fragments] == ["hm", "", "", ""]
        assert fragments[-1].finish == "stop"
        assert fragments[-1].calls == (CallFragment(0, None, "f", "{}"),)

    def test_pieces_that_are_messages_are_all_said(self) -> None:
        parts = [chunk({"role": "assistant"}), message(None, content="H"), message(content="i")]
        assert [f.text for f in decode(sse(*parts))[0]] == ["", "H", "i"]

    def test_a_message_of_another_choice_is_said(self) -> None:
        other = message(content="Hi")
        other["choices"][0]["index"] = 1
        assert [f.text for f in decode(sse(*self.PIECES, other))[0]] == ["H", "i", "Hi"]

    def test_a_stream_without_done_is_not_done(self) -> None:
        assert decode(sse(chunk(finish="stop"), done=False)) == ([Fragment(finish="stop")], False)

    def test_nothing_counts_after_done(self) -> None:
        fragments, done = decode(self.STREAM + sse(chunk({"content": "more"})))
        assert ("more" in str(fragments), done) == (False, True)

    def test_done_may_have_space_around_it(self) -> None:
        assert decode(b"data:  [DONE] \n\n") == ([], True)


class TestText:
    def test_content_is_text(self) -> None:
        assert one({"role": "assistant", "content": "Hi"}) == Fragment(text="Hi")

    @pytest.mark.parametrize("empty", [None, "", []])
    def test_no_content_is_no_text(self, empty: Any) -> None:
        assert one({"content": empty}) == Fragment()

    def test_content_may_come_in_parts_with_the_thinking_among_them(self) -> None:
        parts = [
            {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"text": "m"}]},
            {"type": "text", "text": "H"},
            {"type": "thinking", "thinking": "."},
            {"type": "reference", "ids": [1]},
            {"type": "text", "text": "i"},
            "odd",
        ]
        assert one({"content": parts}) == Fragment(text="Hi", reasoning="hm.")

    @pytest.mark.parametrize(
        "part",
        [
            {"type": "reasoning", "text": "hm"},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
            {"type": "thinking", "text": "hm"},
        ],
    )
    def test_parts_that_are_reasoning_are_no_text(self, part: dict[str, Any]) -> None:
        parts = [part, {"type": "text", "text": "Hi"}]
        assert one({"content": parts}) == Fragment(text="Hi", reasoning="hm")

    def test_the_details_of_reasoning_count_if_there_is_nothing_else(self) -> None:
        details = [
            {"type": "reasoning.text", "text": "h"}, {"type": "reasoning.summary", "summary": "m"},
            {"type": "reasoning.encrypted", "data": "x"}, "odd",
        ]  # fmt: skip
        assert one({"reasoning_details": details}) == Fragment(reasoning="hm")
        assert one({"reasoning": "so", "reasoning_details": details}) == Fragment(reasoning="so")

    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
    def test_reasoning_has_three_names(self, name: str) -> None:
        assert one({name: "hm"}) == Fragment(reasoning="hm")

    def test_reasoning_under_both_names_is_told_once(self) -> None:
        assert one({"reasoning_content": "hm", "reasoning": "hm"}) == Fragment(reasoning="hm")

    def test_other_fields_are_passed_on(self) -> None:
        made = one({"refusal": "no", "annotations": [{"a": 1}], "audio": {"id": "x"}})
        assert made.extras == (
            ("refusal", b'"no"'), ("annotations", b'[{"a":1}]'), ("audio", b'{"id":"x"}'),
        )  # fmt: skip

    def test_fields_that_are_null_are_not(self) -> None:
        assert one({"content": "x", "refusal": None, "annotations": []}).extras == ()

    def test_logprobs_go_with_their_text(self) -> None:
        fragments, _ = decode(sse(chunk({"content": "x"}, logprobs={"content": [{"a": 1}]})))
        assert fragments[0].logprobs == b'{"content":[{"a":1}]}'

    def test_each_choice_has_its_own_fragment(self) -> None:
        both = {
            "choices": [
                chunk({"content": c}, index=i)["choices"][0] for i, c in ((0, "a"), (1, "b"))
            ]
        }
        assert decode(sse(both))[0] == [Fragment(0, "a"), Fragment(1, "b")]

    def test_an_empty_finish_reason_is_none(self) -> None:
        assert decode(sse(chunk({"content": "x"}, finish="")))[0][0].finish is None


class TestCalls:
    def calls(self, *given: Any) -> tuple[CallFragment, ...]:
        return one({"tool_calls": list(given)}).calls

    def test_a_delta_is_taken_as_it_is(self) -> None:
        function = {"name": "f", "arguments": "{"}
        assert self.calls({"index": 2, "id": "a", "type": "function", "function": function}) == (
            CallFragment(2, "a", "f", "{"),
        )

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, CallFragment()),
            ({"index": None, "id": None, "function": None}, CallFragment()),
            ({"index": "3", "id": "a"}, CallFragment(3, "a")),
            ({"index": "x", "id": "a"}, CallFragment(None, "a")),
            ({"index": "9" * 5_000}, CallFragment(None)),
            ({"function": {"name": None, "arguments": None}}, CallFragment()),
            ({"function": {"arguments": {"a": 1}}}, CallFragment(arguments={"a": 1})),
            ({"id": "a", "name": "f", "arguments": "{}"}, CallFragment(None, "a", "f", "{}")),
            ({"name": "f", "parameters": {"a": 1}}, CallFragment(None, None, "f", {"a": 1})),
            (
                {"function": {"name": "f", "parameters": {"a": 1}}},
                CallFragment(None, None, "f", {"a": 1}),
            ),
            (
                {"function": {"name": "f", "arguments": "{}", "parameters": {"a": 1}}},
                CallFragment(None, None, "f", "{}"),
            ),
            ({"name": "f", "function": {"arguments": ""}}, CallFragment(None, None, "f", "")),
            ({"custom": {"name": "sh", "input": "ls"}}, CallFragment(None, None, "sh", "ls", True)),
        ],
    )
    def test_whatever_is_missing_or_odd_is_left_to_others(
        self, given: Any, expected: CallFragment
    ) -> None:
        assert self.calls(given) == (expected,)

    def test_the_form_of_before_2023_is_a_call(self) -> None:
        made = one({"function_call": {"name": "f", "arguments": "{}"}})
        assert made.calls == (CallFragment(0, None, "f", "{}"),)

    def test_every_entry_of_a_whole_message_is_a_call_of_its_own(self) -> None:
        twin = {"id": "same", "index": 0, "function": {"name": "f", "arguments": "{}"}}
        body = json.dumps(message(tool_calls=[twin, twin])).encode()
        fragments, _ = decode(body, streamed=False)
        assert [piece.index for piece in fragments[0].calls] == [0, 1]


class TestUsage:
    def usage(self, **given: Any) -> list[Fragment]:
        return decode(sse({"choices": [], "usage": given}))[0]

    def test_it_may_come_alone(self) -> None:
        assert self.usage(prompt_tokens=3, completion_tokens=4) == [
            Fragment(usage=TokenUsage(3, 4))
        ]

    def test_it_may_come_with_text(self) -> None:
        both = {**chunk({"content": "x"}), "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
        assert decode(sse(both))[0] == [Fragment(text="x"), Fragment(usage=TokenUsage(3, 4))]

    @pytest.mark.parametrize("given", [{}, {"prompt_tokens": 3}, {"completion_tokens": None}])
    def test_half_of_it_is_none(self, given: dict[str, Any]) -> None:
        assert self.usage(**given) == []

    def test_its_details_are_kept(self) -> None:
        made = self.usage(
            prompt_tokens=3,
            completion_tokens=4,
            total_tokens=99,
            prompt_tokens_details={"cached_tokens": 2, "audio_tokens": None},
            completion_tokens_details=None,
        )
        assert made == [Fragment(usage=TokenUsage(3, 4, {"cached_tokens": 2}))]

    def test_null_on_every_chunk_is_nothing(self) -> None:
        assert decode(sse({**chunk({"content": "x"}), "usage": None}))[0] == [Fragment(text="x")]


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "words"),
        [
            ({"message": "Boom.", "code": 500}, "Boom."),
            ({"detail": "Boom."}, "Boom."),
            ("Boom.", "Boom."),
            (["Boom."], "['Boom.']"),
            ({"code": 500}, "The backend reported an error."),
        ],
    )
    def test_an_error_in_the_stream_or_the_body_is_told(self, error: Any, words: str) -> None:
        said = {"error": error}
        assert failure(sse(chunk({"content": "x"}), said)) == words
        assert failure(json.dumps(said).encode(), streamed=False) == words

    @pytest.mark.parametrize(
        ("error", "status", "code", "retryable"),
        [
            ({"message": "Slow down.", "code": 429}, 429, "rate_limit_exceeded", True),
            ({"message": "Slow down.", "code": "429"}, 429, "rate_limit_exceeded", True),
            ({"message": "No.", "code": "limit_requests"}, 429, "rate_limit_exceeded", True),
            ({"message": "No.", "type": "engine_overloaded_error"}, 429, None, True),
            ("Model is overloaded", 429, "rate_limit_exceeded", True),
            ("Resource has been exhausted (e.g. check quota).", 429, "rate_limit_exceeded", True),
            ({"message": "No provider.", "code": 503}, 503, "upstream_error", True),
            ({"message": "Bad top_k.", "code": 400, "type": "BadRequestError"}, 400, None, False),
            ({"message": "Boom.", "code": 500}, 502, "upstream_error", True),
            ({"message": "Boom.", "code": [429]}, 502, "upstream_error", True),
        ],
    )
    def test_its_code_may_be_a_status(
        self, error: Any, status: int, code: str | None, retryable: bool
    ) -> None:
        with pytest.raises(UpstreamError) as raised:
            decode(sse({"error": error}))
        assert raised.value.status == status
        assert raised.value.retryable is retryable
        assert code is None or raised.value.code == code

    def test_so_is_an_error_without_anything_around_it(self) -> None:
        said = {"object": "error", "message": "Boom.", "type": "BadRequestError", "code": 400}
        assert failure(sse(said)) == "Boom."
        assert failure(json.dumps(said).encode(), streamed=False) == "Boom."

    def test_so_is_an_error_of_a_choice(self) -> None:
        said = {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "Boom."}}
        assert failure(sse({"choices": [{**said, "delta": {"content": ""}}]})) == "Boom."
        assert failure(json.dumps({"choices": [said]}).encode(), streamed=False) == "Boom."

    @pytest.mark.parametrize("data", [b'{"message": "Boom."}', b'{"error": "Boom."}', b"Boom."])
    def test_an_event_of_type_error_is_one_whatever_it_holds(self, data: bytes) -> None:
        assert failure(b"event: error\ndata: " + data + b"\n\n") == "Boom."

    def test_so_is_a_field_that_is_called_error(self) -> None:
        """llama.cpp writes it after a part of an answer, and then [DONE]."""
        said = {"code": 500, "message": "Boom.", "type": "server_error"}
        line = b"error: " + json.dumps(said).encode() + b"\n\n"
        begun = sse(chunk({"content": "Hello"}), done=False)
        assert failure(begun + line + b"data: [DONE]\n\n") == "Boom."
        assert failure(line) == "Boom."
        assert failure(line, streamed=False) == "Boom."

    @pytest.mark.parametrize("nothing", [None, {}, ""])
    def test_an_error_that_is_none_is_none(self, nothing: Any) -> None:
        assert decode(sse({**chunk({"content": "x"}), "error": nothing}))[0] == [Fragment(text="x")]

    @pytest.mark.parametrize(
        "body",
        [b"", b"  \n", b"<html>", b'{"choices":', b'{"choices":"x"}', b'{"a":"\xff"', b"[1]"],
    )
    def test_a_body_that_is_none_is_the_backends_failure(self, body: bytes) -> None:
        assert "The backend" in failure(body, streamed=False)

    def test_so_is_one_that_is_not_utf8_or_too_deep(self) -> None:
        odd = json.dumps(message(content="@")).encode()
        assert "The backend's answer" in failure(odd.replace(b"@", b"\xff"), streamed=False)
        deep = odd.replace(b'"@"', b"[" * 90_000 + b"]" * 90_000)
        assert "The backend's answer" in failure(deep, streamed=False, max_line=1 << 20)

    def test_a_body_that_is_too_large_is_given_up_early(self) -> None:
        decoder = AnswerDecoder(streamed=False, max_line=100)
        decoder.feed(b"{" + b" " * 90)
        with pytest.raises(UpstreamError, match="larger than the limit"):
            decoder.feed(b" " * 20)

    @pytest.mark.parametrize("item", [b"0", b"[]", b"{}", b"1e308", b'""'])
    @pytest.mark.parametrize("streamed", [False, True])
    def test_one_with_too_many_values_is_not_decoded(self, item: bytes, streamed: bool) -> None:
        many = b"[" + b",".join([item] * 700_000) + b"]"
        body = b'{"choices":[{"index":0,"message":{"content":"x"},"logprobs":%b}]}' % many
        body = b"data: " + body + b"\n\n" if streamed else body
        began = time.process_time()
        assert "600000 values" in failure(body, streamed=streamed, max_line=8 << 20)
        assert time.process_time() - began < 0.25

    @pytest.mark.parametrize(
        "line",
        [b"oops", b'{"choices":', b'{"choices": 5}', b'"\xff"', b'{"choices":[{"index":"x"}]}'],
    )
    def test_a_line_that_is_no_chunk_is_a_gap(self, line: bytes) -> None:
        fragments, done = decode(sse(chunk({"content": "a"}), line, chunk({"content": "b"})))
        assert fragments == [Fragment(text="a"), Fragment(gap=True), Fragment(text="b")]
        assert done

    def test_a_gap_may_have_been_in_any_choice(self) -> None:
        stream = sse(chunk({"content": "a"}, index=1), chunk({"content": "b"}, index=0), b"oops")
        assert decode(stream)[0][2:] == [Fragment(0, gap=True), Fragment(1, gap=True)]

    def test_too_many_gaps_are_a_failure(self) -> None:
        assert "broken" in failure(sse(*[b"oops"] * 17))

    def test_what_the_backend_says_is_masked(self) -> None:
        def masked(text: str, limit: int) -> str:
            return text.replace("sk-1", "***")[:limit]

        decoder = AnswerDecoder(streamed=True, max_line=999, redact=masked)
        with pytest.raises(UpstreamError, match=r"^Bad key \*\*\*$"):
            decoder.feed(sse({"error": "Bad key sk-1"}))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("x", "x"),
        ({"message": "x"}, "x"),
        ({"detail": "x"}, "x"),
        ({}, ""),
        (5, "5"),
        (None, "None"),
    ],
)
def test_the_words_of_an_error_are_found(error: Any, words: str) -> None:
    assert error_text(error) == words


class TestWidth:
    CALL = {"function": {"name": "f", "arguments": "{}"}}  # noqa: RUF012 - read only

    def whole(self, calls: int, choices: int = 1) -> bytes:
        one = message("tool_calls", tool_calls=[self.CALL] * calls)["choices"][0]
        return json.dumps({"choices": [{**one, "index": n} for n in range(choices)]}).encode()

    @pytest.mark.parametrize(("calls", "choices"), [(1024, 1), (8, 128)])
    def test_an_answer_may_have_many_parts(self, calls: int, choices: int) -> None:
        fragments, _ = decode(self.whole(calls, choices), max_line=1 << 20)
        assert sum(len(fragment.calls) for fragment in fragments) == 1024

    @pytest.mark.parametrize(
        ("calls", "choices", "what"),
        [(1025, 1, "1024 tool calls"), (9, 128, "1024 tool calls"), (1, 129, "128 choices")],
    )
    def test_but_not_too_many(self, calls: int, choices: int, what: str) -> None:
        text = failure(self.whole(calls, choices), max_line=1 << 20)
        assert text == f"The backend's answer has more than {what}."


ODD_TOP: list[dict[str, Any]] = [
    {"usage": ""}, {"usage": []}, {"usage": False}, {"usage": 0}, {"usage": "n/a"},
    {"usage": {"prompt_tokens": "x", "completion_tokens": 1}},
    {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": []}},
    {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "completion_tokens_details": "x"}},
    {"error": ""}, {"error": []}, {"error": False},
]  # fmt: skip
ODD_CHOICE: list[dict[str, Any]] = [
    {"index": None}, {"index": "0"}, {"index": ""}, {"index": 0.0}, {"index": False},
    {"logprobs": []}, {"logprobs": ""}, {"logprobs": False}, {"logprobs": "none"},
    {"finish_reason": False}, {"finish_reason": 0}, {"finish_reason": {}},
    {"message": ""}, {"message": []}, {"text": False},
]  # fmt: skip
ODD_DELTA: list[dict[str, Any]] = [
    {"refusal": False}, {"refusal": {}}, {"refusal": 5}, {"annotations": {}},
    {"annotations": "x"}, {"audio": []}, {"audio": "x"}, {"tool_calls": {}}, {"tool_calls": ""},
    {"tool_calls": False}, {"function_call": ""}, {"function_call": []},
    {"reasoning_content": False}, {"reasoning_content": []}, {"reasoning": {}}, {"reasoning": 0},
    {"reasoning": {"effort": "low"}}, {"reasoning": True}, {"reasoning_content": ["hm"]},
    {"thinking": True}, {"thinking": {"type": "enabled"}},
]  # fmt: skip
ODD_CALL: list[dict[str, Any]] = [
    {"index": 0.0}, {"index": []}, {"index": {}}, {"index": False}, {"type": 1}, {"type": []},
    {"id": 7}, {"id": False}, {"custom": ""}, {"custom": []},
]  # fmt: skip


class TestOddSideFields:
    """What is no part of the answer has any type, and costs nothing of the answer."""

    @pytest.mark.parametrize("odd", ODD_TOP, ids=str)
    def test_beside_the_choices(self, odd: dict[str, Any]) -> None:
        fragments, _ = decode(sse({**chunk({"content": "Hi"}), **odd}))
        assert fragments[0] == Fragment(0, "Hi")
        assert not any(fragment.gap for fragment in fragments)

    @pytest.mark.parametrize("odd", ODD_CHOICE, ids=str)
    def test_in_a_choice(self, odd: dict[str, Any]) -> None:
        assert decode(sse(chunk({"content": "Hi"}, **odd)))[0] == [Fragment(0, "Hi")]

    @pytest.mark.parametrize("odd", ODD_DELTA, ids=str)
    def test_in_a_delta(self, odd: dict[str, Any]) -> None:
        fragment = one({"content": "Hi", **odd})
        assert (fragment.text, fragment.calls, fragment.gap) == ("Hi", (), False)

    @pytest.mark.parametrize("odd", ODD_CALL, ids=str)
    def test_in_a_call(self, odd: dict[str, Any]) -> None:
        call = {"index": 0, "function": {"name": "f", "arguments": "{}"}, **odd}
        (found,) = one({"tool_calls": [call]}).calls
        assert (found.name, found.arguments) == ("f", "{}")

    @pytest.mark.parametrize("odd", ODD_TOP, ids=str)
    def test_in_a_whole_answer(self, odd: dict[str, Any]) -> None:
        body = json.dumps({**message(content="Hi"), **odd}).encode()
        assert decode(body)[0][0].text == "Hi"

    @pytest.mark.parametrize(
        "odd",
        [
            {"content": 5},
            {"content": {"a": 1}},
            {"tool_calls": "f()"},
            {"tool_calls": [5]},
            {"tool_calls": [{"function": "f"}]},
            {"tool_calls": [{"function": {"name": ["f"]}}]},
        ],
        ids=str,
    )
    def test_a_part_of_the_answer_that_cannot_be_read_is_a_gap(self, odd: dict[str, Any]) -> None:
        assert one(odd).gap
