"""`toolwire replay`: run a trace through the current code, and print the differences."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec

from toolwire.cli.reports.columns import is_piped
from toolwire.errors import GatewayError
from toolwire.gateway.repair.costly import CheckedCall, CostlyCall
from toolwire.gateway.trace.replay import CannotReplay, Difference, check_replayable
from toolwire.gateway.trace.replay import replay as run_again
from toolwire.server.process.check_process import CheckProcess
from toolwire.surfaces.recorded import recorded_request

_SHOWN = 2000
_PARTS = ("attempt", "what", "then", "now")


@click.command("replay")
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: the trace's id, and differences."
)
def command(trace: Path, *, as_json: bool) -> None:
    """Replay a trace through the current code, without a backend.

    Prints how each part of the model's text was read and why, and every difference from what was
    sent at the time. The exit code is 1 if there is a difference, and 2 if the trace cannot be
    replayed.
    """
    try:
        record = check_replayable(msgspec.json.decode(trace.read_bytes()))
        differences = run_again(record, recorded_request(record), _check)
    except RecursionError:
        _give_up(trace, "This trace is nested too deeply.")
    except (CannotReplay, GatewayError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _give_up(trace, getattr(error, "message", str(error)))
    if as_json:
        told = [{name: getattr(d, name) for name in _PARTS} for d in differences]
        facts = {"request_id": record["request_id"], "same": not told, "differences": told}
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        sys.exit(1 if differences else 0)
    _explain(record)
    for difference in differences:
        _show(difference)
    click.echo(f"{len(differences)} differences." if differences else "The same as then.")
    sys.exit(1 if differences else 0)


def _check(calls: Sequence[CostlyCall]) -> list[CheckedCall]:
    """Check calls in another process, as the gateway does."""

    async def check() -> list[CheckedCall]:
        checker = CheckProcess()
        try:
            return await checker.check(calls)
        finally:
            checker.close()

    return asyncio.run(check())


def _give_up(trace: Path, why: str) -> NoReturn:
    click.echo(f"{trace}: {why}", err=True)
    sys.exit(2)


def _explain(record: Any) -> None:
    plan = record["plan"]
    click.echo(f"{record['request_id']}  model {plan['model']}  delivery {plan['delivery']}")
    for number, attempt in enumerate(record["attempts"], 1):
        how = attempt["strategy"]
        click.echo(f"attempt {number}: {attempt['backend']}, {how['kind']} {how['format'] or ''}")
        for choice, spans in attempt["spans"].items():
            for start, end, kind, why in spans:
                if kind != "layout":
                    click.echo(f"  choice {choice}  {start:>6}..{end:<6} {kind}  {why}")
        for finding in attempt["findings"]:
            click.echo(f"  {finding['code']}: {finding['message']}")
        if attempt["repairs"]:
            click.echo(f"  repairs: {', '.join(attempt['repairs'])}")
        if attempt["error"]:
            click.echo(f"  error: {attempt['error']['code']}: {attempt['error']['message']}")


def _show(difference: Difference) -> None:
    click.echo(f"attempt {difference.attempt}, {difference.what}:")
    for sign, value in (("-", difference.then), ("+", difference.now)):
        text = json.dumps(value, ensure_ascii=False)
        whole = len(text) <= _SHOWN or is_piped()
        click.echo(f"  {sign} {text if whole else text[:_SHOWN] + '...'}")
