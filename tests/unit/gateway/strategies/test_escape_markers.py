"""What is said in a prompt that is written out cannot start a turn, whoever says it."""

from toolwire.gateway.strategies.escape_markers import escaped
from toolwire.protocol.content import ImagePart, TextPart
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

MARKS = ("<end>",)
SAFE = "a \\u003cend> b"


def test_nothing_is_touched_where_there_are_no_marks() -> None:
    messages = [ChatMessage("user", "<end>")]
    assert escaped(messages, ()) is messages


def test_every_role_is_escaped() -> None:
    roles = ("system", "developer", "user", "assistant", "tool")
    said = escaped([ChatMessage(role, "a <end> b", reasoning="<end>") for role in roles], MARKS)
    assert [message.content for message in said] == [SAFE] * len(roles)
    assert {message.reasoning for message in said} == {"\\u003cend>"}


def test_texts_among_parts_are_escaped_and_other_parts_stay() -> None:
    image = ImagePart("<end>")
    (message,) = escaped([ChatMessage("user", (TextPart("a <end> b"), image))], MARKS)
    assert message.content == (TextPart(SAFE), image)


def test_calls_and_empty_contents_are_left_to_whoever_writes_them() -> None:
    calls = (AssistantCall("c", "f", '{"a": "<end>"}'),)
    (message,) = escaped([ChatMessage("assistant", None, calls)], MARKS)
    assert message == ChatMessage("assistant", None, calls)
