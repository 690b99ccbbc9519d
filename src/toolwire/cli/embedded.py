"""Starts the embedded model for a command, if it needs it."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from toolwire.backends.embedded.engine import (
    PROMPT_CACHE_MIB,
    EmbeddedEngine,
    EngineError,
    EngineSettings,
    load_library,
)
from toolwire.server.config.loader import Config

_INTERRUPTED = 130


@contextmanager
def embedded_engine(config: Config) -> Iterator[EmbeddedEngine | None]:
    """The engine, loaded, if any model of the configuration is the embedded one."""
    if not config.serves_embedded:
        yield None
        return
    engine = _start(config)
    try:
        yield engine
    finally:
        engine.close()


def _start(config: Config) -> EmbeddedEngine:
    from toolwire.backends.embedded.weights import WeightsError  # noqa: PLC0415 - only with the engine

    try:
        load_library()  # before anything is fetched for it
        engine = EmbeddedEngine(_settings(config))
    except (EngineError, WeightsError) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        # Not by an exception: a model that is stopped while it starts never ends.
        click.echo("\nAborted!", err=True)
        os._exit(_INTERRUPTED)
    click.echo(
        f"Loaded {engine.name} in {engine.load_seconds:.1f} s: context {engine.context} tokens, "
        f"{engine.threads} thread{'s' if engine.threads > 1 else ''}, "
        f"{_peak_megabytes()} MB of memory in all, and later up to {PROMPT_CACHE_MIB} more for "
        "prompts.",
        err=True,
    )
    return engine


def _settings(config: Config) -> EngineSettings:
    from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure  # noqa: PLC0415

    wanted, verbose = config.embedded, config.log.level == "debug"
    if wanted.gguf is not None:
        return EngineSettings(
            wanted.gguf, context=wanted.ctx, threads=wanted.threads, verbose=verbose
        )
    weights = DEFAULT_WEIGHTS
    click.echo(
        f"Using the embedded model {weights.name}: very small, to try Toolwire out. "
        "Give a better one with --gguf FILE or --upstream URL.",
        err=True,
    )
    return EngineSettings(
        ensure(weights, cache_folder(os.environ)),
        name=weights.name,
        context=wanted.ctx,
        threads=wanted.threads,
        tuning=weights.tuning,
        verbose=verbose,
    )


def _peak_megabytes() -> int:
    """The most memory that this process has had.

    Not `ru_maxrss` on Linux: that is never less than what the parent had when it started us.
    """
    if sys.platform == "linux":
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return int(found[1]) >> 10 if found else 0
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 20 if sys.platform == "darwin" else peak >> 10
