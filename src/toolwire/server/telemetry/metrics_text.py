"""Writes the metrics in the Prometheus text format, with its client library."""

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from toolwire.server.telemetry.metrics import BOUNDS, Metrics, Spread, Tally, TallyByBackend
from toolwire.sessions.guard import GuardedStore

_LIMITS = [*map(str, BOUNDS), "+Inf"]
_BY_BACKEND = (
    ("backend_error", "toolwire_backend_errors", "kind", "Failed attempts at backends."),
    ("retried", "toolwire_retries", "reason", "Retries after failed attempts at backends."),
)
_TALLIES = (
    ("attempted", "toolwire_backend_attempts", "backend", "Requests sent to backends."),
    ("token_counts", "toolwire_tokens", "kind", "Tokens, estimated where a backend reports none."),
    ("repaired", "toolwire_repairs", "rule", "Repairs of calls, answers and histories."),
    ("unfit", "toolwire_unfit_calls", "code", "Invalid calls that were delivered."),
    ("refused", "toolwire_refused", "status", "Requests that were refused before they were read."),
    ("client_gone", "toolwire_clients_gone", "moment", "Clients that disconnected before the end."),
)


def render(metrics: Metrics) -> bytes:
    """Return all metrics, including the process's memory, CPU and open files."""
    registry = CollectorRegistry()
    registry.register(Collected(metrics))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class Collected(Collector):
    """Converts `metrics` to Prometheus metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        yield from _requests(self._metrics)
        yield GaugeMetricFamily(
            "toolwire_requests_in_flight",
            "Requests in progress.",
            value=self._metrics.in_flight.value,
        )
        yield _histogram(
            "toolwire_first_token_seconds",
            "Time to the first token of a streamed answer.",
            ("backend",),
            [((backend,), spread) for backend, spread in self._metrics.first_tokens.items()],
        )
        yield CounterMetricFamily(
            "toolwire_tool_calls",
            "Tool calls delivered to clients.",
            value=self._metrics.call_count,
        )
        for attribute, name, label, text in _BY_BACKEND:
            yield _by_backend(name, text, label, getattr(self._metrics, attribute))
        for attribute, name, label, text in _TALLIES:
            yield _tally(name, text, label, getattr(self._metrics, attribute))
        yield from _sessions(self._metrics.sessions)


def _requests(metrics: Metrics) -> Iterator[Metric]:
    total = CounterMetricFamily(
        "toolwire_requests", "Requests answered.", labels=("route", "status", "stream")
    )
    for (route, status, stream), count in metrics.requests.items():
        total.add_metric((route, str(status), str(stream).lower()), count)
    yield total
    yield _histogram(
        "toolwire_request_seconds",
        "Time from a request to the end of its answer.",
        ("route", "stream"),
        [((route, str(stream).lower()), s) for (route, stream), s in metrics.durations.items()],
    )


def _sessions(store: GuardedStore | None) -> Iterator[Metric]:
    """Yield the metrics of the session store. They have no values until it is used."""
    up = GaugeMetricFamily(
        "toolwire_session_store_up", "Whether the session store answers, once it was used."
    )
    failed = CounterMetricFamily(
        "toolwire_session_store_failures", "Requests that the session store did not answer."
    )
    if store is not None and store.state != "unused":
        up.add_metric((), float(store.state == "available"))
        failed.add_metric((), store.failures)
    yield up
    yield failed


def _tally(name: str, text: str, label: str, tally: Tally) -> Metric:
    family = CounterMetricFamily(name, text, labels=(label,))
    for value, count in tally.counts.items():
        family.add_metric((value,), count)
    return family


def _by_backend(name: str, text: str, label: str, counts: TallyByBackend) -> Metric:
    family = CounterMetricFamily(name, text, labels=("backend", label))
    for backend, tally in counts.tallies.items():
        for value, count in tally.counts.items():
            family.add_metric((backend, value), count)
    return family


def _histogram(
    name: str, text: str, labels: tuple[str, ...], spreads: Iterable[tuple[tuple[str, ...], Spread]]
) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, spread in spreads:
        buckets = list(zip(_LIMITS, accumulate(spread.counts), strict=True))
        family.add_metric(values, buckets, sum_value=spread.sum)
    return family
