"""`POST /v1/chat/completions`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from toolwire.errors import GatewayError, ShuttingDown
from toolwire.gateway.plan import DEFAULT_MENDING, Mending, Plan, make_plan
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.run import Pace, Turn
from toolwire.gateway.trace import TurnTrace
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.openai import RequestReader
from toolwire.surfaces.exchange import Exchange, HttpRequest, Visit
from toolwire.surfaces.openai_chunks import AnswerHead
from toolwire.surfaces.openai_sinks import StreamSink, WholeSink
from toolwire.surfaces.profiles import Profile, profile_for

_LARGE_BODY = 128 * 1024
"""Reading a body this large takes long enough to make other clients wait: not in the loop."""


@dataclass(frozen=True, slots=True)
class OpenAiChat:
    """The surface. Holds what every request needs, nothing of any of them."""

    reader: RequestReader
    routes: Routes
    pace: Pace
    repair_history: bool
    new_id: Callable[[str], str]
    """A fresh random id with this prefix."""
    now: Callable[[], float]
    """Seconds since 1970."""
    mending: Mending = DEFAULT_MENDING
    keep: Callable[[TurnTrace], None] | None = None
    """Takes the trace of each request that is over; None: no traces are made."""
    watchdog: Watchdog = field(default_factory=Watchdog)

    def _new_call_id(self) -> str:
        return self.new_id("call_")

    async def answer(self, exchange: Exchange, visit: Visit) -> None:
        """Answer one request. Raises `GatewayError` while nothing has been sent."""
        headers = exchange.request
        profile = profile_for(headers.header(b"user-agent"), headers.header(b"toolwire-profile"))
        visit.profile = profile.name
        if self.keep is None:
            await self._answer(exchange, visit, profile)
            return
        trace = TurnTrace(visit.request_id, exchange.request.body, profile.name, self.now())
        try:
            await self._answer(exchange, visit, profile, trace)
        except GatewayError as error:
            trace.error = error
            raise
        except asyncio.CancelledError:
            trace.gone = True
            raise
        finally:
            self.keep(trace)

    async def _answer(
        self, exchange: Exchange, visit: Visit, profile: Profile, trace: TurnTrace | None = None
    ) -> None:
        request = exchange.request
        if len(request.body) > _LARGE_BODY:
            plan, model = await asyncio.to_thread(self._prepare, request, profile)
        else:
            plan, model = self._prepare(request, profile)
        if trace is not None:
            trace.plan, trace.route = plan, model.name
            trace.repair_history, trace.custom_tools = self.repair_history, model.custom_tools
        visit.model, visit.route, visit.stream = plan.request.model, model.name, plan.request.stream
        head = AnswerHead(
            response_id=self.new_id("chatcmpl-"),
            created=int(self.now()),
            model=plan.request.model,
            names=plan.request.tools.originals,
            call_id_in_deltas=profile.call_id_in_deltas,
        )
        kind = StreamSink if plan.request.stream else WholeSink
        await self._run(kind(exchange, visit, plan, head), model, trace)

    def _prepare(self, asked: HttpRequest, profile: Profile) -> tuple[Plan, ServedModel]:
        # The body is taken when a thread is free for it: by then the client may have left, and
        # what waits for a thread must not keep it.
        body = asked.body
        request = self.reader.read(body, lenient_names=profile.lenient_names)
        if profile.lost_result is not None:
            request = replace(request, messages=profile.mend(request.messages))
        model = self.routes.find(request.model)
        plan = make_plan(
            request,
            repair_history=self.repair_history,
            custom_tools=model.custom_tools,
            mending=self.mending,
            large=len(body) > _LARGE_BODY,
        )
        return plan, model

    async def _run(
        self, sink: StreamSink | WholeSink, model: ServedModel, trace: TurnTrace | None
    ) -> None:
        turn = Turn(
            sink.plan,
            model,
            sink,
            self.pace,
            self._new_call_id,
            watchdog=self.watchdog,
            trace=trace,
        )
        visit = sink.visit
        try:
            visit.usage = sink.done(await turn.run())
        except GatewayError as error:
            visit.error = error.code
            sink.fail(error)
            if trace is not None:
                trace.error = error
        except asyncio.CancelledError:
            visit.error = "client_gone"
            if not sink.exchange.gone:
                visit.error = ShuttingDown.code
                sink.fail(ShuttingDown("The server is shutting down. Try again."))
            raise
        finally:
            report = visit.report = turn.report
            visit.backend = report.backend
            if trace is not None:
                trace.usage, trace.repairs = report.usage, frozenset(report.repairs)
                trace.retries = tuple(report.retries)
