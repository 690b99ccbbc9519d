"""Builds the inspector from the configuration: its pages and its endpoints, and their paths."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from toolwire.gateway.context import RequestContext
from toolwire.inspector.page import page_endpoints
from toolwire.inspector.paths import METHODS
from toolwire.later import Later
from toolwire.server.config.settings import Config
from toolwire.server.process.check_process import CheckProcess
from toolwire.server.router import Handler, Resource
from toolwire.server.telemetry.trace_memory import MemoryTraces
from toolwire.server.telemetry.trace_store import TraceStore
from toolwire.surfaces.exchange import Exchange
from toolwire.surfaces.openai.chat import OpenAiChat

Endpoints: TypeAlias = Mapping[str, Handler]

_ENDPOINTS: Later[Callable[..., Endpoints]] = Later(
    "toolwire.inspector.endpoints", "inspector_endpoints"
)


class OnFirstUse:
    """Endpoints that are built, in a thread, when one of them is first requested."""

    def __init__(self, build: Callable[[], Endpoints]) -> None:
        self._build = build
        self._built: Endpoints | None = None
        self._alone = asyncio.Lock()

    async def answer(self, path: str, exchange: Exchange, context: RequestContext) -> None:
        """Answer a request for one of the paths."""
        async with self._alone:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
        await self._built[path](exchange, context)


def inspector_api(
    config: Config,
    chat: OpenAiChat,
    traces: TraceStore | MemoryTraces,
    checker: CheckProcess,
) -> dict[str, Resource]:
    """Return the resources of the inspector, by path."""
    endpoints = OnFirstUse(
        lambda: _ENDPOINTS()(
            chat,
            traces,
            checker,
            bodies=config.trace.bodies,
            lasting=config.trace.dir is not None,
            sees_all=partial(_sees_all, config),
        )
    )
    table = {path: {"GET": file} for path, file in page_endpoints().items()} | {
        path: {method: partial(endpoints.answer, path)} for path, method in METHODS.items()
    }
    return {path: Resource(chat, methods) for path, methods in table.items()}


def _sees_all(config: Config, key_name: str | None) -> bool:
    """Whether the inspector shows the requests of all keys to this one."""
    return not config.keys or any(key.inspects and key.name == key_name for key in config.keys)
