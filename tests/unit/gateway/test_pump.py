"""The time limits of a turn begin anew with each attempt."""

import asyncio
from collections.abc import Callable

import pytest

from toolwire.backends.base import UNKNOWN, BackendRequest, BackendTimeouts, FragmentListener
from toolwire.backends.pool import BackendPool
from toolwire.errors import UpstreamError, UpstreamTimeout
from toolwire.gateway.plan import make_plan
from toolwire.gateway.pump import Pump
from toolwire.gateway.report import Report
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.events import Event
from toolwire.protocol.fragments import STOPPED_BY, Fragment
from toolwire.protocol.requests import ChatMessage, Request

AT_ONCE = TurnLimits(backoff=0.0)


class Answer:
    """Begins with the bare role and breaks, or is silent for a while and says all."""

    def __init__(self, silence: float | None, retry_after: float | None = None) -> None:
        self.silence = silence
        self.retry_after = retry_after

    async def relay(self, listener: FragmentListener) -> bool:
        if self.silence is None:
            listener([Fragment()])
            error = UpstreamError("The backend closed the connection.")
            error.retry_after = self.retry_after
            raise error
        await asyncio.sleep(self.silence)
        listener([Fragment(text="hello", finish="stop")])
        return True

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class Backend:
    """Each time it is asked, the next answer."""

    name = "b"
    constrains = False
    capabilities = UNKNOWN
    needs_probe = False

    def __init__(
        self, timeouts: BackendTimeouts, *silences: float | None, retry_after: float | None = None
    ) -> None:
        self.timeouts = timeouts
        self.answers = [Answer(silence, retry_after) for silence in silences]

    def chooses(self, _request: Request) -> bool:
        return False

    def ignored(self, _request: Request) -> list[str]:
        return []

    async def open(self, _outgoing: BackendRequest) -> Answer:
        return self.answers.pop(0)


class Sink:
    """Takes everything, and never commits."""

    committed = False

    def begin(self, *_: object) -> None: ...
    def send(self, choice: int, events: list[Event]) -> None: ...
    def flush(self) -> None: ...
    def keepalive(self) -> None: ...


def turn(backend: Backend, limits: TurnLimits = AT_ONCE) -> Report:
    async def run() -> Report:
        request = Request("m", (ChatMessage("user", "hi"),))
        plan = make_plan(request, repair_history=False)
        clock: Callable[[], float] = asyncio.get_running_loop().time
        model = ServedModel("m", BackendPool([backend], clock))
        return await Pump(
            plan, model, Sink(), limits, lambda: "c", flow=lambda *_: None, watchdog=Watchdog()
        ).run()

    return asyncio.run(run())


def test_a_retry_has_all_of_the_time_for_a_first_token() -> None:
    backend = Backend(BackendTimeouts(first_token=5.0, idle=0.2), None, 0.6)
    assert turn(backend).retries == ["upstream_error"]


def test_a_retry_has_no_more_than_the_time_for_a_first_token() -> None:
    backend = Backend(BackendTimeouts(first_token=0.2, idle=5.0), None, 2.0)
    with pytest.raises(UpstreamTimeout, match=r"gave no answer within 0\.2 s"):
        turn(backend)


@pytest.mark.parametrize("retry_after", [None, 0.6])
def test_the_time_between_two_attempts_is_no_silence_of_a_backend(
    retry_after: float | None,
) -> None:
    backend = Backend(
        BackendTimeouts(first_token=0.3, idle=0.3), None, 0.0, retry_after=retry_after
    )
    assert turn(backend, TurnLimits(backoff=0.6)).retries == ["upstream_error"]


def test_the_time_between_two_attempts_counts_against_the_total() -> None:
    backend = Backend(BackendTimeouts(), None, 0.0)
    with pytest.raises(UpstreamTimeout, match=r"did not finish within 0\.3 s"):
        turn(backend, TurnLimits(backoff=5.0, total=0.3))


class Stopped(Answer):
    """Says why it ended, and breaks."""

    async def relay(self, listener: FragmentListener) -> bool:
        listener([Fragment(text="no"), Fragment(about=((STOPPED_BY, "###"),))])
        raise UpstreamError("The backend closed the connection.")


def test_why_a_discarded_attempt_ended_is_forgotten() -> None:
    backend = Backend(BackendTimeouts(), 0.0)
    backend.answers.insert(0, Stopped(None))
    report = turn(backend)
    assert not backend.answers
    assert report.stopped_by == ""


class Choices(Answer):
    """Says three choices at once, and counts how often anything else can run until it is closed."""

    others = 0
    closed = False

    async def relay(self, listener: FragmentListener) -> bool:
        listener([Fragment(number, "hello", finish="stop") for number in range(3)])
        asyncio.get_running_loop().call_soon(self.other)
        return True

    def other(self) -> None:
        if not self.closed:
            self.others += 1
            asyncio.get_running_loop().call_soon(self.other)

    def close(self) -> None:
        self.closed = True


def test_others_run_between_the_ends_of_two_choices() -> None:
    backend, answer = Backend(BackendTimeouts(), 0.0), Choices(0.0)
    backend.answers = [answer]
    turn(backend)
    assert answer.others == 2
