"""What `toolwire doctor` prints: as it finds it, or as one JSON object at the end."""

import json
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from toolwire.conformance.endpoint import TrialResult, Verdict
from toolwire.doctor import Diagnosis, Examination, Observation, ServerFacts
from toolwire.doctor.prescription import command_for, toml_for

_STYLES = {Verdict.WORKS: "green", Verdict.FAILS: "red", Verdict.UNSURE: "yellow"}
_MOST_MODELS = 8


class DoctorReport:
    """Prints one examination."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self._as_json = as_json
        self._silent = as_json or quiet
        self._section = ""
        self._console = Console(highlight=False, soft_wrap=True)

    def begin(self, facts: ServerFacts) -> None:
        """Print what the server is."""
        version = f" {facts.version}" if facts.version else ""
        why = f" ({facts.why})" if facts.why else ""
        self._line(f"server   {facts.name}{version} at {facts.url}{why}")
        shown = ", ".join(facts.models[:_MOST_MODELS])
        more = len(facts.models) - _MOST_MODELS
        self._line(f"models   {shown or '(none listed)'}{f' and {more} more' if more > 0 else ''}")
        self._line(f"asked    {facts.model}")
        found = facts.format
        told = f"{found.format} ({found.reason})" if found else "unknown: nothing tells it"
        self._line(f"format   {told}")
        if not facts.capabilities.has_tools:
            self._line("tools    its chat template has no place for them")

    def add(self, observation: Observation, setup: str) -> None:
        """Print how one check ended."""
        if setup != self._section:
            self._section = setup
            self._line(f"\n{setup}", "bold")
        result = observation.result
        if not self._silent:
            verdict = (f"  {result.verdict:<7}", _STYLES[result.verdict])
            self._console.print(Text.assemble(verdict, f"{result.name:<26}", result.detail))

    def end(
        self, seen: Examination, diagnosis: Diagnosis, *, key_env: str = "", template: str = ""
    ) -> None:
        """Print the cause, and what to do."""
        options = {"key_env": key_env, "template": template}
        if self._as_json:
            click.echo(json.dumps(_facts(seen, diagnosis, options), indent=2, ensure_ascii=False))
            return
        self._line(f"\n{diagnosis.cause}", "bold")
        if diagnosis.server_flags:
            self._line(f"\nEither start the server with\n\n    {diagnosis.server_flags}")
        setting = diagnosis.setting
        if setting is None:
            if not diagnosis.works and not seen.facts.is_toolwire:
                self._line(_NOTHING_HELPS)
            return
        head = _FRONT_WORKS if diagnosis.works else _FRONT_HELPS
        self._line(f"\n{'Or p' if diagnosis.server_flags else 'P'}{head}\n")
        self._line(f"    {command_for(seen.facts, setting, **options)}\n\nor toolwire.toml:\n")
        self._line(_indented(toml_for(seen.facts, setting, **options)))

    def _line(self, text: str, style: str = "") -> None:
        if not self._silent:
            self._console.print(Text(text, style))


_FRONT_HELPS = "ut Toolwire in front. Calls arrived just now with:"
_FRONT_WORKS = "ut Toolwire in front if agents still have trouble (calls arrived through it, too):"
_NOTHING_HELPS = (
    "\nNo setting was found with which calls arrive. Try another model, or give the model's chat "
    "template with --chat-template; `toolwire serve --trace-dir DIR --trace-bodies` records what "
    "the model writes."
)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _facts(seen: Examination, diagnosis: Diagnosis, options: dict[str, str]) -> dict[str, Any]:
    facts, setting = seen.facts, diagnosis.setting
    found = facts.format
    return {
        "url": facts.url,
        "server": {"kind": facts.kind or None, "version": facts.version, "why": facts.why},
        "models": list(facts.models),
        "model": facts.model,
        "format": {"name": found.format, "reason": found.reason} if found else None,
        "checks": [{"way": o.setup, **_result(o.result)} for o in seen.observations],
        "works": diagnosis.works,
        "cause": diagnosis.cause,
        "server_flags": diagnosis.server_flags or None,
        "command": command_for(facts, setting, **options) if setting else None,
        "toml": toml_for(facts, setting, **options) if setting else None,
    }


def _result(result: TrialResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "verdict": str(result.verdict),
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
    }
