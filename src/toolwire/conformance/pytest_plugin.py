"""`pytest --toolwire-parser my.module:adapter`: every case of the kit becomes a test.

Loaded by its entry point where Toolwire is installed, or with
`-p toolwire.conformance.pytest_plugin`. It does nothing unless a parser is given.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwire.conformance.adapter import Adapter, adapter_for, load_factory
from toolwire.conformance.case import State, TestCase
from toolwire.conformance.faults import AdapterError, InvalidCases
from toolwire.conformance.library import selected_cases
from toolwire.conformance.runner import Options, applicable, run_case
from toolwire.conformance.xfail import read_xfail


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the kit."""
    group = parser.getgroup("toolwire", "conformance of a tool-call parser")
    group.addoption(
        "--toolwire-parser", metavar="MODULE:NAME", help="adapter of the parser to be tested"
    )
    group.addoption(
        "--toolwire-format",
        metavar="NAME",
        action="append",
        default=[],
        help="format to be tested; may be given several times [all that the adapter knows]",
    )
    group.addoption(
        "--toolwire-cases", metavar="FILE", type=Path, help="a file of cases instead of the kit's"
    )
    group.addoption(
        "--toolwire-xfail", metavar="FILE", type=Path, help="names of cases that may fail"
    )
    group.addoption(
        "--toolwire-content",
        choices=("exact", "trimmed", "any"),
        default="exact",
        help="how content is compared [exact]",
    )


@pytest.hookimpl(tryfirst=True)  # before -k and -m select
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each case, and report them as collected."""
    path = config.getoption("--toolwire-parser")
    if not path:
        return
    kit = Kit.from_parent(session, name="toolwire", nodeid="toolwire", parser_path=path)
    report = kit.ihook.pytest_make_collect_report(collector=kit)
    kit.ihook.pytest_collectreport(report=report)
    if report.passed:
        items += report.result


class Kit(pytest.Collector):
    """All cases for one parser."""

    def __init__(self, parser_path: str, **more: Any) -> None:
        super().__init__(**more)
        self._path = parser_path

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return one item per applicable case."""
        try:
            return [
                CaseItem.from_parent(self, name=case.name, case=case, adapter=adapter)
                for adapter, cases in self._cases()
                for case in applicable(adapter, cases)
            ]
        except (AdapterError, InvalidCases) as error:
            raise self.CollectError(f"--toolwire-parser {self._path}: {error}") from None

    def _cases(self) -> Iterator[tuple[Adapter, tuple[TestCase, ...]]]:
        factory = load_factory(self._path)
        own: Path | None = self.config.getoption("--toolwire-cases")
        chosen: list[str] = self.config.getoption("--toolwire-format")
        for cases in selected_cases(chosen, own):
            adapter = adapter_for(factory, cases[0].parser_name)
            if adapter is not None:
                yield adapter, cases


class CaseItem(pytest.Item):
    """One case as a test."""

    def __init__(self, case: TestCase, adapter: Adapter, **more: Any) -> None:
        super().__init__(**more)
        self._case = case
        self._adapter = adapter

    def runtest(self) -> None:
        """Run the case. An expected failure is reported as such."""
        outcome = run_case(self._adapter, self._case, self._options())
        if outcome.case.state is State.XFAILED:
            pytest.xfail(outcome.problems[0])
        if outcome.problems:
            note = f"\n({self._case.note})" if self._case.note else ""
            pytest.fail("\n".join(outcome.problems) + note, pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the case comes from."""
        return Path(f"toolwire/{self._case.parser_name}.json"), None, self._case.name

    def _options(self) -> Options:
        listed: Path | None = self.config.getoption("--toolwire-xfail")
        content = self.config.getoption("--toolwire-content")
        return Options(content=content, xfail=read_xfail(listed) if listed else ())
