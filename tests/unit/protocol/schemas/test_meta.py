"""A schema is judged by its draft, without asking anybody, in time by its length (R10, R22)."""

import socket
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.protocol.schemas.meta import in_known_draft, meta_fault

DRAFTS = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft-07/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
]
LARGE = 1 << 66


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_known_draft_is_used(draft: str) -> None:
    assert meta_fault({"$schema": draft, "type": "object"}) is None
    assert meta_fault({"$schema": draft, "type": "objet"}) is not None
    assert in_known_draft({"$schema": draft}) == {"$schema": draft}


@pytest.mark.parametrize("name", ["http://{}/x", "file:///etc/hostname", "json-schema:///x", 5, {}])
def test_an_unknown_draft_is_never_fetched(name: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.05)
        address = "{}:{}".format(*trap.getsockname())
        schema = {"$schema": name.format(address) if isinstance(name, str) else name}
        fault = meta_fault(schema)
        with pytest.raises(TimeoutError):
            trap.accept()
    assert fault is not None
    assert fault.context == ("$schema",)
    assert in_known_draft(schema) == {}


@pytest.mark.parametrize("keyword", ["required", "type", "enum", "examples"])
@pytest.mark.parametrize("draft", DRAFTS)
def test_integers_that_are_equal_as_floats_cost_no_more_than_others(
    draft: str, keyword: str
) -> None:
    schema = {"$schema": draft, keyword: [LARGE + n for n in range(4_000)]}
    began = time.process_time()
    fault = meta_fault(schema)
    assert time.process_time() - began < 2  # jsonschema-rs alone: 5 s and more
    assert (fault is None) == (keyword in ("enum", "examples"))


INTEGERS = st.sampled_from([0, 1, 1 << 53, LARGE, LARGE + 1, -LARGE, 10**400])
DATA = st.recursive(INTEGERS, lambda inner: st.lists(inner, max_size=3), max_leaves=4)
SCHEMAS = st.fixed_dictionaries(
    {"$schema": st.sampled_from(DRAFTS)},
    optional={
        "enum": st.lists(DATA, min_size=1, max_size=4),
        "const": DATA,
        "default": DATA,
        "maximum": DATA,
        "multipleOf": INTEGERS,
        "required": st.lists(st.sampled_from(["a", "b", LARGE]), max_size=3),
        "properties": st.fixed_dictionaries({"enum": st.fixed_dictionaries({"minimum": DATA})}),
    },
)


@given(schema=SCHEMAS)
def test_large_integers_change_no_judgement(schema: Any) -> None:
    assert (meta_fault(schema) is None) == jsonschema_rs.meta.is_valid(schema)
