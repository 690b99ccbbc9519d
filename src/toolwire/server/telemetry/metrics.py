"""Counters: plain numbers that become Prometheus metrics on request.

Every request is counted, so counting is only an addition in a dict. The event loop is the only
writer, so no lock is needed. Every label has a small, known set of values: routes and backends
come from the configuration, the rest from our own code, and anything else is counted as "other".
Text from clients is never a label.
"""

from bisect import bisect_left
from collections.abc import Iterable

from toolwire.sessions.guard import GuardedStore

OTHER = "other"
MOST_VALUES = 64  # of a label whose values our own code chooses
BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


class Level:
    """A number that goes up and down."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Tally:
    """Counts by one label, with a limit on its number of values."""

    __slots__ = ("_most", "counts")

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self.counts: dict[str, int] = {}

    def __call__(self, value: str, amount: int = 1) -> None:
        counts = self.counts
        if value not in counts and len(counts) >= self._most:
            value = OTHER
        counts[value] = counts.get(value, 0) + amount


class TallyByBackend:
    """Counts by backend and one more label. Unconfigured backends share one value."""

    __slots__ = ("_known", "tallies")

    def __init__(self, backends: frozenset[str]) -> None:
        self._known = backends
        self.tallies: dict[str, Tally] = {}

    def __call__(self, backend: str, value: str) -> None:
        if backend not in self._known:
            backend = OTHER
        tally = self.tallies.get(backend)
        if tally is None:
            tally = self.tallies[backend] = Tally()
        tally(value)


class Spread:
    """A histogram of durations over `BOUNDS`; the last count is for longer ones."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def __call__(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds


class Metrics:
    """The counters of one server process."""

    def __init__(self, routes: Iterable[str] = (), backends: Iterable[str] = ()) -> None:
        self._routes = frozenset(routes)
        self._backends = known = frozenset(backends)
        self.requests: dict[tuple[str, int, bool], int] = {}
        self.durations: dict[tuple[str, bool], Spread] = {}
        self.in_flight = Level()
        self.first_tokens: dict[str, Spread] = {}
        self.attempted = Tally(max(MOST_VALUES, len(known)))
        self.token_counts = Tally()
        self.call_count = 0
        """Tool calls that were delivered to clients."""
        self.retried = TallyByBackend(known)
        self.repaired = Tally()
        self.unfit = Tally()
        self.backend_error = TallyByBackend(known)
        self.refused = Tally()
        self.client_gone = Tally()
        self.sessions: GuardedStore | None = None

    def request_done(self, route: str, status: int, stream: bool, seconds: float) -> None:  # noqa: FBT001
        """Count a finished request."""
        if route not in self._routes:
            route = OTHER
        if not 100 <= status <= 599:
            status = 0
        key = (route, status, stream)
        self.requests[key] = self.requests.get(key, 0) + 1
        duration = self.durations.get((route, stream))
        if duration is None:
            duration = self.durations[route, stream] = Spread()
        duration(seconds)

    def first_token(self, backend: str, seconds: float) -> None:
        """Count the time until the first token of a streamed answer."""
        if backend not in self._backends:
            backend = OTHER
        spread = self.first_tokens.get(backend)
        if spread is None:
            spread = self.first_tokens[backend] = Spread()
        spread(seconds)

    def tokens(self, prompt: int, completion: int) -> None:
        """Count the tokens of a turn, as the backend counted them."""
        counts = self.token_counts.counts
        counts["prompt"] = counts.get("prompt", 0) + prompt
        counts["completion"] = counts.get("completion", 0) + completion

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        # Imported when first asked for: prometheus_client takes about 0.1 s to load.
        from toolwire.server.telemetry.metrics_text import render  # noqa: PLC0415

        return render(self)
