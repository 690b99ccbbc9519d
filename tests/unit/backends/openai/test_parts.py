"""Files in messages: as file parts for servers that take them, else as a line of text."""

import json
from typing import Any

import pytest

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.openai.params import ignored_parts
from toolwire.backends.openai.parts import WIRE
from toolwire.backends.openai.request import encode_body
from toolwire.protocol.content import FilePart, TextPart, WireJson
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import NO_TOOLS

PDF = FilePart("data:application/pdf;base64,QUJD", "plan.pdf")


def asking(*files: FilePart) -> Request:
    return Request("m", (ChatMessage("user", (TextPart("Look."), *files)),))


def content(request: Request, dialect: str) -> list[dict[str, Any]]:
    outgoing = BackendRequest(request, request.messages, NO_TOOLS)
    body = json.loads(b"".join(encode_body(outgoing, DIALECTS[dialect], None)))
    made: list[dict[str, Any]] = body["messages"][0]["content"]
    return made


@pytest.mark.parametrize("dialect", ["openai", "openrouter", "auto"])
def test_a_server_that_takes_files_gets_them(dialect: str) -> None:
    sent = {"type": "file", "file": {"file_data": PDF.data, "filename": "plan.pdf"}}
    assert content(asking(PDF), dialect)[1] == sent
    assert ignored_parts(asking(PDF), DIALECTS[dialect]) == []


def test_a_server_with_the_responses_api_takes_files_too() -> None:
    assert ignored_parts(asking(PDF), DIALECTS["responses"]) == []


def test_a_file_without_a_name_gets_one() -> None:
    assert content(asking(FilePart("data:x")), "openai")[1]["file"]["filename"] == "document.pdf"


@pytest.mark.parametrize("dialect", ["vllm", "llamacpp", "ollama", "generic"])
def test_another_server_gets_a_line_that_names_it_and_that_is_reported(dialect: str) -> None:
    text = "(plan.pdf, not shown: this model takes no files)"
    assert content(asking(PDF), dialect)[1] == {"type": "text", "text": text}
    assert ignored_parts(asking(PDF), DIALECTS[dialect]) == ["file"]


def test_a_file_of_a_client_of_the_same_api_is_its_own_business() -> None:
    raw = b'{"type":"file","file":{"file_id":"x"}}'
    own = FilePart(file_id="x", origin=WireJson(WIRE, raw))
    assert content(asking(own), "vllm")[1] == json.loads(raw)
    assert ignored_parts(asking(own), DIALECTS["vllm"]) == []
