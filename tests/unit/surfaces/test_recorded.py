import json
from typing import Any

import pytest

from toolwire.gateway.trace.replay import CannotReplay
from toolwire.surfaces.messages.api import NAME as MESSAGES
from toolwire.surfaces.recorded import recorded_request

BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def record(**request: Any) -> dict[str, Any]:
    return {"request": {"body": json.dumps(BODY), "profile": "default", **request}}


def test_a_recorded_body_is_read_again() -> None:
    assert recorded_request(record(surface="openai_chat")).messages[0].content == "hello"
    assert recorded_request(record()).model == "m"


def test_a_request_to_another_api_is_refused_and_not_misread() -> None:
    with pytest.raises(CannotReplay, match="'native_chat' cannot be replayed"):
        recorded_request(record(surface="native_chat"))


def test_a_request_to_the_messages_api_is_read_as_one() -> None:
    read = recorded_request(record(surface=MESSAGES, body=json.dumps({**BODY, "max_tokens": 7})))
    assert read.messages[0].content == "hello"
