"""Builds the inspector from the configuration: its pages and its endpoints, and their paths."""

from functools import partial

from toolwire.inspector.endpoints import inspector_endpoints
from toolwire.server.config.settings import Config
from toolwire.server.process.check_process import CheckProcess
from toolwire.server.router import Resource
from toolwire.server.telemetry.trace_memory import MemoryTraces
from toolwire.server.telemetry.trace_store import TraceStore
from toolwire.surfaces.openai.chat import OpenAiChat


def inspector_api(
    config: Config,
    chat: OpenAiChat,
    traces: TraceStore | MemoryTraces,
    checker: CheckProcess,
) -> dict[str, Resource]:
    """Return the resources of the inspector, by path."""
    endpoints = inspector_endpoints(
        chat,
        traces,
        checker,
        bodies=config.trace.bodies,
        lasting=config.trace.dir is not None,
        sees_all=partial(_sees_all, config),
    )
    return {path: Resource(chat, methods) for path, methods in endpoints.items()}


def _sees_all(config: Config, key_name: str | None) -> bool:
    """Whether the inspector shows the requests of all keys to this one."""
    return not config.keys or any(key.inspects and key.name == key_name for key in config.keys)
