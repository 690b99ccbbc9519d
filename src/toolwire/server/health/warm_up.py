"""Warms up the embedded model in the background.

The engine gets the first request of the README, for one token. This pages in its memory, loads its
grammar library, and caches the prompt that Toolwire writes around the tools. A real request
interrupts it immediately.
"""

import logging
import time
from collections.abc import Iterable

import msgspec

from toolwire.backends.embedded.backend import EmbeddedBackend
from toolwire.gateway.plan import make_plan
from toolwire.gateway.routes import ServedModel
from toolwire.surfaces.openai.reader import RequestReader

_log = logging.getLogger("toolwire.server")

FIRST_REQUEST = {
    "model": "SmolLM2-135M-Instruct",
    "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "Get the current weather in a city.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                    "required": ["city"],
                },
            },
        }
    ],
}


async def warm_up(models: Iterable[ServedModel], reader: RequestReader) -> None:
    """Evaluate the prompt of the first request on every embedded backend."""
    request = reader.read(msgspec.json.encode({**FIRST_REQUEST, "max_tokens": 1}))
    plan = make_plan(request, repair_history=False)
    for model in models:
        for backend in model.pool.backends:
            if isinstance(backend, EmbeddedBackend):
                strategy, started = model.strategies.choose(backend, plan), time.perf_counter()
                if await backend.warm_up(strategy.outgoing(plan)):
                    took = time.perf_counter() - started
                    _log.info("the embedded model is warm, after %.1f s", took)
