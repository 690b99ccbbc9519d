"""The result of a turn, for headers, logs and metrics."""

from dataclasses import dataclass, field

from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.usage import TokenUsage


@dataclass(slots=True)
class Report:
    """Filled in while the turn runs."""

    backend: str = ""
    usage: TokenUsage | None = None
    about: dict[str, str] = field(default_factory=dict)
    """What the backend reports about its answer as a whole."""
    stopped_by: str = ""
    """The stop sequence that ended the answer, if the backend reports it."""
    ended_by: str = ""
    """Why the answer ended, if a finish reason is less exact: see `ENDED_BY`."""
    calls: int = 0
    repairs: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    """Problems with calls that were delivered anyway."""
    retries: list[str] = field(default_factory=list)
    first_token_after: float | None = None
