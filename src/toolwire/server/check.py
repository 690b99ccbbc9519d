"""`toolwire check`: can each backend be reached, is the key right, which models does it have?"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from toolwire.backends.embedded.engine import EmbeddedEngine
from toolwire.errors import GatewayError
from toolwire.server.app import App
from toolwire.server.config.settings import Config
from toolwire.server.logs import setup


@dataclass(frozen=True, slots=True)
class BackendCheck:
    """The result for one backend."""

    backend: str
    ok: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'} {self.backend}: {self.text}"


def check_backends(config: Config, engine: EmbeddedEngine | None = None) -> Iterator[BackendCheck]:
    """Ask every backend for its models."""
    yield from asyncio.run(_check(config, engine))


async def _check(config: Config, engine: EmbeddedEngine | None) -> list[BackendCheck]:
    app = App(config, setup("error"), clock=time.perf_counter, engine=engine)
    wanted = {
        backend.name: backend.model or (None if route.name == "*" else route.name)
        for route in config.models
        for backend in route.backends
    }
    findings = []
    for backend in app.backends():
        try:
            async with asyncio.timeout(config.timeouts.connect + 10):
                names = await backend.models()
                how = await backend.check()
        except GatewayError as error:
            hint = " (404) Is the URL right? Most end in /v1." if error.status == 404 else ""
            findings.append(BackendCheck(backend.name, ok=False, text=f"{error.message}{hint}"))
        except TimeoutError:
            findings.append(BackendCheck(backend.name, ok=False, text="it does not answer."))
        else:
            findings.append(_models(backend.name, names, wanted[backend.name], how))
    await app.aclose()
    return findings


def _models(backend: str, names: list[str], wanted: str | None, how: str) -> BackendCheck:
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    if wanted is not None and names and wanted not in names:
        text = f"it has no model '{wanted}', only: {shown}. Set 'model' for this backend."
        return BackendCheck(backend, ok=False, text=text)
    about = f"; {how}" if how else ""
    return BackendCheck(
        backend, ok=True, text=f"reached; models: {shown or '(none listed)'}{about}"
    )
