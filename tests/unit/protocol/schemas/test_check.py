import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwire.errors import ToolSchemaError
from toolwire.protocol.schemas.check import CheckedSchema, SchemaLimits, check_schema

LIMITS = SchemaLimits()
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def check(schema: dict[str, Any], *, strict: bool = False, **more: Any) -> CheckedSchema:
    return check_schema(
        {"type": "object", **schema}, tool="f", strict=strict, limits=LIMITS, **more
    )


def of(value: Any) -> dict[str, Any]:
    """A schema with one property."""
    return {"properties": {"a": value}}


class TestReferences:
    @pytest.mark.parametrize(
        "schema",
        [
            {**of({"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "integer"}}},
            {**of({"$ref": "#/definitions/A"}), "definitions": {"A": {"type": "integer"}}},
            {**of({"$ref": "#/$defs/a~1b~0c"}), "$defs": {"a/b~c": {"type": "integer"}}},
            {**of({"$ref": "#/$defs/a%20b"}), "$defs": {"a b": {"type": "integer"}}},
            {**of({"$ref": "#here"}), "$defs": {"A": {"$anchor": "here", "type": "integer"}}},
            {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "integer"}}},
            {**of({"$ref": "#/$defs/A/anyOf/0"}), "$defs": {"A": {"anyOf": [{"type": "integer"}]}}},
        ],
    )  # fmt: skip
    def test_a_reference_that_leads_somewhere_is_followed(self, schema: dict[str, Any]) -> None:
        checked = check(schema)
        assert checked.repairs == ()
        assert checked.validator.is_valid({"a": 1})
        assert not checked.validator.is_valid({"a": "x"})

    @pytest.mark.parametrize(
        "ref", ["#/$defs/Gone", "#gone", "Gone", "#/properties/a/b", "http://example.invalid/x", ""]
    )
    def test_one_that_leads_nowhere_means_anything_and_is_reported(self, ref: str) -> None:
        checked = check(of({"$ref": ref, "type": "string"}))
        assert checked.schema == {"type": "object", **of({"type": "string"})}
        assert checked.repairs == (f"dangling_ref:f:{ref}",)
        assert checked.validator.is_valid({"a": "x"})

    def test_one_that_leads_nowhere_is_found_wherever_it_stands(self) -> None:
        gone = {"$ref": "#/$defs/Gone"}
        checked = check(
            {
                "properties": {"a": {"items": [gone]}, "b": {"anyOf": [{"not": gone}]}},
                "$schema": DRAFT_7,
                "additionalProperties": gone,
                "dependencies": {"a": gone},
            }
        )
        assert "$ref" not in str(checked.schema)
        assert checked.repairs == ("dangling_ref:f:#/$defs/Gone",)

    def test_a_property_called_ref_is_a_property(self) -> None:
        schema = {"properties": {"$ref": {"type": "string"}}}
        assert check(schema).schema == {"type": "object", **schema}

    def test_a_recursive_schema_checks_recursive_arguments(self) -> None:
        tree = check({"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}})
        assert tree.validator.is_valid({"child": {"child": {"n": 1}}})
        assert not tree.validator.is_valid({"child": {"child": {"n": "x"}}})

    def test_a_reference_that_is_no_string_is_refused_where_the_draft_sees_it(self) -> None:
        with pytest.raises(ToolSchemaError):
            check(of({"$ref": 5}))

    @pytest.mark.parametrize("ref", [5, [1], {"a": 1}])
    def test_and_mended_where_an_older_draft_does_not_look(self, ref: Any) -> None:
        checked = check({"$schema": DRAFT_7, "$defs": {"x": {"$ref": ref}}})
        assert checked.schema["$defs"] == {"x": {}}


def test_an_index_of_many_digits_leads_nowhere() -> None:
    ref = "#/anyOf/" + "9" * 5_000
    assert check({"anyOf": [{}], **of({"$ref": ref})}).repairs[0].startswith("dangling_ref:f:")


@contextlib.contextmanager
def listener() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine, and who came."""
    visits: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    visits.append("came")
                    connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", visits
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_nothing_is_ever_fetched() -> None:
    with listener() as (url, visits):
        for schema in (
            {"$schema": f"{url}/schema"},
            {"$id": f"{url}/id", **of({"$ref": "other"})},
            of({"$ref": f"{url}/ref"}),
            of({"$schema": f"{url}/inner", "type": "string"}),
            of({"$id": f"{url}/sub", "$schema": f"{url}/sub-schema", "$ref": "x"}),
            of({"$dynamicRef": f"{url}/dynamic"}),
            {"$defs": {"a": {"$ref": f"{url}/unused"}}},
        ):
            for strict in (False, True):
                with contextlib.suppress(ToolSchemaError):
                    check(schema, strict=strict)
        assert visits == []


def test_the_listener_would_have_noticed() -> None:
    with listener() as (url, visits):
        host, port = url.removeprefix("http://").split(":")
        socket.create_connection((host, int(port))).close()
        while not visits:
            pass


class TestDialects:
    def test_a_known_one_is_kept(self) -> None:
        assert check({"$schema": DRAFT_7}).schema["$schema"] == DRAFT_7

    @pytest.mark.parametrize("dialect", ["http://example.invalid/x", "", 5, None])
    def test_an_unknown_one_is_read_as_the_newest(self, dialect: Any) -> None:
        checked = check({"$schema": dialect, **of({"prefixItems": [{"type": "integer"}]})})
        assert "$schema" not in checked.schema
        assert not checked.validator.is_valid({"a": ["x"]})

    def test_an_older_one_is_read_by_its_own_rules(self) -> None:
        checked = check({"$schema": DRAFT_7, **of({"items": [{"type": "integer"}]})})
        assert not checked.validator.is_valid({"a": ["x"]})


class TestPatterns:
    def test_a_pattern_is_checked(self) -> None:
        checked = check(of({"type": "string", "pattern": "^[a-z]+$"}))
        assert checked.validator.is_valid({"a": "abc"})
        assert not checked.validator.is_valid({"a": "ABC"})

    def test_one_that_could_explode_does_not(self) -> None:
        checked = check(of({"type": "string", "pattern": "^(a+)+$"}))
        assert not checked.validator.is_valid({"a": "a" * 50_000 + "!"})

    @pytest.mark.parametrize("pattern", ["(", "(?<=x)*", "[z-a]", "a{2,1}", "\\"])
    def test_one_that_is_none_is_refused(self, pattern: str) -> None:
        with pytest.raises(ToolSchemaError, match="Invalid schema for function 'f'"):
            check(of({"pattern": pattern}))

    @pytest.mark.parametrize(
        "pattern", [r"^\p{L}{1,500}$", r"^.{0,5000}$", "(((a{1,99}){1,99}){1,99})", "a" * 2_000]
    )
    def test_a_costly_one_is_taken_out_and_reported(self, pattern: str) -> None:
        checked = check(of({"type": "string", "pattern": pattern}))
        assert checked.schema["properties"] == {"a": {"type": "string"}}
        assert checked.repairs[0].startswith("costly_pattern:f:")
        assert len(checked.repairs[0]) < 300
        assert checked.validator.is_valid({"a": "anything"})

    def test_a_costly_pattern_property_leaves_the_object_open(self) -> None:
        schema = {"patternProperties": {"^.{0,9999}$": {}, "^b": {}}, "additionalProperties": False}
        checked = check(schema)
        assert checked.schema == {"type": "object", "patternProperties": {"^b": {}}}
        assert checked.validator.is_valid({"anything": 1})

    def test_what_is_not_within_the_budget_is_costly(self) -> None:
        schema = of({"pattern": "^[a-z]{1,50}$"})
        assert check(schema).repairs == ()
        assert check(schema, pattern_budget=10).repairs != ()

    @pytest.mark.parametrize("pattern", ["(?=a)a", "(?<!a)b", r"(a)\1"])
    def test_one_that_is_not_linear_is_taken_out_and_reported(self, pattern: str) -> None:
        checked = check(of({"type": "string", "pattern": pattern}))
        assert checked.schema["properties"] == {"a": {"type": "string"}}
        assert checked.repairs == (f"unsupported_pattern:f:{pattern}",)

    def test_and_refused_in_a_strict_tool(self) -> None:
        schema = {**of({"type": "string", "pattern": "(?=a)a"}), "required": ["a"]}
        with pytest.raises(ToolSchemaError, match="look-around or a backreference"):
            check({**schema, "additionalProperties": False}, strict=True)

    def test_what_is_no_pattern_of_a_schema_is_left_alone(self) -> None:
        schema = of({"type": "object", "default": {"pattern": "("}})
        assert check(schema).repairs == ()

    def test_a_property_called_pattern_is_a_property(self) -> None:
        schema = {"properties": {"pattern": {"type": "string"}}}
        assert check(schema).schema == {"type": "object", **schema}


def test_arguments_are_judged_by_the_schema() -> None:
    validator = check({"properties": {"n": {"type": "integer"}}, "required": ["n"]}).validator
    assert validator.is_valid({"n": 1})
    assert not validator.is_valid({"n": "1"})
    assert not validator.is_valid({})


def test_what_a_client_wrote_is_repeated_in_brief() -> None:
    long = "x" * 10_000
    for schema in ({"type": long}, of({"type": long}), {"properties": {long: {"type": 1}}}):
        with pytest.raises(ToolSchemaError) as caught:
            check(schema)
        assert len(caught.value.message) < 600


keywords = st.sampled_from(
    [
        "$ref", "$defs", "$anchor", "$id", "$schema", "type", "properties", "required", "items",
        "anyOf", "allOf", "not", "enum", "const", "pattern", "patternProperties", "minimum",
        "additionalProperties", "definitions", "dependencies", "format", "maxLength", "x",
    ]
)  # fmt: skip
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["object", "string", "#", "#/$defs/x", "(", "^a{9}$", DRAFT_7, "uri"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords, inner, max_size=4),
    max_leaves=12,
)
schemas = st.dictionaries(keywords, values, max_size=5)
drafts = st.sampled_from([None, DRAFT_7, "http://json-schema.org/draft-04/schema#"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=schemas, draft=drafts, strict=st.booleans())
def test_any_json_is_a_schema_or_refused(
    schema: dict[str, Any], draft: str | None, strict: bool
) -> None:
    if draft is not None:
        schema["$schema"] = draft
    with contextlib.suppress(ToolSchemaError):
        checked = check({**schema, "type": "object"}, strict=strict)
        if checked.validator is not None:
            checked.validator.is_valid({})
