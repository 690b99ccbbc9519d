"""The log on stderr: one line per request, and other events.

Bodies, arguments and keys are never logged. Access lines are built by hand, because every request
needs one; everything else goes through `logging` and a formatter that masks secrets.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable
from typing import Literal, TextIO, TypeAlias

import msgspec

from toolwire.server.telemetry.redact import Redactor, clip

__all__ = ["Logs", "TurnFacts", "clip", "setup"]

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_MOST_FACTS = 1024
_LONGEST_FACT = 512
"""Longer paths are a client's invention, and are not kept."""
_Key: TypeAlias = tuple[str, str, str | None, str | None, str | None, str | None, bool]
_Facts: TypeAlias = tuple[str, str]
_NAMES = {10: "DEBUG", 20: "INFO ", 40: "ERROR"}
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that monitors poll. Their access lines have level `debug`, unless refused."""
_REFUSED = frozenset({401, 403})
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What moves a terminal's cursor, or ends a line for some reader of the log."""
_PLAIN = re.compile(r"[A-Za-z0-9_./:@*+-]{1,200}")


class TurnFacts(msgspec.Struct, frozen=True):
    """The result of a turn, for its access line. `repairs` are Toolwire's own names."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    first_token: float | None = None
    """In seconds."""
    retries: int = 0
    repairs: Collection[str] = ()


class Logs:
    """The log of one server process. Made by `setup`."""

    def __init__(
        self,
        *,
        level: int,
        as_json: bool,
        redactor: Redactor,
        stream: TextIO,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._level = level
        self._as_json = as_json
        self._redactor = redactor
        self._write = stream.write
        self._clock = clock
        self._second = -1
        self._second_text = ""
        self._nothing = "null" if as_json else "-"
        # Paths, models and backends are few and repeat, so they are cached.
        self._facts: dict[_Key, _Facts] = {}

    def access(
        self,
        request_id: str,
        method: str,
        path: str,
        status: int,
        *,
        model: str | None = None,
        backend: str | None = None,
        mode: str | None = None,
        key_name: str | None = None,
        duration_ms: float = 0.0,
        stream: bool = False,
        sent: int = 0,
        turn: TurnFacts | None = None,
    ) -> None:
        """Write the access line of a finished request.

        Everything except `request_id` and `turn` may come from a client. `sent` is the size of the
        answer.
        """
        level = 10 if path in _PROBES and status not in _REFUSED else 20 if status < 500 else 40
        if level < self._level:
            return
        told = self._turn(turn) if turn is not None else ""
        key = (method, path, model, backend, mode, key_name, stream)
        what, facts = self._facts.get(key) or self._learn(key)
        now = self.stamp(self._clock())
        if self._as_json:
            line = (
                f'{{"time":"{now}","level":"{_NAMES[level].strip().lower()}",{what},'
                f'"status":{status},"ms":{duration_ms:.1f},"sent":{sent},{facts},{told}'
                f'"id":"{request_id}"}}\n'
            )
        else:
            line = (
                f"{now} {_NAMES[level]} {status} "
                f"{duration_ms:>8.1f}ms {what} {facts} sent={sent} {told}id={request_id}\n"
            )
        # A log that cannot be written (disk full, reader gone) must not fail the request.
        try:  # noqa: SIM105 - faster than contextlib.suppress
            self._write(line)
        except (OSError, ValueError):
            pass

    def _turn(self, turn: TurnFacts) -> str:
        """Return the part of an access line about a turn."""
        repairs = sorted(set(turn.repairs)) if turn.repairs else ()
        first = turn.first_token
        if self._as_json:
            facts = {
                "prompt_tokens": turn.prompt_tokens,
                "completion_tokens": turn.completion_tokens,
                "first_token_ms": None if first is None else round(first * 1000, 1),
                "retries": turn.retries,
                "repairs": repairs,
            }
            return msgspec.json.encode(facts).decode()[1:-1] + ","
        known = turn.prompt_tokens is not None
        tokens = f"{turn.prompt_tokens}+{turn.completion_tokens}" if known else "-"
        return (
            f"tokens={tokens} first={'-' if first is None else f'{first * 1000:.1f}ms'} "
            f"retries={turn.retries} repairs={','.join(repairs) or '-'} "
        )

    def redact(self, text: str, limit: int | None = None) -> str:
        """Return the text, or its first `limit` characters, with every known secret masked."""
        return self._redactor.redact(text, limit)

    def see(self, key: str) -> None:
        """Remember a client's key, so that it is masked from now on."""
        if self._redactor.see(key):
            self._facts.clear()

    def stamp(self, seconds: float) -> str:
        """Format a time for the log: UTC, with milliseconds."""
        whole = int(seconds)
        if whole != self._second:
            self._second = whole
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        return f"{self._second_text}.{int((seconds - whole) * 1000):03d}Z"

    def _learn(self, key: "_Key") -> "_Facts":
        """Cache the parts of a line that are the same for many requests."""
        method, path = self._word(key[0]), self._word(key[1].partition("?")[0])
        model, backend, mode, key_name = map(self._word, key[2:6])
        if self._as_json:
            what = f'"event":"request","method":{method},"path":{path}'
            facts = f'"stream":{"true" if key[6] else "false"},"model":{model},'
            facts += f'"backend":{backend},"mode":{mode},"key":{key_name}'
        else:
            what = f"{method:<4} {path}"
            facts = f"model={model} backend={backend} mode={mode} key={key_name} "
            facts += f"stream={'yes' if key[6] else 'no'}"
        if len(key[1]) <= _LONGEST_FACT:
            if len(self._facts) >= _MOST_FACTS:
                self._facts.clear()
            self._facts[key] = what, facts
        return what, facts

    def _word(self, value: str | None) -> str:
        """Escape a value that may come from a client as one word, with secrets masked."""
        if value is None:
            return self._nothing
        value = self._redactor.redact(value, 200)
        if not self._as_json and _PLAIN.fullmatch(value):
            return value
        return json.dumps(value)


def _escaped(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


class _Formatter(logging.Formatter):
    """Formats an entry like an access line, with secrets masked in all of it."""

    def __init__(self, logs: Logs, *, as_json: bool) -> None:
        super().__init__()
        self._logs = logs
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        text = self._logs.redact(text)
        when = self._logs.stamp(record.created)
        if not self._as_json:
            # A line break in a message must not look like a new entry.
            text = _CONTROLS.sub(_escaped, text).replace("\n", "\n  ")
            return f"{when} {record.levelname:<5} {text}"
        entry = {"time": when, "level": record.levelname.lower(), "event": "log", "text": text}
        return json.dumps(entry)


def setup(
    level: Literal["debug", "info", "warning", "error"] = "info",
    format: Literal["text", "json"] = "text",  # noqa: A002  the setting's name
    *,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
) -> Logs:
    """Send the log of the `toolwire` loggers to `stream` (stderr), and return it."""
    stream = stream or sys.stderr
    as_json = format == "json"
    logs = Logs(level=_LEVELS[level], as_json=as_json, redactor=Redactor(secrets), stream=stream)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Formatter(logs, as_json=as_json))
    logger = logging.getLogger("toolwire")
    logger.handlers[:] = [handler]
    logger.setLevel(_LEVELS[level])
    logger.propagate = False
    return logs
