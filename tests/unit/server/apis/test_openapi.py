"""The OpenAPI document."""

import re
from typing import Any

from toolwire.errors import ConversationBusy, RequestError
from toolwire.server.apis.openapi import openapi
from toolwire.server.apis.reference import APIS
from toolwire.surfaces.operations import Api, Operation

OPERATIONS = [operation for api in APIS for operation in api.operations]
DOCUMENT = openapi(APIS)


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [name for part in value.values() for name in _references(part)]
    if isinstance(value, list):
        return [name for part in value for name in _references(part)]
    return []


def test_every_reference_leads_to_a_type() -> None:
    names = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert set(_references(DOCUMENT["paths"])) <= names


def test_operations_have_ids_of_their_own() -> None:
    ids = [o["operationId"] for path in DOCUMENT["paths"].values() for o in path.values()]
    assert len(set(ids)) == len(ids) == len(OPERATIONS)


def test_every_parameter_of_a_path_is_described() -> None:
    for operation in OPERATIONS:
        described = {p.name for p in operation.parameters if p.place == "path"}
        assert set(re.findall(r"\{(\w+)\}", operation.path)) == described


def test_errors_of_one_status_are_told_together() -> None:
    operation = Operation(
        "GET", "/x", "Try", answer=int, errors=(ConversationBusy, RequestError), error=str
    )
    responses = openapi([Api("X", "", (operation,))])["paths"]["/x"]["get"]["responses"]
    assert list(responses) == ["200", "400", "409"]
    assert responses["409"]["description"].startswith("`conversation_busy`: Another turn")


def test_types_have_no_private_names() -> None:
    assert [name for name in DOCUMENT["components"]["schemas"] if name.startswith("_")] == []
