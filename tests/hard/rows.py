"""The rows of docs/hardening.md: what is tried, and the bar.

Which tests try it is said by the tests themselves: a module whose docstring holds `(R7)` belongs
to row R7. A row may have a command beside them, for what is measured and not tested.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
_CLAIM = re.compile(r"\((R\d+(?:, R\d+)*)\)")


@dataclass(frozen=True)
class Row:
    """One thing that is tried. `minutes`: about how long it takes in its `size`."""

    id: str
    what: str
    bar: str
    minutes: float
    command: tuple[str, ...] = ()
    later: str = ""
    """Why nothing tries it yet."""
    size: Literal["full", "small"] = "full"

    @property
    def tests(self) -> tuple[str, ...]:
        """The modules that try it."""
        return tuple(path for path, rows in claims().items() if self.id in rows)

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """What is run, by Python, for this row."""
        tests = [("-m", "pytest", *self.tests)] if self.tests else []
        return [*tests, *([self.command] if self.command else [])]


@cache
def claims() -> dict[str, frozenset[str]]:
    """The rows that each module of the tests says it tries."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        rows = {row for claim in _CLAIM.findall(said) for row in claim.split(", ")}
        if rows:
            found[path.relative_to(ROOT).as_posix()] = frozenset(rows)
    return found


ROWS = (
    Row("R1", "500 hostile argument strings through every parser, watched by an audit hook",
        "nothing evaluated, opened or reached; no exception", 2),
    Row("R2", "1 MiB of its own beginnings for every regular expression and every format, also "
        "while the format is being detected",
        "at most 50 ms of CPU per MiB for an expression; where it takes longer to find its "
        "matches, or to try it at every character, and for a whole parser, twice as much takes at "
        "most 2.5 times as long", 15),
    Row("R3", "a 1 MiB argument in pieces of one character, in every format",
        "at most 5 s of CPU; twice as much takes at most 2.3 times as long; no wait over 20 ms", 9),
    Row("R4", "1,000 bad tools and parameters, in the process and over HTTP",
        "each a 400 within a second, none reaches the backend, the process lives on", 3),
    Row("R5", "templates in requests: `chat_template`, `{{7*7}}` in every text",
        "never evaluated, never forwarded; text arrives byte for byte", 1),
    Row("R6", "100,000 different schemas", "at most 64 MiB kept, no file on disk", 8),
    Row("R7", "requests that can be read in two ways, or are too much",
        "400 or 431 and the connection closed; no second request", 1),
    Row("R8", "10,000 wrong keys, and paths and hosts that try to get around the key",
        "401 for all; a right beginning takes as long as a wrong one, within 5 %", 2),
    Row("R9", "20,000 calls of 1,000 sessions of 10 keys over 2 processes, and ids of others",
        "none delivered to another session; no foreign, expired or forged id accepted", 8),
    Row("R10", "addresses in bodies and headers, redirects of a backend",
        "no connection but to the configured backends; no redirect followed", 1),
    Row("R11", "what is installed: the lock, the wheel, known advisories",
        "hashes for all, at most 12 packages at run time, nothing that runs by itself", 1),
    Row("R12", "2,000 forged markers in every format",
        "no call that the model did not make, no turn that was not there", 6),
    Row("R13", "50,000 requests of all kinds", "at most 1 MB more for each 10,000; files as before",
        20),
    Row("R14", "every way in which a backend goes wrong, streamed and whole",
        "a documented outcome; no wrong call; no `[DONE]` after an error", 4),
    Row("R15", "a Redis that is killed, paused, slow, restarted or missing at the start",
        "requests without a session do not notice; others get 503 or the right answer, each turn "
        "is taken once, and all go on within 5 s", 2),
    Row("R16", "clients that leave at seven moments, 200 times each",
        "the backend sees it within a second, always", 5),
    Row("R17", "huge requests, lines and answers beside a client that asks for `/healthz`",
        "it never waits for more than 250 ms of the gateway's CPU time", 4),
    Row("R18", "500 half-open heads, 200 half bodies and 200 readers that do not read",
        "good requests are served; half-open ones are closed within 15 s; at most 50 MB more", 3),
    Row("R19", "secrets in every place that can hold one, over all log levels",
        "none in logs, errors, metrics or traces", 2),
    Row("R20", "SIGTERM under 100 streams; `kill -9` in the middle of a turn",
        "nothing new accepted, streams finish or get an error event, the end within 30 s; "
        "sessions are whole and go on in another process", 5),
    Row("R21", "200 streams at once for a minute, each with 20 tools",
        "no errors; 5 ms (p50) and 25 ms (p99) added at most, on a quiet machine", 2,
        ("benchmarks/held.py",)),
    Row("R22", "schemas that expand: references, branches, patterns, recursion",
        "refused with a reason, or nobody waits for more than 250 ms; memory within 20 MB", 4),
    Row("R23", "500 abandoned uploads, large bodies, dripping and pipelined bodies, without a key",
        "memory back within 20 MB of idle; the key is judged before the body", 5),
    Row("R24", "what a web page can do to an open gateway on loopback",
        "foreign hosts, origins and simple posts are refused", 1),
    Row("R25", "60 paths, methods and encodings past the surface",
        "only the list reaches a backend, and only under a model that there is", 1),
    Row("R26", "every chunk of every odd stream made unreadable in turn, and two at a time",
        "no call that differs from what the model said", 15),
    Row("R27", "1,000 streams and twice as many requests as can be served",
        "`/healthz` within 250 ms of CPU time; the rest get 429 or 503 with Retry-After", 5),
    Row("timed", "everything that measures time in small size, such as what must cost linear time",
        "the bar of each test", 10, ("-m", "pytest", "-m", "timed", "tests"),
        size="small"),
    Row("fuzz", "inputs made at random for each parser of bytes that others write",
        "no exception but the declared ones, at most 1 s of CPU and 128 MB for each", 31,
        ("-m", "tests.fuzz", "--seconds", "3600", "--jobs", "2")),
)  # fmt: skip
