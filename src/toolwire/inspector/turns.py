"""The latest requests, from their traces: a list, and the details of each."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

SHOWN = 100
_decode = msgspec.json.decode


class Traces(Protocol):
    """A store of the latest traces."""

    def watch(self) -> None:
        """Trace new requests for a while: the inspector is in use."""
        ...

    def newest(self, count: int) -> list[str]:
        """Return the ids of the latest requests, newest first."""
        ...

    def load(self, request_id: str) -> bytes | None:
        """Return the trace of a request, or None."""
        ...


class TurnLog(msgspec.Struct, frozen=True):
    """The requests that a client may see: all, or those of its own key."""

    traces: Traces
    sees_all: Callable[[str | None], bool]
    """Whether the key with this name may see the requests of all keys."""
    _lines: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)

    def list(self, viewer: str | None) -> list[dict[str, Any]]:
        """Return a summary of each of the latest requests, newest first."""
        ids = self.traces.newest(SHOWN)
        for request_id in self._lines.keys() - set(ids):
            self._lines.pop(request_id, None)
        lines = (self._line(request_id) for request_id in ids)
        return [line for line in lines if line and self._may_see(line, viewer)]

    def find(self, request_id: str, viewer: str | None) -> dict[str, Any] | None:
        """Return the trace of a request, or None if there is none that the client may see."""
        raw = self.traces.load(request_id)
        try:
            record = None if raw is None else _decode(raw)
        except msgspec.DecodeError:
            return None
        if not isinstance(record, dict) or "attempts" not in record:
            return None
        return record if self._may_see(record, viewer) else None

    def _line(self, request_id: str) -> dict[str, Any] | None:
        if request_id not in self._lines:
            raw = self.traces.load(request_id)
            try:
                made = summary(_decode(raw or b"null"))
            except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
                return None  # of another version, or damaged
            self._lines[request_id] = made
        return self._lines[request_id]

    def _may_see(self, record: Mapping[str, Any], viewer: str | None) -> bool:
        return self.sees_all(viewer) or (record.get("key") or None) == viewer


def summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary of a request."""
    plan = record["plan"] or {}
    attempts = record["attempts"]
    last = attempts[-1] if attempts else {}
    sent = last.get("sent", {}).values()
    strategy = last.get("strategy", {})
    heard = [block["at"] for attempt in attempts for block in attempt["heard"]]
    return {
        "id": record["request_id"],
        "at": record["at"],
        "took": record.get("took"),
        "first": heard[0] if heard else None,
        "model": plan.get("model", ""),
        "key": record.get("key", ""),
        "stream": plan.get("stream", False),
        "backend": last.get("backend", ""),
        "strategy": strategy.get("kind", ""),
        "format": strategy.get("format"),
        "tools": len(plan.get("tools", ())),
        "calls": [call[1] for whole in sent for call in whole["calls"]],
        "repairs": record["repairs"],
        "retries": list(record["retries"]),
        "findings": [finding["code"] for finding in last.get("findings", ())],
        "error": record["error"] and record["error"]["code"],
        "outcome": outcome(record, last),
        "bodies": record["bodies"],
    }


def outcome(record: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """Return the outcome of a request, as one word."""
    if record["error"]:
        return "error"
    if record["gone"]:
        return "gone"
    if last.get("findings"):
        return "invalid"
    if len(record["attempts"]) > 1:
        return "retried"
    return "repaired" if record["repairs"] else "ok"
