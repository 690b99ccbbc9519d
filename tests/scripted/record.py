"""What reached the backend: one entry per request, for tests to look at."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Recorded:
    """One request. Times are `time.monotonic()`, which all processes of one machine share."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    closed_at: float | None = field(default=None, init=False)
    """When the peer closed the connection before the reply was complete."""
    finished_at: float | None = field(default=None, init=False)
    """When the last byte of the reply was handed to the kernel."""

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def json_or_none(self) -> Any:
        """The body, decoded, or None if it is not JSON."""
        try:
            return self.json
        except ValueError:
            return None

    def to_json(self) -> dict[str, Any]:
        """Give the entry as the control endpoint shows it."""
        text = self.body.decode("utf-8", "replace")
        return {**asdict(self), "body": text, "json": self.json_or_none}
