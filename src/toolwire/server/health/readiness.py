"""Answers `/readyz`: whether new requests should be sent here."""

from typing import Any

from toolwire.server.health.backend_watch import BackendWatch
from toolwire.sessions.guard import GuardedStore


class Readiness:
    """Whether this process is ready.

    A session store that is down is reported. It makes the process unready only if the
    configuration says so, because requests without a session still work. `backends` is set if at
    least one backend must be live.
    """

    def __init__(
        self,
        store: GuardedStore | None,
        *,
        store_required: bool,
        backends: BackendWatch | None = None,
    ) -> None:
        self._store = store
        self._required = store_required
        self._backends = backends

    def status(self, *, draining: bool) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and the body."""
        if draining:
            return 503, {"status": "draining"}
        status, told = self._of_store()
        if self._backends is None:
            return status, told
        told["backends"] = {"live": self._backends.live, "total": self._backends.total}
        if not self._backends.live:
            return 503, told | {"status": "no_backend"}
        return status, told

    def _of_store(self) -> tuple[int, dict[str, Any]]:
        if self._store is None or (self._store.state == "unused" and not self._required):
            return 200, {"status": "ready"}
        if self._store.state == "unused":
            self._store.check_soon()
        if self._required and self._store.state != "available":
            return 503, {"status": "unready", "sessions": "unavailable"}
        return 200, {"status": "ready", "sessions": self._store.state}
