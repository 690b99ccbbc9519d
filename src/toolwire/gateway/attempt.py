"""One backend's answer to one plan: fragments through the stages, events out. Pure."""

from collections.abc import Callable
from typing import Protocol

from toolwire.errors import UpstreamError
from toolwire.formats import parser_for
from toolwire.gateway.native import NativeTurn
from toolwire.gateway.plan import Plan
from toolwire.gateway.policy import Policy
from toolwire.gateway.watched import WatchedTurn
from toolwire.gateway.ways import Way
from toolwire.protocol.events import Event, Usage
from toolwire.protocol.fragments import Fragment

Send = Callable[[int, list[Event]], None]


class Reading(Protocol):
    """The first stage of a choice: what the backend said -> events."""

    @property
    def repairs(self) -> set[str]:
        """What was mended."""
        ...

    def feed(self, fragment: Fragment) -> list[Event]:
        """Take what the backend said next."""
        ...

    def finish(self, *, done: bool) -> list[Event]:
        """The answer is over."""
        ...


class Attempt:
    """Feeds fragments to the choices they belong to, and hands on what may go out."""

    def __init__(self, plan: Plan, way: Way, send: Send, new_call_id: Callable[[], str]) -> None:
        self.usage: Usage | None = None
        self.repairs: set[str] = set()
        self.calls = 0
        self._plan = plan
        self._way = way
        self._send = send
        self._new_call_id = new_call_id
        self._choices: dict[int, tuple[Reading, Policy]] = {}

    @property
    def begun(self) -> bool:
        """Whether the backend has said anything."""
        return bool(self._choices)

    def feed(self, fragments: list[Fragment]) -> None:
        """Take what one read of the backend gave."""
        for fragment in fragments:
            if fragment.usage is not None:
                self.usage = fragment.usage
                continue
            index = fragment.choice
            reading, policy = self._choices.get(index) or self._open(index)
            if events := policy.feed(reading.feed(fragment)):
                self._send(index, events)

    def finish(self, *, done: bool) -> None:
        """The backend has ended. Raises `UpstreamError` if that cannot be the end."""
        if not self._choices:
            raise UpstreamError("The backend's answer was empty.")
        for index, (reading, policy) in sorted(self._choices.items()):
            events = policy.feed(reading.finish(done=done))
            self.repairs |= reading.repairs | policy.repairs
            self.calls += policy.calls
            self._send(index, events)

    def _open(self, index: int) -> tuple[Reading, Policy]:
        plan, way = self._plan, self._way
        tools = plan.outgoing.tools.tools
        native = NativeTurn(tools, self._new_call_id)
        reading: Reading = native
        if way.format is not None and plan.offers_tools:
            parser = parser_for(way.format, tools.values(), delivery=plan.delivery)
            reading = WatchedTurn(
                native, parser, self._new_call_id, promoting=way.kind == "watched"
            )
        pair = self._choices[index] = (reading, plan.policy())
        return pair
