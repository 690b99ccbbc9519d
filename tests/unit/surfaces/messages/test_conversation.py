"""Messages as clients send them, and what a backend is sent for them."""

from typing import Any

import pytest
from tests.contract.messaging import asked, ignored

from toolwire.errors import RequestError
from toolwire.protocol.content import FilePart, ImagePart, TextPart
from toolwire.surfaces.messages.thinking import signature

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
IMAGE = ImagePart("data:image/png;base64,QUJD")
ASK = {"role": "user", "content": "Read both."}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(call_id: str, name: str = "read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def read(*messages: dict[str, Any], **fields: Any) -> list[tuple[str, Any]]:
    """Role and content of each message."""
    request = asked(messages=list(messages), **fields).request
    return [(message.role, message.content) for message in request.messages]


def calls(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [use(call_id) for call_id in ids]}


def said(*blocks: dict[str, Any], role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def test_texts_are_joined_with_a_blank_line() -> None:
    assert read(said(text("One."), text("Two."))) == [("user", "One.\n\nTwo.")]


def test_a_system_prompt_of_blocks_is_one_text() -> None:
    prompt = [{**text("Be brief."), "cache_control": {"type": "ephemeral"}}, text("Be kind.")]
    assert read(ASK, system=prompt)[0] == ("system", "Be brief.\n\nBe kind.")


@pytest.mark.parametrize("place", ["system", "message"])
def test_the_billing_line_is_left_out(place: str) -> None:
    billing = text("x-anthropic-billing-header: cc_version=2.1; cch=abc;")
    late = {"role": "system", "content": [billing, text("Late.")]}
    system = [billing, text("Be brief.")] if place == "system" else "Be brief."
    assert "billing" not in str(read(ASK, late, system=system))


@pytest.mark.parametrize("form", [str, lambda line: [text(line)]])
def test_what_follows_the_billing_line_is_kept(form: Any) -> None:
    prompt = form("x-anthropic-billing-header: cc_version=2.1; cch=abc;\n\nBe brief.")
    assert read(ASK, system=prompt)[0] == ("system", "Be brief.")


def test_a_system_message_before_the_first_answer_joins_the_prompt() -> None:
    early = {"role": "system", "content": "The date is today."}
    assert read(ASK, early, system="Be brief.") == [
        ("system", "Be brief.\n\nThe date is today."),
        ("user", "Read both."),
    ]


def test_a_later_system_message_is_said_after_the_results_of_its_turn() -> None:
    late = {"role": "system", "content": "12 tokens left."}
    made = read(ASK, calls("a"), late, said(result("a")), said(text("Go on.")))
    reminder = "<system-reminder>\n12 tokens left.\n</system-reminder>"
    assert [role for role, _ in made] == ["user", "assistant", "tool", "user"]
    assert made[-1][1] == f"{reminder}\n\nGo on."


def test_what_was_sent_once_is_sent_the_same_way_in_every_later_turn() -> None:
    first = [ASK, {"role": "system", "content": "Environment."}]
    second = [*first, calls("a"), said(result("a")), {"role": "system", "content": "9 left."}]
    third = [*second, calls("b"), said(result("b"), text("Go on."))]
    one, two, three = (read(*turn, system="Be brief.") for turn in (first, second, third))
    assert two[: len(one)] == one
    assert three[: len(two)] == two


def test_results_come_in_the_order_of_the_calls_and_before_any_text() -> None:
    answers = said(text("Here:"), result("c", "3"), result("a", "1"), result("b", "2"))
    made = read(ASK, calls("a", "b", "c"), answers)
    assert made[2:] == [("tool", "1"), ("tool", "2"), ("tool", "3"), ("user", "Here:")]


def test_results_are_found_in_all_messages_of_the_users_turn() -> None:
    made = read(ASK, calls("a", "b"), said(result("b", "2")), said(result("a", "1")))
    assert made[2:] == [("tool", "1"), ("tool", "2")]


@pytest.mark.parametrize("content", ["", [], None, [text("")]])
def test_an_empty_result_is_a_result(content: Any) -> None:
    assert read(ASK, calls("a"), said(result("a", content)))[-1] == ("tool", "(no output)")


def test_a_failed_result_is_marked_for_whoever_writes_it() -> None:
    request = asked(messages=[ASK, calls("a"), said(result("a", "gone", is_error=True))]).request
    assert (request.messages[-1].content, request.messages[-1].is_error) == ("gone", True)


def test_a_failed_result_that_nobody_asked_for_says_so() -> None:
    made = read(ASK, said(result("x", "gone", is_error=True)))
    assert made == [("user", "Read both.\n\n(result of an earlier call: Error: gone)")]


def test_images_of_results_follow_all_results_in_the_order_of_the_calls() -> None:
    answers = said(result("b", [PNG]), text("See."), result("a", [text("A page."), PNG]))
    made = read(ASK, calls("a", "b"), answers)
    below = "(an image, shown below)"
    assert made[2:4] == [("tool", f"A page.\n\n{below}"), ("tool", below)]
    label = TextPart("(image of the result of read:)")
    assert made[4] == ("user", (label, IMAGE, label, IMAGE, TextPart("See.")))


def test_documents_and_search_results_are_text_of_a_result() -> None:
    document = {"type": "document", "title": "T", "source": {"type": "text", "data": "Body"}}
    found = {"type": "search_result", "title": "S", "source": "u", "content": [text("Hit")]}
    made = read(ASK, calls("a"), said(result("a", [document, found])))
    assert made[-1] == ("tool", "T\nBody\n\nS\nu\nHit")


PDF = {
    "type": "document",
    "title": "plan.pdf",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
}
FILE = FilePart("data:application/pdf;base64,QUJD", "plan.pdf")


def test_a_pdf_is_a_file() -> None:
    assert read(said(text("Look."), PDF)) == [("user", (TextPart("Look."), FILE))]


def test_what_is_said_about_a_pdf_stands_before_it() -> None:
    made = read(said({**PDF, "context": "From the archive."}))
    assert made == [("user", (TextPart("From the archive."), FILE))]


def test_images_within_a_document_are_shown() -> None:
    source = {"type": "content", "content": [text("Before"), PNG, text("After")]}
    made = read(said({"type": "document", "title": "T", "source": source}))
    assert made == [("user", (TextPart("T\nBefore"), IMAGE, TextPart("After")))]


def test_a_pdf_of_a_result_follows_all_results() -> None:
    made = read(ASK, calls("a"), said(result("a", [PDF])))
    assert made[2] == ("tool", "(a document, shown below)")
    assert made[3] == ("user", (TextPart("(document of the result of read:)"), FILE))


def test_a_pdf_that_is_not_in_the_request_is_named_and_reported() -> None:
    made = asked(messages=[said({**PDF, "source": {"type": "url", "url": "http://x/y.pdf"}})])
    assert made.request.messages[0].content == "(PDF plan.pdf, not shown)"
    assert ignored(made) == ("messages.0.content.0:document",)


def test_references_say_which_tools_are_available_now() -> None:
    references = [{"type": "tool_reference", "tool_name": name} for name in ("A", "B")]
    made = read(ASK, calls("a"), said(result("a", references)))
    assert made[-1] == ("tool", "Now available: A, B.")


def test_a_result_that_nobody_asked_for_is_text_and_reported() -> None:
    request = asked(messages=[ASK, calls("a"), said(result("x", "lost"), result("a"))]).request
    assert request.messages[-1].content == "(result of an earlier call: lost)"
    assert request.repairs == ("orphan_result:x",)


def test_thinking_is_the_reasoning_of_its_message() -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": signature("Hm.")}
    foreign = {"type": "thinking", "thinking": "Well.", "signature": "abc"}
    answer = said(block, foreign, text("Yes."), role="assistant")
    request = asked(messages=[ASK, answer, ASK]).request
    assert request.messages[1].reasoning == "Hm.\nWell."
    assert request.messages[1].content == "Yes."


def test_thinking_of_ours_that_was_changed_is_left_out_and_reported() -> None:
    block = {"type": "thinking", "thinking": "Ha!", "signature": signature("Hm.")}
    request = asked(messages=[ASK, said(block, text("Yes."), role="assistant"), ASK]).request
    assert request.messages[1].reasoning is None
    assert request.repairs == ("changed_thinking:messages.1.content.0",)


def test_redacted_thinking_is_left_out() -> None:
    block = {"type": "redacted_thinking", "data": "x"}
    assert read(ASK, said(block, text("Yes."), role="assistant"), ASK)[1] == ("assistant", "Yes.")


def test_a_call_is_compact_json_under_a_name_that_backends_take() -> None:
    name = "mcp__" + "x" * 80
    answer = said(use("a", name, path="é", n=1), role="assistant")
    (call,) = asked(messages=[ASK, answer, said(result("a"))]).request.messages[1].calls
    assert call.arguments == '{"path":"é","n":1}'
    assert len(call.name) == 64


def test_two_answers_in_a_row_are_one() -> None:
    made = asked(
        messages=[ASK, said(text("One."), role="assistant"), calls("a"), said(result("a"))]
    )
    answer = made.request.messages[1]
    assert (answer.content, len(answer.calls)) == ("One.", 1)


def test_a_call_that_a_server_made_is_a_line_of_text() -> None:
    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    made = asked(messages=[ASK, said(searched, role="assistant"), ASK])
    assert made.request.messages[1].content == "[server_tool_use: web_search q]"
    assert made.request.messages[1].calls == ()
    assert ignored(made) == ("messages.1.content.0:server_tool_use",)


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        (
            "tool_search_tool_result",
            {"tool_references": [{"type": "tool_reference", "tool_name": "later"}]},
            "later",
        ),
        ("bash_code_execution_tool_result", {"stdout": "out", "stderr": "warned"}, "out warned"),
        ("web_fetch_tool_result", {"error_code": "url_not_allowed"}, "url_not_allowed"),
    ],
)
def test_so_is_what_a_server_found(kind: str, content: Any, words: str) -> None:
    found = {"type": kind, "tool_use_id": "s", "content": content}
    made = asked(messages=[ASK, said(found, role="assistant"), ASK])
    assert made.request.messages[1].content == f"[{kind}: {words}]"


def test_each_message_knows_where_it_comes_from() -> None:
    made = asked(messages=[ASK, calls("a"), said(result("a"), text("Go on."))], system="Be brief.")
    assert made.origins == (0, 0, 1, 2, 2)


@pytest.mark.parametrize(
    ("messages", "where"),
    [
        ([{"role": "user", "content": [{"type": "text"}]}], "messages.0.content.0.text: "),
        ([{"role": "user", "content": [1]}], "messages.0.content.0: "),
        ([{"role": "user", "content": 7}], "messages.0.content: "),
        ([{"role": "robot", "content": "x"}], "messages.0.role: "),
        (
            [ASK, said({"type": "tool_use", "name": "x"}, role="assistant"), ASK],
            "messages.1.content.0.id: ",
        ),
        ([ASK, said({"type": "tool_result"})], "messages.1.content.0.tool_use_id: "),
        (
            [said({**PNG, "source": {"type": "file", "file_id": "f"}})],
            "messages.0.content.0.source: ",
        ),
        ([ASK, said(text("Sure: {"), role="assistant")], "messages.1: This model does not support"),
        ([], "messages: "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(messages: list[Any], where: str) -> None:
    with pytest.raises(RequestError) as refused:
        asked(messages=messages)
    assert refused.value.message.startswith(where)
