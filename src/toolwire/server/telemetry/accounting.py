"""Accounts for each request at its end: in the metrics, and in the access log."""

from toolwire.gateway.context import RequestContext
from toolwire.gateway.report import Report
from toolwire.inspector.paths import POLLED
from toolwire.protocol.usage import TokenUsage
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
        gone, stream, report, usage = exchange.gone, context.stream, context.report, context.usage
        status = 499 if gone and not exchange.sent else exchange.status
        metrics = self._metrics
        metrics.request_done(context.route, status, stream, seconds)
        turn = None
        if report is not None:
            metrics.call_count += report.calls
            if stream or report.repairs or report.findings:
                self._count(report, stream=stream)
            turn = _facts(report, usage or report.usage)
        if usage is not None:
            metrics.tokens(usage.prompt_tokens, usage.completion_tokens)
        if gone:
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
            stream=stream,
            sent=exchange.sent,
            turn=turn,
        )

    def _count(self, report: Report, *, stream: bool) -> None:
        metrics = self._metrics
        if stream and report.first_token_after is not None:
            metrics.first_token(report.backend, report.first_token_after)
        for rule in report.repairs:
            metrics.repaired(rule.partition(":")[0])
        for finding in report.findings:
            metrics.unfit(finding.code)


def _facts(report: Report, usage: TokenUsage | None) -> TurnFacts:
    """Return what the access line reports about a turn."""
    prompt = completion = None
    if usage is not None:
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
    repairs = [repair.partition(":")[0] for repair in report.repairs] if report.repairs else ()
    return TurnFacts(prompt, completion, report.first_token_after, len(report.retries), repairs)
