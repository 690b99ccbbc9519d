import json
from typing import Any

import pytest
from msgspec import Raw
from tests.contract.wire import tool

from toolwire.errors import RequestError
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.protocol.tool_cache import safe_name
from toolwire.protocol.tools import NO_TOOLS
from toolwire.surfaces.explain import check_name
from toolwire.surfaces.openai.tools import ToolReader

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def reader(cache_bytes: int = 1 << 20, **limits: int) -> ToolReader:
    return ToolReader(max_tools=128, cache_bytes=cache_bytes, schema_limits=SchemaLimits(**limits))


def raw(*tools: Any) -> Raw:
    return Raw(json.dumps(tools).encode())


def test_the_same_bytes_are_checked_once() -> None:
    tools = reader()
    assert tools.read(raw(tool())) is tools.read(raw(tool()))


def test_other_bytes_of_the_same_length_are_another_set() -> None:
    """Also where only the middle differs, which a sample of the bytes does not show."""
    tools = reader()
    padding = "x" * 400
    one, two = (
        raw(tool(description=padding + word + padding, parameters=SCHEMA)) for word in ("ab", "cd")
    )
    assert len(bytes(one)) == len(bytes(two))
    first = tools.read(one).tools["f"].description
    second = tools.read(two).tools["f"].description
    assert (first, second) == (padding + "ab" + padding, padding + "cd" + padding)
    assert tools.read(one).tools["f"].description == first


def test_a_set_read_leniently_is_not_the_one_read_strictly() -> None:
    tools = reader()
    tools.read(raw(tool("a.b")), lenient_names=True)
    with pytest.raises(RequestError):
        tools.read(raw(tool("a.b")))


def test_a_schema_is_compiled_once_for_all_tools_that_have_it() -> None:
    tools = reader()
    validators = tools.read(raw(tool("f", SCHEMA), tool("g", SCHEMA))).validators
    assert validators["f"] is validators["g"]
    assert tools.read(raw(tool("h", SCHEMA))).validators["h"] is validators["f"]


def test_a_schema_that_was_fine_for_another_tool_is_not_thereby_strict() -> None:
    tools = reader()
    tools.read(raw(tool("f", SCHEMA)))
    with pytest.raises(RequestError):
        tools.read(raw(tool("f", SCHEMA, strict=True)))


def test_the_cache_is_bounded_in_bytes() -> None:
    tools = reader(cache_bytes=1 << 18)
    for number in range(2_000):
        tools.read(raw(tool("f", {**SCHEMA, "title": str(number)})))
    sets, schemas = len(tools.cache._sets), len(tools.cache._schemas)
    assert 1 <= sets < 200
    assert 1 <= schemas < 200


def test_without_a_cache_everything_still_works() -> None:
    tools = reader(cache_bytes=0)
    assert tools.read(raw(tool())) is not tools.read(raw(tool()))


def test_a_refusal_is_not_remembered_as_anything() -> None:
    tools = reader()
    for _ in range(2):
        with pytest.raises(RequestError):
            tools.read(raw(tool("a b")))


def test_an_empty_list_is_no_tools() -> None:
    assert reader().read(Raw(b"[]")) is NO_TOOLS


@pytest.mark.parametrize("parameters", [None, {}])
def test_a_tool_without_parameters_takes_an_empty_object(parameters: Any) -> None:
    made = reader().read(raw(tool("f", parameters))).tools["f"]
    assert made.parameters == {"type": "object", "properties": {}}


def test_a_set_is_strict_if_one_of_its_tools_is() -> None:
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert reader().read(raw(tool("f"), tool("g", closed, strict=True))).strict
    assert not reader().read(raw(tool("f"), tool("g", closed))).strict


def test_the_same_repair_is_reported_for_every_tool_that_needs_it() -> None:
    dangling = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Place"}}}
    repairs = reader().read(raw(tool("f", dangling), tool("g", dangling))).repairs
    assert repairs == ("dangling_ref:f:#/$defs/Place", "dangling_ref:g:#/$defs/Place")


def test_one_tool_may_not_be_larger_than_the_limit() -> None:
    large = {**SCHEMA, "description": "x" * 2_000}
    assert reader(size=4_000).read(raw(tool("f", large)))
    with pytest.raises(RequestError, match="larger than 1000 bytes") as caught:
        reader(size=1_000).read(raw(tool("f", large)))
    assert caught.value.param == "tools[0].function.parameters"


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_one_tool_may_not_have_more_references_than_can_be_followed(keyword: str) -> None:
    def chain(size: int) -> bytes:
        defs = {f"d{number}": {keyword: f"#/$defs/d{number + 1}"} for number in range(size)}
        last = {f"d{size}": {"type": "string"}}
        properties = {"a": {"$ref": "#/$defs/d0"}}
        return raw(tool("f", {**SCHEMA, "properties": properties, "$defs": {**defs, **last}}))

    assert reader().read(chain(100)).tools
    with pytest.raises(RequestError, match="more than 4000 references") as caught:
        reader().read(chain(4_000))
    assert caught.value.param == "tools[0].function.parameters"


def test_the_patterns_of_all_tools_share_one_budget() -> None:
    def with_pattern(number: int) -> dict[str, Any]:
        pattern = rf"^\p{{L}}{{1,6}}x{number}$"
        return tool(f"f{number}", {"type": "object", "properties": {"a": {"pattern": pattern}}})

    checked = reader().read(raw(*(with_pattern(number) for number in range(8))))
    kept = [
        name
        for name, made in checked.tools.items()
        if "pattern" in made.parameters["properties"]["a"]
    ]
    assert 2 <= len(kept) <= 6
    assert len(kept) + len(checked.repairs) == 8
    assert all(repair.startswith("costly_pattern:f") for repair in checked.repairs)


class TestNames:
    @pytest.mark.parametrize("name", ["a", "A-b_9", "f" * 64])
    def test_a_good_name_stays_as_it_is(self, name: str) -> None:
        check_name(name, "x")
        assert safe_name(name) == name

    @pytest.mark.parametrize(
        "name", ["a.b", "a/b", "cCCbKf0mcp0ping.now/v1", "é", "f" * 65, " ", "\n"]
    )
    def test_any_other_name_has_a_safe_one_of_its_own(self, name: str) -> None:
        check_name(safe_name(name), "x")
        assert safe_name(name) == safe_name(name)
        assert safe_name(name) != safe_name(name + "x")

    def test_names_that_differ_only_in_unsafe_characters_stay_apart(self) -> None:
        checked = reader().read(raw(tool("a.b"), tool("a/b")), lenient_names=True)
        assert sorted(checked.originals.values()) == ["a.b", "a/b"]
        assert len(checked.tools) == 2

    def test_a_safe_name_leads_back_to_the_clients_own(self) -> None:
        checked = reader().read(raw(tool("ping.now/v1"), tool("f")), lenient_names=True)
        assert checked.originals == {safe_name("ping.now/v1"): "ping.now/v1"}

    def test_a_name_used_twice_is_refused_leniently_or_not(self) -> None:
        for lenient in (False, True):
            with pytest.raises(RequestError, match="used twice"):
                reader().read(raw(tool("f"), tool("f")), lenient_names=lenient)


class TestCustomTools:
    def test_its_format_is_kept(self) -> None:
        grammar = {"type": "grammar", "syntax": "lark", "definition": "start: A"}
        custom = {"type": "custom", "custom": {"name": "c", "description": "d", "format": grammar}}
        made = reader().read(raw(custom)).tools["c"]
        assert (made.kind, made.description, made.parameters) == ("custom", "d", grammar)

    def test_it_shares_the_names_with_functions(self) -> None:
        with pytest.raises(RequestError) as caught:
            reader().read(raw(tool("c"), {"type": "custom", "custom": {"name": "c"}}))
        assert caught.value.param == "tools[1].custom.name"

    def test_its_format_may_not_be_too_deep(self) -> None:
        nested: Any = {}
        for _ in range(200):
            nested = {"a": nested}
        with pytest.raises(RequestError, match="nested more than 128 levels"):
            reader().read(raw({"type": "custom", "custom": {"name": "c", "format": nested}}))
