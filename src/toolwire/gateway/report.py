"""The result of a turn, for headers, logs and metrics."""

import msgspec

from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.usage import TokenUsage


class Report(msgspec.Struct):
    """Filled in while the turn runs."""

    backend: str = ""
    usage: TokenUsage | None = None
    about: dict[str, str] = {}
    """What the backend reports about its answer as a whole."""
    stopped_by: str = ""
    """The stop sequence that ended the answer, if the backend reports it."""
    ended_by: str = ""
    """Why the answer ended, if a finish reason is less exact: see `ENDED_BY`."""
    calls: int = 0
    repairs: set[str] = set()
    findings: list[Finding] = []
    """Problems with calls that were delivered anyway."""
    retries: list[str] = []
    first_token_after: float | None = None
