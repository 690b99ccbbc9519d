"""llama.cpp inside this process: one model, loaded once, and one generation at a time.

The only file that touches `xllamacpp`, which is an optional dependency and is imported when an
engine is started, never before. ADR 6 explains how it is driven, and why.
"""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, TypeAlias

import msgspec

from toolwire.backends.embedded.cores import default_threads
from toolwire.backends.embedded.tuning import ModelTuning
from toolwire.backends.gguf import (
    GgufFacts,
    GgufTokens,
    NotGguf,
    read_facts,
    read_tokens,
)
from toolwire.backends.templates.chat_template import marks_of
from toolwire.extras import how_to_install

MOST_CONTEXT = 16_384
"""The default context, in tokens, of a model that was trained for more."""

_BATCH = 64
"""Prompt tokens per batch. A cancelled turn ends after the current batch. Larger batches are not
faster on a CPU."""

PROMPT_CACHE_MIB = 512
"""Memory for the cached prompts of other conversations, so that two can alternate."""

_LLGUIDANCE = "%llguidance"
_NO_HABITS = ModelTuning()

Take: TypeAlias = Callable[[bytes], bool]
"""Receives each chunk of an answer, in the engine's thread. Returning True ends generation."""


class EngineError(Exception):
    """The engine cannot be started. The message says why and what to do."""


class EngineSettings(msgspec.Struct, frozen=True):
    """Which model to run, and how. 0 means the default."""

    path: Path
    name: str = ""
    context: int = 0
    threads: int = 0
    tuning: ModelTuning = _NO_HABITS
    verbose: bool = False


class EmbeddedEngine:
    """A loaded model. It runs one turn at a time, in the order of arrival."""

    def __init__(self, settings: EngineSettings) -> None:
        library, (facts, tokens) = load_library(), _facts(settings.path)
        self.facts = facts
        self.marks = marks_of(facts.chat_template, tokens)
        self.name = settings.name or facts.name
        self.context = min(settings.context or MOST_CONTEXT, facts.context or sys.maxsize)
        self.most_characters = tokens.longest * self.context or sys.maxsize
        self.threads = settings.threads or default_threads()
        self.has_tools = "tools" in facts.chat_template
        self.tuning = settings.tuning
        self.has_grammars = library.json_schema_to_grammar({}).startswith(_LLGUIDANCE)
        self._closing = False
        self._turns = ThreadPoolExecutor(1, "toolwire-engine")
        started = perf_counter()
        self._server: Any = self._load(library, settings)
        self.load_seconds = perf_counter() - started

    def submit(self, work: Callable[["EmbeddedEngine"], None]) -> "Future[None]":
        """Queue the work of one turn for the engine's thread."""
        return self._turns.submit(work, self)

    def generate(self, body: bytes, take: Take) -> None:
        """Answer `body`, a streamed OpenAI chat completion request. Only within a turn.

        Raises `ValueError` or `RuntimeError` if the engine rejects the body.
        """
        self._server.handle_chat_completions(body, lambda chunk: self._closing or take(chunk))

    def close(self) -> None:
        """Stop all work, and free the memory."""
        self._closing = True
        self._turns.shutdown(wait=True, cancel_futures=True)
        self._server = None

    def _load(self, library: ModuleType, settings: EngineSettings) -> Any:
        # llama.cpp cannot start without its HTTP server. So it listens on a socket in a private
        # folder, requires a key that nobody has, and the socket is unlinked after the start.
        folder = tempfile.mkdtemp(prefix="toolwire-")
        try:
            # Not in the main thread: Ctrl-C would leave it half loaded, and shutdown would hang.
            params = self._params(library, settings, Path(folder))
            return self._turns.submit(start_server, library, params).result()
        except (RuntimeError, ValueError) as error:
            raise EngineError(
                f"llama.cpp cannot load {settings.path}: {error} The reason is in its own words "
                "with --log-level debug; try a smaller --ctx, or another file."
            ) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _params(self, library: ModuleType, settings: EngineSettings, folder: Path) -> Any:
        params = library.CommonParams()
        params.model.path = os.fspath(settings.path)
        params.n_ctx = self.context
        params.n_parallel = 1
        if self.tuning.examples:
            # Two slots in the same memory, so prompts with and without examples stay cached.
            params.n_parallel, params.kv_unified, params.cache_idle_slots = 2, True, False
        params.n_batch = params.n_ubatch = _BATCH
        params.cache_ram_mib = PROMPT_CACHE_MIB
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self.threads
        params.hostnames = [os.fspath(folder / "engine.sock")]
        params.api_keys = [secrets.token_hex(32)]
        params.n_threads_http = 1
        params.endpoint_metrics = True  # for `start_server`
        params.warmup = False
        params.verbosity = 4 if settings.verbose else 0
        if self.tuning.temperature is not None:
            params.sampling.temp = self.tuning.temperature
        if self.tuning.top_p is not None:
            params.sampling.top_p = self.tuning.top_p
        return params


def start_server(library: ModuleType, params: Any) -> Any:
    """Start a server, and wait until its loop runs. The library returns earlier, and a server that
    is stopped before its loop runs deadlocks."""
    server = library.Server(params)
    server.handle_metrics()  # answered by the loop
    return server


def load_library() -> ModuleType:
    """Import the engine's library. Raises `EngineError` if it is not installed."""
    try:
        import xllamacpp  # noqa: PLC0415 - optional, and 100 MB
    except ImportError as error:
        raise EngineError(
            f"The embedded model needs the engine, which is not installed ({error}). "
            f"Run: {how_to_install('embedded')}. Or use a server of yours: "
            "toolwire serve --upstream http://localhost:8000/v1"
        ) from None
    module: ModuleType = xllamacpp
    return module


def _facts(path: Path) -> tuple[GgufFacts, GgufTokens]:
    try:
        return read_facts(path), read_tokens(path)
    except NotGguf as error:
        raise EngineError(f"{path} is not a GGUF file that can be read: {error}.") from None
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror or error}.") from None
