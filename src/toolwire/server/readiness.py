"""What `/readyz` says: whether new requests are to be sent here."""

from toolwire.sessions.guard import GuardedStore


class Readiness:
    """Whether this process is ready.

    A session store that is down is reported. It makes the process unready only if the
    configuration says so, because requests without a session are served all the same.
    """

    def __init__(self, store: GuardedStore | None, *, store_required: bool) -> None:
        self._store = store
        self._required = store_required

    def status(self, *, draining: bool) -> tuple[int, dict[str, str]]:
        """The HTTP status and the body."""
        if draining:
            return 503, {"status": "draining"}
        if self._store is None or (self._store.state == "unused" and not self._required):
            return 200, {"status": "ready"}
        if self._store.state == "unused":
            self._store.check_soon()
        if self._required and self._store.state != "available":
            return 503, {"status": "unready", "sessions": "unavailable"}
        return 200, {"status": "ready", "sessions": self._store.state}
