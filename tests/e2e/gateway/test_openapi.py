"""The OpenAPI document, tried out by schemathesis: requests that fit it and requests that do not.

No answer may be a defect, and each must have a status, a type and a body that the document has.
"""

import hashlib
import json
import re
from typing import Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi import checks
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.wire import ask
from tests.scripted import ScriptedServer

from toolwire.server.apis.openapi import openapi
from toolwire.server.apis.reference import APIS

OPERATIONS = [operation for api in APIS for operation in api.operations]
DOCUMENT = openapi(APIS)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
KEY = "sk-described"
CONFIG = f'[[keys]]\nname = "one"\nsha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"\n'
EXAMPLES = 15


@pytest.fixture(autouse=True)
def _backend_says_hi(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


@pytest.mark.parametrize(
    ("path", "method"), [(o.path, o.method) for o in OPERATIONS], ids=lambda value: value
)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(gateway: Gateway, path: str, method: str, data: Any) -> None:
    case = data.draw(SCHEMA[path][method].as_strategy())
    response = case.call(
        base_url=f"http://127.0.0.1:{gateway.port}", headers={"authorization": f"Bearer {KEY}"}
    )
    # A stream is described as text, with its events in an extension that schemathesis ignores.
    streamed = "text/event-stream" in str(response.headers.get("content-type"))
    case.validate_response(response, checks=CHECKS[:-1] if streamed else CHECKS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: f"{o.method} {o.path}")
def test_an_example_is_what_it_is_an_example_of(operation: Any) -> None:
    described = DOCUMENT["paths"][operation.path][operation.method.lower()]
    if operation.example is not None:
        content = described["requestBody"]["content"]["application/json"]
        assert content["example"] == operation.example
        msgspec.json.decode(json.dumps(operation.example), type=operation.body)


def test_the_document_needs_no_key_and_is_the_one_that_was_tried(gateway: Gateway) -> None:
    assert ask(gateway.port, path="/openapi.json").json == DOCUMENT


def test_the_page_shows_every_operation_and_loads_nothing(gateway: Gateway) -> None:
    page = ask(gateway.port, path="/docs")
    text = page.body.decode()
    for operation in OPERATIONS:
        assert f"<code>{operation.path}</code>" in text
    assert not re.search(r"<script|<link|<img|src=|https?://", text)
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
