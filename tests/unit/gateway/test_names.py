"""Which tool a name stands for that no tool has."""

import pytest

from toolwire.gateway.names import resolve

TOOLS = ("read_file", "write-file", "now")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("read_file", "read_file"),
        ("Read_File", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("functions.read_file", "read_file"),
        ("tool.now", "now"),
        ("now:0", "now"),
        ("functions.write_file:12", "write-file"),
    ],
)
def test_a_name_that_can_only_mean_one_tool_is_resolved(written: str, meant: str) -> None:
    assert resolve(written, TOOLS) == meant


@pytest.mark.parametrize(
    "written", ["read", "read_files", "nov", "now.now", "now:x", "now:", "", ":0"]
)
def test_likeness_is_not_enough(written: str) -> None:
    assert resolve(written, TOOLS) is None


def test_a_name_that_could_be_two_tools_is_neither() -> None:
    assert resolve("READFILE", ("read_file", "readFile")) is None


def test_a_tool_that_has_the_odd_name_itself_is_meant() -> None:
    assert resolve("now:0", ("now", "now:0")) == "now:0"
