"""What is wrong, and the exact settings that help: from what was seen, never from a guess.

A setting is only advised if the examination has seen calls arrive with it.
"""

import re
from dataclasses import dataclass

from toolwire.conformance.endpoint import REACH, Verdict
from toolwire.doctor.examination import CALL, STREAMED, TALK, Examination, Setup
from toolwire.doctor.server_flags import flags_for

_AS_TEXT = re.compile(r"came back as text, in the format (\S+)")
_REFUSED = re.compile(r"HTTP (400|404|405|415|422|500|501)\b")


@dataclass(frozen=True, slots=True)
class AdvisedSetting:
    """The settings of a Toolwire with which calls arrived."""

    mode: str = "auto"
    format: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of an examination."""

    works: bool
    """Whether an agent can use the server as it is."""
    cause: str
    server_flags: str = ""
    """What to start the server with so that it parses calls itself."""
    setting: AdvisedSetting | None = None
    """With which Toolwire calls arrive; None if with none."""


def diagnose(seen: Examination) -> Diagnosis:
    """Find the cause, and what to do about it."""
    if (talk := seen.of("server", TALK)) is not None and talk.detail.startswith(
        ("HTTP 401", "HTTP 403")
    ):
        return Diagnosis(works=False, cause=f"The server refuses the key: {talk.detail}")
    if seen.calls("server"):
        return _working(seen)
    format_name = _format(seen)
    return Diagnosis(
        works=False,
        cause=_cause(seen).rstrip(".") + ".",
        server_flags=flags_for(seen.facts.kind, format_name, _said(seen)),
        setting=_setting(seen, format_name),
    )


def _working(seen: Examination) -> Diagnosis:
    rest = [result.name for result in seen.failures("server")]
    cause = "The server's own tool calling works, whole and streamed."
    if rest:
        cause += f" What does not: {', '.join(rest)}."
    return Diagnosis(works=True, cause=cause, setting=_setting(seen, ""))


def _cause(seen: Examination) -> str:
    said, streamed = _said(seen), seen.of("server", STREAMED)
    if found := _AS_TEXT.search(said):
        return (
            f"The model writes its calls as '{found[1]}', and the server leaves them in its text "
            "instead of parsing them"
        )
    if _REFUSED.search(said):
        if not seen.works("server", TALK):
            return f"The server does not answer chat requests: {said}"
        return f"The server refuses requests with tools: {said}"
    reach = seen.of("server", REACH)
    if reach is not None and reach.verdict is Verdict.FAILS:
        return f"The server drops the tools before the model sees them: {reach.detail}"
    if seen.works("server", CALL) and streamed is not None:
        return f"Calls work whole but not streamed: {streamed.detail}"
    if seen.calls("auto") or seen.calls("prompted"):
        return f"The server does not deliver the model's calls: {said}"
    return f"The model does not call tools, however it is given them: {said}"


def _said(seen: Examination) -> str:
    """What became of a single call."""
    whole = seen.of("server", CALL)
    return whole.detail if whole is not None else ""


def _format(seen: Examination) -> str:
    """The format of the model's calls, as it was seen, or else as it is known."""
    for finding in seen.observations:
        if found := _AS_TEXT.search(finding.result.detail):
            return found[1]
    return seen.facts.format.format if seen.facts.format is not None else ""


def _setting(seen: Examination, format_name: str) -> AdvisedSetting | None:
    """The simplest setting with which an agent gets its calls."""
    setups: tuple[Setup, ...] = ("auto", "prompted")
    for setup in setups:
        if seen.calls(setup):
            known = seen.facts.format
            needed = format_name if known is None or known.format != format_name else ""
            return AdvisedSetting(setup, needed)
    return None
