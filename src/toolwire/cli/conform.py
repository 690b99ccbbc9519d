"""`toolwire conform`: test a parser on every case, or the tool calling of a server."""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolwire.cli.usage_error import UsageError, known_format
from toolwire.conformance import (
    AdapterError,
    InvalidCases,
    Options,
    Outcome,
    State,
    applicable,
    run_cases,
)
from toolwire.conformance.adapter import adapter_for, load_factory
from toolwire.conformance.library import selected_cases
from toolwire.conformance.xfail import read_xfail

_SHOWN = 20
_STATES = (State.PASSED, State.FAILED, State.XFAILED)
Outcomes = dict[str, list[Outcome]]


@click.command("conform")
@click.option("--parser", metavar="MODULE:NAME", help="Adapter of the parser to test.")
@click.option(
    "--format",
    "formats",
    metavar="NAME",
    multiple=True,
    help="Format to test; may be repeated. [default: all that the parser knows]",
)
@click.option(
    "--cases",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file of cases instead of Toolwire's own.",
)
@click.option(
    "--xfail",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File with names of cases that may fail, one per line; * is a wildcard.",
)
@click.option(
    "--content",
    type=click.Choice(["exact", "trimmed", "any"]),
    default="exact",
    show_default=True,
    help="How content is compared.",
)
@click.option("--all", "everything", is_flag=True, help="Show every failure, not the first 20.")
@click.option("--endpoint", metavar="URL", help="Base URL of a server to test instead.")
@click.option("--model", metavar="NAME", help="The model to use at --endpoint.")
@click.option("--key-env", metavar="VAR", help="Environment variable that holds the key.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(0.1), default=120)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(parser: str | None, endpoint: str | None, **options: Any) -> None:
    """Test a parser on every case, or a live server with real requests.

    toolwire conform --parser my.module:adapter --format hermes

    toolwire conform --endpoint http://localhost:8000/v1 --model qwen3
    """
    if bool(parser) == bool(endpoint):
        raise UsageError("give either --parser MODULE:NAME or --endpoint URL with --model NAME.")
    if endpoint:
        from toolwire.cli.reports.endpoint import conform_endpoint  # noqa: PLC0415 - HTTP

        sys.exit(conform_endpoint(endpoint, **options))
    sys.exit(_conform_parser(str(parser), **options))


def _conform_parser(parser: str, **options: Any) -> int:
    try:
        judged = Options(
            options["content"], read_xfail(options["xfail"]) if options["xfail"] else ()
        )
        outcomes = _run(parser, options["formats"], options["cases"], judged)
    except (AdapterError, InvalidCases) as error:
        raise UsageError(str(error)) from None
    if not outcomes:
        raise UsageError(f"{parser} knows none of these formats. Name one with --format.")
    if options["as_json"]:
        click.echo(json.dumps([_facts(o) for o in _every(outcomes)], indent=2, ensure_ascii=False))
    else:
        _show(outcomes, limit=None if options["everything"] else _SHOWN)
    return 1 if any(o.case.state is State.FAILED for o in _every(outcomes)) else 0


def _run(parser: str, formats: Iterable[str], own: Path | None, options: Options) -> Outcomes:
    factory = load_factory(parser)
    names = [known_format(name).name for name in formats]
    outcomes: Outcomes = {}
    for cases in selected_cases(names, own):
        name = cases[0].parser_name
        adapter = adapter_for(factory, name)
        if adapter is not None:
            outcomes[name] = list(run_cases(adapter, applicable(adapter, cases), options))
    return outcomes


def _every(outcomes: Outcomes) -> Iterable[Outcome]:
    return (outcome for group in outcomes.values() for outcome in group)


def _show(outcomes: Outcomes, limit: int | None) -> None:
    console = Console(highlight=False, soft_wrap=True)
    failures = [o for o in _every(outcomes) if o.case.state is State.FAILED]
    for outcome in failures[:limit]:
        note = f"  ({outcome.case.note})" if outcome.case.note else ""
        console.print(Text(outcome.case.name + note, "red"))
        for problem in outcome.problems:
            console.print(Text(f"    {problem}"))
    if limit and len(failures) > limit:
        console.print(f"... and {len(failures) - limit} more: --all shows them")
    console.print(_table(outcomes))
    for outcome in _every(outcomes):
        if outcome.surprise:
            console.print(f"{outcome.case.name} passes: take it off the list of failures")


def _table(outcomes: Outcomes) -> Table:
    table = Table("format", "cases", "passed", "failed", "expected to fail")
    total: Counter[State] = Counter()
    for name, group in outcomes.items():
        counts = Counter(outcome.case.state for outcome in group)
        total += counts
        style = "red" if counts[State.FAILED] else None
        table.add_row(name, str(len(group)), *(str(counts[s]) for s in _STATES), style=style)
    if len(outcomes) > 1:
        table.add_section()
        table.add_row("all", str(total.total()), *(str(total[s]) for s in _STATES))
    return table


def _facts(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    return {
        "case": case.name,
        "pattern": case.pattern,
        "state": str(case.state),
        "problems": list(outcome.problems),
        "note": case.note,
    }
