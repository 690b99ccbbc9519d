"""`toolwire check`: checks that each backend is reachable and accepts our key. It reports the
backend's models and the tool mode that they need."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolwire.errors import GatewayError
from toolwire.server.assembly import request_reader
from toolwire.server.config.settings import Config
from toolwire.server.health.introduction import ServedBackend, served_backends
from toolwire.server.health.tool_check import try_tools
from toolwire.server.services import Services
from toolwire.server.telemetry.logs import setup

if TYPE_CHECKING:
    from toolwire.backends.embedded.engine import EmbeddedEngine


@dataclass(frozen=True, slots=True)
class BackendCheck:
    """The result for one backend."""

    backend: str
    ok: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'} {self.backend}: {self.text}"


def check_backends(
    config: Config, engine: "EmbeddedEngine | None" = None
) -> Iterator[BackendCheck]:
    """Ask every backend for its models, and send each one harmless request with a tool."""
    yield from asyncio.run(_check(config, engine))


async def _check(config: Config, engine: "EmbeddedEngine | None") -> list[BackendCheck]:
    services = Services(config, setup("error"), time.perf_counter, engine)
    findings = [
        await _look_at(config, served) for served in served_backends(config, services.routes)
    ]
    await services.aclose()
    return findings


async def _look_at(config: Config, served: ServedBackend) -> BackendCheck:
    backend, wanted = served.backend, served.wanted
    try:
        async with asyncio.timeout(config.timeouts.connect + 10):
            names = await backend.models()
            how = await backend.check()
    except GatewayError as error:
        hint = " (404) Is the URL right? Most end in /v1." if error.status == 404 else ""
        return BackendCheck(backend.name, ok=False, text=f"{error.message}{hint}")
    except TimeoutError:
        return BackendCheck(backend.name, ok=False, text="it does not answer.")
    found = _models(backend.name, names, wanted, how)
    name = wanted or next(iter(names), None)
    if not found.ok or name is None or served.config.is_embedded:
        return found
    return await _tools(config, served, name, found)


async def _tools(
    config: Config, served: ServedBackend, name: str, found: BackendCheck
) -> BackendCheck:
    """Return the result with the tool mode that this model needs."""
    model, backend = served.model, served.backend
    try:
        need = await try_tools(model, backend, name, request_reader(config), time.perf_counter)
    except GatewayError as error:
        text = f"{found.text}; a request with a tool to '{name}' failed: {error.message}"
        if error.status == 404:
            text = f"{text.rstrip('.')}. For a server with only /completions, set 'chat_template'."
        return BackendCheck(backend.name, ok=not error.lasting, text=text)
    return BackendCheck(backend.name, ok=True, text=f"{found.text}; {name}: {need}")


def _models(backend: str, names: list[str], wanted: str | None, how: str) -> BackendCheck:
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    if wanted is not None and names and wanted not in names:
        text = f"it has no model '{wanted}', only: {shown}. Set 'model' for this backend."
        return BackendCheck(backend, ok=False, text=text)
    about = f"; {how}" if how else ""
    return BackendCheck(
        backend, ok=True, text=f"reached; models: {shown or '(none listed)'}{about}"
    )
