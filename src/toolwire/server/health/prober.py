"""Checks whether backends are up: at start, and for a `/readyz` that requires one.

It runs in the background and delays nothing.
"""

import asyncio
import contextlib
from collections.abc import Callable

from toolwire.backends.base import Backend
from toolwire.errors import GatewayError, UpstreamError, UpstreamUnavailable
from toolwire.server.config.settings import Config
from toolwire.server.health.introduction import ServedBackend, introduce, missing, served_backends
from toolwire.server.services import Services

_LONGEST_PAUSE = 30.0
_LONGEST_ANSWER = 10.0


class Prober:
    """Runs one task per backend, until it answers, or forever if `/readyz` requires it."""

    def __init__(self, services: Services, config: Config, say: Callable[[str], None]) -> None:
        self._services = services
        self._config = config
        self._print = say
        self._goes_on = config.health.ready == "backend"

    async def run(self) -> None:
        """Probe all backends, until none has to be probed again."""
        asks = self._config.health.probe_at_start
        async with asyncio.TaskGroup() as tasks:
            for served in served_backends(self._config, self._services.routes):
                if served.config.is_embedded:
                    self._services.watch.probed(served.backend.name, None)
                elif asks or self._goes_on:
                    tasks.create_task(self._follow(served))

    async def _follow(self, served: ServedBackend) -> None:
        introduced, told, pause = not self._config.health.probe_at_start, False, 1.0
        while True:
            names = await self._ask(served.backend)
            if isinstance(names, UpstreamError):
                if not (introduced or told):
                    self._say(missing(served.config, names.message))
                    told = True
            elif not introduced:
                about = await self._about(served.backend)
                self._say(introduce(served, names, about))
                introduced = True
            if introduced and not self._goes_on:
                return
            await asyncio.sleep(self._config.health.interval if introduced else pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _say(self, text: str) -> None:
        # Whoever read the output may be gone: that must not end the probing.
        with contextlib.suppress(OSError):
            self._print(text)

    async def _ask(self, backend: Backend) -> list[str] | UpstreamError:
        """Return the names of its models, empty if it lists none, or why it is not usable."""
        names: list[str] = []
        failed: UpstreamError | None = None
        try:
            async with asyncio.timeout(_LONGEST_ANSWER):
                names = await backend.models()
        except TimeoutError:
            failed = UpstreamUnavailable(f"it gave no answer within {_LONGEST_ANSWER:g} s.")
        except UpstreamError as error:
            failed = error
        self._services.watch.probed(backend.name, failed)
        return names if failed is None or self._services.watch.is_live(backend.name) else failed

    async def _about(self, backend: Backend) -> str:
        try:
            return await backend.check()
        except GatewayError as error:
            return error.message
