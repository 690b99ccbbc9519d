"""What `import toolwire` promises."""

import subprocess
import sys

import pytest

import toolwire
from toolwire import client, formats

CLIENT = {"AsyncClient", "Client", "Limits", "Tool", "ToolError", "Toolbox", "tool"}
PUBLIC = CLIENT | {
    "ArgsDelta",
    "CallEnd",
    "CallStart",
    "Detection",
    "Extracted",
    "ExtractedCall",
    "InvalidTool",
    "Parser",
    "ReasoningDelta",
    "RenderedCall",
    "RenderedResult",
    "Span",
    "TextDelta",
    "ToolSpec",
    "Trace",
    "__version__",
    "detect_model",
    "detect_output",
    "detect_template",
    "extract",
    "parser_for",
    "render_calls",
    "render_results",
    "render_tools",
}


def test_the_public_names_are_these_and_each_can_be_imported() -> None:
    assert set(toolwire.__all__) == PUBLIC
    assert [name for name in PUBLIC if not hasattr(toolwire, name)] == []
    assert dir(toolwire) == sorted(toolwire.__all__)


def test_a_public_name_is_the_same_object_as_in_its_module() -> None:
    for name in PUBLIC - {"__version__"}:
        module = client if name in CLIENT else formats
        assert getattr(toolwire, name) is getattr(module, name)


def test_a_call_is_read_with_what_is_exported() -> None:
    text = '<tool_call>{"name": "refresh", "arguments": {}}</tool_call>'
    assert toolwire.extract("hermes", text).calls == [toolwire.ExtractedCall("refresh", "{}")]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'extrct'"):
        _ = toolwire.extrct


@pytest.mark.parametrize("package", [toolwire, formats], ids=lambda package: package.__name__)
def test_every_public_name_has_a_docstring(package: object) -> None:
    names = [name for name in package.__all__ if name not in ("__version__", "Delivery")]
    assert [name for name in names if not getattr(package, name).__doc__] == []


@pytest.mark.process
def test_importing_toolwire_loads_no_other_module_of_it() -> None:
    code = "import sys, toolwire; print([m for m in sys.modules if m.startswith('toolwire.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.process
def test_the_parsers_load_without_an_event_loop_or_an_http_stack() -> None:
    heavy = "asyncio", "uvloop", "httptools", "click", "rich", "jinja2", "prometheus_client"
    code = f"import sys, toolwire.formats; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


OPENAI = {
    "type": "function",
    "function": {
        "name": "get_time",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
    },
}
TAGGED = "<function=get_time>\n<parameter=n>\n5\n</parameter>\n</function>"


@toolwire.tool
def get_time(n: int) -> str:
    """The time in n hours."""
    return str(n)


@pytest.mark.parametrize(
    "tool",
    [
        OPENAI,
        OPENAI["function"],
        formats.ToolSpec("get_time", None, OPENAI["function"]["parameters"]),
        get_time,
    ],
    ids=["openai", "function", "record", "decorated"],
)
def test_tools_may_be_dictionaries_records_or_functions(tool: object) -> None:
    found = toolwire.extract("qwen3_coder", TAGGED, [tool])
    assert found.calls[0].decoded() == {"n": 5}
    assert toolwire.detect_output(TAGGED, [tool]) is not None
    assert "get_time" in toolwire.render_tools("hermes", [tool])


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"type": "function"}, "tool 0 has no name"),
        ({"name": "f", "parameters": "x"}, "the parameters of f are not a schema"),
        (5, "tool 0 is int, not a tool"),
    ],
)
def test_what_is_no_tool_is_refused(tool: object, message: str) -> None:
    with pytest.raises(formats.InvalidTool, match=message):
        toolwire.extract("hermes", "x", [tool])


def test_the_format_can_be_detected() -> None:
    found = toolwire.extract("auto", TAGGED, [OPENAI])
    assert (found.format, found.calls[0].decoded()) == ("qwen3_coder", {"n": 5})


def test_a_text_without_calls_is_text_whatever_the_format() -> None:
    found = toolwire.extract("auto", "<think>hm</think>Hello")
    assert found == toolwire.Extracted("Hello", "hm", [], format="")


@pytest.mark.parametrize("name", sorted(set(toolwire.__all__) & set(client.__all__)))
def test_a_name_of_the_package_and_of_the_client_is_one_thing(name: str) -> None:
    assert getattr(toolwire, name) is getattr(client, name)
