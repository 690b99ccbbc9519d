"""`toolwire conform --endpoint`: what works on a live server, what does not, and what to do."""

import json
import os
from collections import Counter
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from toolwire.cli.usage_error import UsageError
from toolwire.conformance.endpoint import (
    CHECKS,
    InvalidURL,
    LiveEndpoint,
    TrialResult,
    Unreachable,
    Verdict,
    run_checks,
)

_STYLES = {Verdict.WORKS: "green", Verdict.FAILS: "red", Verdict.UNSURE: "yellow"}


def conform_endpoint(url: str, **options: Any) -> int:
    """Run every check and print it as it ends. The exit code: 1 if one fails."""
    if not options["model"]:
        raise UsageError("--endpoint needs --model NAME, the model to test.")
    key = _key(options["key_env"])
    findings: list[TrialResult] = []
    try:
        endpoint = LiveEndpoint(url, options["model"], key, options["timeout"])
        for finding in run_checks(endpoint, CHECKS):
            findings.append(finding)
            if not options["as_json"]:
                _print(finding)
    except InvalidURL as error:
        raise UsageError(f"{error}.") from None
    except Unreachable as error:
        raise UsageError(
            f"cannot reach {error}. Is the server running, and the URL right?"
        ) from None
    if options["as_json"]:
        facts = [{name: getattr(f, name) for name in f.__slots__} for f in findings]
        click.echo(json.dumps(facts, indent=2))
    else:
        counts = Counter(finding.verdict for finding in findings)
        click.echo(", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict))
    return 1 if any(finding.verdict is Verdict.FAILS for finding in findings) else 0


def _print(finding: TrialResult) -> None:
    line = Text.assemble(
        (f"{finding.verdict:<7}", _STYLES[finding.verdict]), f"{finding.name:<26}", finding.detail
    )
    console = Console(highlight=False, soft_wrap=True)
    console.print(line)
    if finding.advice:
        console.print(Text(f"{'':<33}{finding.advice}", "dim"))


def _key(variable: str | None) -> str | None:
    if not variable:
        return None
    key = os.environ.get(variable)
    if not key:
        raise UsageError(f"the environment variable {variable} is not set; --key-env names it.")
    return key
