"""Logs, health and traces."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from toolwire.server.config.settings.option import KIB, MIB, Option, seconds


class Log(msgspec.Struct, frozen=True):
    """Logging to stderr. Bodies and keys are never logged."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Option("least severe level to log", env="TOOLWIRE_LOG_LEVEL", flag="log_level"),
    ] = "info"
    format: Annotated[
        Literal["text", "json"],
        Option(
            "plain text, or one JSON object per line",
            env="TOOLWIRE_LOG_FORMAT",
            flag="log_format",
        ),
    ] = "text"


class Health(msgspec.Struct, frozen=True):
    """Whether backends are there: at start, and for `/readyz`."""

    ready: Annotated[
        Literal["listening", "backend"],
        Option(
            "when `/readyz` answers 200: `listening`: while requests are accepted; `backend`: only "
            "while at least one backend answers, too",
            env="TOOLWIRE_READY",
        ),
    ] = "listening"
    interval: Annotated[
        float,
        seconds("for `backend`: seconds between two requests for a backend's models", 3600, 0.1),
    ] = 5.0
    probe_at_start: Annotated[
        bool,
        Option(
            "ask each backend at start what it is and which models it has, and print the answer; "
            "`false` for a server that any request would wake up",
            env="TOOLWIRE_PROBE_AT_START",
        ),
    ] = True


class TraceFiles(msgspec.Struct, frozen=True):
    """One file per request that records what happened: see [traces](traces.md)."""

    dir: Annotated[
        Path | None,
        Option(
            "folder for the files; tracing is off without it",
            parse=Path.expanduser,
            env="TOOLWIRE_TRACE_DIR",
            flag="trace_dir",
        ),
    ] = None
    max_bytes: Annotated[
        int, Option("maximum size of all files; the oldest are deleted", KIB, 1024 * 1024 * MIB)
    ] = 256 * MIB
    bodies: Annotated[
        bool,
        Option(
            "record what clients and models wrote, as `toolwire replay` needs; else only lengths",
            flag="trace_bodies",
        ),
    ] = False
