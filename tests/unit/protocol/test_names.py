"""A name is resolved when only one tool can be meant, and never guessed."""

import pytest

from toolwire.protocol.names import resolve

TOOLS = ("read_file", "write-file", "Read", "list.dir", "functions.eval")


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_itself(tool: str) -> None:
    assert resolve(tool, TOOLS) == tool


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("functions.read_file", "read_file"),
        ("function.read_file", "read_file"),
        ("tools.read_file", "read_file"),
        ("tool.Read_File", "read_file"),
        ("read_file:0", "read_file"),
        ("functions.read_file:12", "read_file"),
        ("READ_FILE", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("write_file", "write-file"),
        ("read file", "read_file"),
        ("listdir", "list.dir"),
        ("read", "Read"),
        ("functions.functions.eval", "functions.eval"),
    ],
)
def test_case_separators_namespace_and_counter_do_not_matter(written: str, meant: str) -> None:
    assert resolve(written, TOOLS) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("read_file<|channel|>commentary", "read_file"),
        ("functions.read_file<|channel|>commentary", "read_file"),
        ("functions.read_file:2<|channel|>json", "read_file"),
        ("read_file <|constrain|>json", "read_file"),
        ("readFile<|message|>", "read_file"),
        ("read_file<|call|>", "read_file"),
        ("read_file\n", "read_file"),
        ('"read_file"', "read_file"),
        ("`read_file`", "read_file"),
        ("default_api.read_file", "read_file"),
        ("default_api:read_file", "read_file"),
        ("functions::read_file", "read_file"),
        ("functions/read_file", "read_file"),
    ],
)
def test_what_the_model_wrote_around_a_name_does_not_matter(written: str, meant: str) -> None:
    assert resolve(written, TOOLS) == meant


@pytest.mark.parametrize(
    "written",
    [
        "",
        "<|channel|>read_file",
        "assistant<|channel|>analysis",
        "read_file()",
        "other.read_file",
        "read_fil",
        "read_files",
        "file",
        "functions.",
        "functions.no",
        ":1",
        "Read.Read",
        "Read:x",
    ],
)
def test_nothing_is_guessed_by_likeness(written: str) -> None:
    assert resolve(written, TOOLS) is None


def test_a_name_that_two_tools_could_have_is_not_resolved() -> None:
    assert resolve("GetUser", ("get_user", "get-user")) is None
    assert resolve("get_user", ("get_user", "get-user")) == "get_user"


def test_a_tool_that_has_the_odd_name_itself_is_meant() -> None:
    assert resolve("now:0", ("now", "now:0")) == "now:0"


def test_without_tools_nothing_can_be_meant() -> None:
    assert resolve("read_file", ()) is None
