"""Plays one request without a server, for tests that look at a reply as a value."""

import json
import time
from typing import Any

from tests.scripted.record import Recorded
from tests.scripted.reply import Reply
from tests.scripted.routes import answer_request
from tests.scripted.stage import Stage


def play(stage: Stage, path: str = "/v1/chat/completions", **body: Any) -> Reply:
    """Give the reply that a POST of this body would get."""
    headers = {"authorization": "Bearer sk-presented"}
    data = json.dumps(body).encode()
    return answer_request(stage, Recorded("POST", path, headers, data, time.monotonic()))


def events_of(reply: Reply) -> list[str]:
    """The data of every event of a stream, as any SSE reader sees it."""
    text = reply.body.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    blocks = [block.split("\n") for block in text.split("\n\n") if block]
    datas = [[line for line in block if line.startswith("data:")] for block in blocks]
    return ["\n".join(line[5:].removeprefix(" ") for line in data) for data in datas if data]


def chunks_of(reply: Reply) -> list[Any]:
    """The chunks of a stream, decoded, without `[DONE]`."""
    return [json.loads(data) for data in events_of(reply) if data != "[DONE]"]
