"""Validates costly calls in separate processes (`validation_worker`)."""

import asyncio
from collections.abc import Sequence

import msgspec

from toolwire.backends.limited_process import LimitedProcess, ProcessFailed, ProcessTooSlow
from toolwire.gateway.repair.costly import CheckedCall, CostlyCall, unchecked

_WORKER = ("-m", "toolwire.gateway.repair.validation_worker")
_DEADLINE = 2.0
_LONGEST = 10.0
"""Seconds for all calls of an answer, including the wait for a process."""
_PROCESSES = 2


class CheckProcess:
    """A `Checker`. It starts processes on demand. Must be closed."""

    def __init__(self, *, deadline: float = _DEADLINE, longest: float = _LONGEST) -> None:
        self._deadline = deadline
        self._longest = longest
        self._free = asyncio.Semaphore(_PROCESSES)
        self._processes: list[LimitedProcess] = []
        self._idle: list[LimitedProcess] = []

    async def check(self, calls: Sequence[CostlyCall]) -> list[CheckedCall]:
        """See `Checker.check`."""
        done: list[CheckedCall] = []
        try:
            async with asyncio.timeout(self._longest), self._free:
                process = self._idle.pop() if self._idle else self._another()
                try:
                    for call in calls:
                        done.append(await self._ask(process, call))  # noqa: PERF401 - kept if late
                finally:
                    self._idle.append(process)
        except TimeoutError:
            pass
        late = f"it took more than {self._longest:g} s"
        return done + [unchecked(call, late) for call in calls[len(done) :]]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()

    def _another(self) -> LimitedProcess:
        self._processes.append(LimitedProcess(_WORKER, deadline=self._deadline))
        return self._processes[-1]

    async def _ask(self, process: LimitedProcess, call: CostlyCall) -> CheckedCall:
        try:
            answer = await process.ask(msgspec.json.encode(call))
        except ProcessTooSlow as error:
            return unchecked(call, str(error))
        except ProcessFailed:
            return unchecked(call, "it needed too much memory, or could not be started")
        if "error" in answer:
            return unchecked(call, answer["error"])
        return msgspec.convert(answer, CheckedCall)
