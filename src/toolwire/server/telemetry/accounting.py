"""Accounts for each request at its end: in the metrics, and in the access log."""

from toolwire.gateway.context import RequestContext
from toolwire.gateway.report import Report
from toolwire.inspector.endpoints import POLLED
from toolwire.server.telemetry.logs import Logs, TurnFacts
from toolwire.server.telemetry.metrics import Metrics
from toolwire.surfaces.exchange import Exchange


class Accounting:
    """Counts and logs requests."""

    def __init__(self, metrics: Metrics, logs: Logs) -> None:
        self._metrics = metrics
        self._logs = logs

    def add(self, exchange: Exchange, context: RequestContext, seconds: float) -> None:
        """Account for a request that is over."""
        request = exchange.request
        path = request.path
        status = 499 if exchange.gone and not exchange.sent else exchange.status
        metrics = self._metrics
        metrics.request_done(context.route, status, context.stream, seconds)
        if context.report is not None:
            self._count(context.report, stream=context.stream)
        if context.usage is not None:
            metrics.tokens(context.usage.prompt_tokens, context.usage.completion_tokens)
        if exchange.gone:
            metrics.client_gone("streaming" if exchange.started else "waiting")
        if path == POLLED and status == 200:
            return
        self._logs.access(
            context.request_id,
            request.method,
            path,
            status,
            model=context.model,
            backend=context.backend or None,
            mode=context.mode or None,
            key_name=context.key_name,
            duration_ms=seconds * 1000,
            stream=context.stream,
            sent=exchange.sent,
            turn=_facts(context),
        )

    def _count(self, report: Report, *, stream: bool) -> None:
        metrics = self._metrics
        metrics.calls(report.calls)
        if stream and report.first_token_after is not None:
            metrics.first_token(report.backend, report.first_token_after)
        for rule in report.repairs:
            metrics.repaired(rule.partition(":")[0])
        for finding in report.findings:
            metrics.unfit(finding.code)


def _facts(context: RequestContext) -> TurnFacts | None:
    """Return what the access line reports about a turn, if there was one."""
    report = context.report
    if report is None:
        return None
    usage = context.usage or report.usage
    return TurnFacts(
        usage.prompt_tokens if usage is not None else None,
        usage.completion_tokens if usage is not None else None,
        report.first_token_after,
        len(report.retries),
        [repair.partition(":")[0] for repair in report.repairs],
    )
