"""A recorded request, run through today's code."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolwire.errors import GatewayError, RequestError
from toolwire.gateway.repair.costly import CheckedCall, Checker, CostlyCall
from toolwire.gateway.trace.replay import CannotReplay, CheckCalls, check_replayable, replay
from toolwire.surfaces.recorded import recorded_request


async def replayed(record: Mapping[str, Any], checker: Checker) -> list[dict[str, Any]]:
    """What is different now. Raises `RequestError` if the trace cannot be replayed."""
    loop = asyncio.get_running_loop()

    def check(calls: Sequence[CostlyCall]) -> Sequence[CheckedCall]:
        return asyncio.run_coroutine_threadsafe(checker.check(calls), loop).result()

    return await asyncio.to_thread(_replay, record, check)


def _replay(record: Mapping[str, Any], check: CheckCalls) -> list[dict[str, Any]]:
    try:
        differences = replay(check_replayable(record), recorded_request(record), check)
    except (CannotReplay, msgspec.MsgspecError, RecursionError) as error:
        raise RequestError(str(error), code="cannot_replay") from None
    except GatewayError as error:
        raise RequestError(error.message, code="cannot_replay") from None
    return [
        {"attempt": one.attempt, "what": one.what, "then": one.then, "now": one.now}
        for one in differences
    ]
