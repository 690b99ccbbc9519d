"""Sends one harmless request with a tool, to find out which tool mode a model needs."""

from collections.abc import Callable
from itertools import count

import msgspec

from toolwire.backends.base import Backend
from toolwire.backends.pool import BackendPool
from toolwire.errors import ToolChoiceUnmet
from toolwire.gateway.plan import make_plan
from toolwire.gateway.pump import Pump
from toolwire.gateway.report import Report
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.sink import Begun
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.events import Event
from toolwire.surfaces.openai.reader import RequestReader

LONGEST = 60.0
"""The timeout in seconds: the first request may have to load the model."""

_BODY = {
    "messages": [{"role": "user", "content": "Call the tool 'ping' with the text 'hello'."}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "ping",
                "description": "Does nothing.",
                "parameters": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
            },
        }
    ],
    "tool_choice": "required",
}
_NEEDS = {
    "native": "the server's own tools work (mode native)",
    "hybrid": "the server's own tools work (mode native)",
    "prompted": "tools have to be written into the prompt (mode prompted)",
    "constrained": "tools have to be written into the prompt (mode prompted)",
}
_NO_CALL = {
    "native": "with the server's own tools (mode native)",
    "hybrid": "with the server's own tools (mode native)",
    "prompted": "even with the tools in the prompt (mode prompted)",
    "constrained": "even with the tools in the prompt (mode prompted)",
}
_PROMOTED = "the server leaves calls in its text: they are found there (mode hybrid)"


class _Sink:
    """Records only the tool mode."""

    committed = False
    mode = ""

    def begin(self, begun: Begun) -> None:
        self.mode = begun.mode

    def send(self, choice: int, events: list[Event]) -> None: ...
    def flush(self) -> None: ...
    def keepalive(self) -> None: ...


async def try_tools(
    model: ServedModel,
    backend: Backend,
    name: str,
    reader: RequestReader,
    clock: Callable[[], float],
) -> str:
    """Return the mode that this model needs. Raises `GatewayError` if the turn fails."""
    request = reader.read(msgspec.json.encode({"model": name, **_BODY}))
    alone = ServedModel(model.name, BackendPool([backend], clock), strategies=model.strategies)
    sink, ids = _Sink(), count()
    turn = Pump(
        make_plan(request, repair_history=False),
        alone,
        sink,
        TurnLimits(total=LONGEST, attempts=1),
        lambda: f"call_{next(ids)}",
        flow=lambda *_: None,
        watchdog=Watchdog(),
    )
    try:
        return _need(await turn.run(), sink.mode)
    except ToolChoiceUnmet:
        how = _NO_CALL[sink.mode.partition(":")[0]]
        return f"the model made no call, {how}: `toolwire doctor` finds out why"


def _need(report: Report, mode: str) -> str:
    if "call_promoted_from_text" in report.repairs:
        return f"{_PROMOTED}, format {mode.partition(':')[2]}"
    strategy, _, format_name = mode.partition(":")
    return _NEEDS[strategy] + (f", format {format_name}" if strategy == "prompted" else "")
