"""Where a test is: `tests/unit/a/test_b.py` tests `toolwire/a/b.py`, and no module is forgotten."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "toolwire"
UNIT = ROOT / "tests" / "unit"
LONG = 150
"""Lines above which a module has a unit test of its own, or is in `TESTED_BY`."""

OF_NO_MODULE = {
    "test_docs.py": "the pages in docs",
    "test_package.py": "what is installed",
    "test_mapping.py": "the tests themselves",
    "test_names.py": "the names of all classes",
    "test_public_api.py": "what the package exports",
    "backends/test_system_role.py": "models without a system role, on every kind of backend",
    "client/test_typing.py": "what type checkers say of programs that use the client",
    "conformance/test_example.py": "an adapter that the docs show",
    "conformance/test_parser_benchmark.py": "what benchmarks/parsers.py counts",
    "formats/test_listed_calls.py": "calls in lists, in every format that has them",
    "formats/test_python_strings.py": "strings of Python, in every format that has them",
    "formats/test_reported.py": "calls that cannot be read, in every format",
    "gateway/test_calls_per_chunk.py": "what benchmarks/calls.py counts",
    "gateway/test_tries.py": "the half of gateway/retry.py that pass-through uses too",
}
"""Tests that are not named after a module, and what they test."""

TESTED_BY = {
    "backends/base.py": "unit/backends",
    "backends/embedded/engine.py": "e2e/embedded",
    "backends/openai/error_kinds.py": "unit/backends/openai/test_refusal.py",
    "cli/chat": "e2e/python_client/test_terminal.py",
    "cli/reports": "unit/cli/test_parse.py",
    "cli/doctor.py": "e2e/doctor",
    "client": "e2e/python_client",
    "doctor/facts.py": "e2e/doctor",
    "errors.py": "unit/surfaces/openai/test_errors.py",
    "formats": "property/formats",
    "gateway/answer/choice.py": "unit/gateway/answer/test_attempt.py",
    "gateway/repair/arguments.py": "unit/gateway/repair/test_validation.py",
    "gateway/repair/buffered_validator.py": "unit/gateway/repair/test_validation.py",
    "gateway/trace/replay.py": "e2e/arguments/test_traces.py",
    "gateway/turn.py": "contract",
    "protocol/schemas/graph.py": "unit/protocol/schemas/test_cost.py",
    "server/app.py": "e2e/gateway",
    "server/assembly.py": "e2e/gateway",
    "server/config/fields.py": "unit/server/config/test_loader.py",
    "server/config/overrides.py": "unit/server/config/test_loader.py",
    "server/config/values.py": "unit/server/config/test_loader.py",
    "server/http/pipeline.py": "unit/server/http/test_connection.py",
    "server/http/server.py": "unit/server/http/test_connection.py",
    "surfaces/messages": "unit/surfaces/messages",
    "surfaces/native/sinks.py": "unit/surfaces/native/test_chat.py",
    "surfaces/responses": "unit/surfaces/responses",
    "surfaces/openai/chunks.py": "contract/test_contract_chunks.py",
    "surfaces/openai/wire.py": "e2e/gateway/test_openapi.py",
    "surfaces/sink.py": "contract",
}
"""Long modules, or folders of them, that other tests cover better than one of their own would."""


def unit_tests() -> list[Path]:
    """The files of unit tests."""
    return sorted(UNIT.rglob("test_*.py"))


def mirrored(test: Path) -> Path:
    """The module that a test is named after, without its ending; or the folder."""
    place = test.relative_to(UNIT)
    source = ROOT / "tests" if place.parts[0] == "scripted" else SOURCE
    name = place.stem.removeprefix("test_")
    folder = source / place.parent
    return folder if name == folder.name else folder / name


def is_tested(module: Path, tested: set[Path]) -> bool:
    """Whether a long module has a test, or is said to be tested by others."""
    place = module.relative_to(SOURCE)
    by_others = {place, *place.parents} & set(map(Path, TESTED_BY))
    return bool(by_others) or module.with_suffix("") in tested or module.parent in tested


@pytest.mark.parametrize("test", unit_tests(), ids=lambda path: path.relative_to(UNIT).as_posix())
def test_a_unit_test_is_where_its_module_is(test: Path) -> None:
    module = mirrored(test)
    named = test.relative_to(UNIT).as_posix() in OF_NO_MODULE
    assert named or module.is_dir() or module.with_suffix(".py").is_file()


def test_a_long_module_is_tested() -> None:
    tested = {mirrored(test) for test in unit_tests()}
    long = [path for path in SOURCE.rglob("*.py") if path.read_text().count("\n") > LONG]
    assert [path for path in long if not is_tested(path, tested)] == []


def test_what_is_tested_by_others_is_there_and_so_are_they() -> None:
    assert [name for name in TESTED_BY if not (SOURCE / name).exists()] == []
    assert [by for by in TESTED_BY.values() if not (ROOT / "tests" / by).exists()] == []
