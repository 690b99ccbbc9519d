"""What only clients of the same API understand is copied as it is."""

import json

from toolwire.backends.anthropic.own_answer import OwnParts, whole_parts

BLOCK = {"type": "web_search_tool_result", "content": [{"url": "x", "n": 12345678901234567890123}]}


def test_a_block_of_a_stream_is_copied() -> None:
    parts = OwnParts()
    start = {"type": "content_block_start", "index": 0, "content_block": BLOCK}
    assert parts.event("content_block_start", 0, json.dumps(start).encode()) is None
    made = parts.event("content_block_stop", 0, b'{"type":"content_block_stop","index":0}')
    assert made is not None
    assert json.loads(made.extras[0][1]) == BLOCK


def test_a_block_of_a_whole_message_is_copied_and_other_members_are_named() -> None:
    message = {"content": [BLOCK, {"type": "text", "text": "x"}], "container": {"id": "c"}}
    (own, end), (fields,) = whole_parts(json.dumps(message).encode())
    assert json.loads(own[0].extras[0][1]) == BLOCK
    assert [json.loads(made.extras[0][1]) for made in end] == [None]
    assert json.loads(fields.extras[0][1]) == {"container": {"id": "c"}}
