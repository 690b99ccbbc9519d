"""`toolwire parse --jsonl`: a line in, a line out, in order, on all cores.

The file is read in blocks of lines. A pool of processes parses blocks, a few ahead of the one that
is to be written next, so memory is bounded whatever the size of the file. A line that cannot be
used becomes an object with `error` and `input`: nothing is lost.
"""

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import cast

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from toolwire.cli.reports.lines import LineParser, Lines, ParsedLines
from toolwire.cli.usage_error import UsageError
from toolwire.protocol.tools import ToolSpec

_BLOCK = 1 << 16
_AHEAD = 4  # blocks in the hands of each process, so that none waits for work
_REPORTED = 20
INTERRUPTED = 130


@dataclass(slots=True)
class BulkTally:
    """What was done so far."""

    lines: int = 0
    bad: int = 0

    def add(self, block: ParsedLines) -> None:
        """Count a block, and report its bad lines while there are few."""
        for number, error in block.errors:
            self.bad += 1
            if self.bad <= _REPORTED:
                click.echo(f"line {self.lines + number + 1}: {error}", err=True)
        self.lines += block.count


def parse_file(source: str, format_name: str, tools: tuple[ToolSpec, ...], jobs: int | None) -> int:
    """Parse every line of a file to standard output. The exit code is 1 if a line was bad."""
    parser = LineParser(format_name, tools)
    tally = BulkTally()
    out = sys.stdout.buffer
    try:
        with _opened(source) as (stream, size), _progress(size) as advance:
            for block in _parsed(Lines(stream, _BLOCK), parser, jobs or _cores()):
                out.write(block.output)
                tally.add(block)
                advance(block.size)
        out.flush()
    except KeyboardInterrupt:
        click.echo(f"interrupted after {tally.lines} lines", err=True)
        return INTERRUPTED
    click.echo(f"{tally.lines} lines, {tally.bad} bad", err=True)
    return 1 if tally.bad else 0


def _parsed(lines: Iterable[bytes], parser: LineParser, jobs: int) -> Iterator[ParsedLines]:
    """Every block, parsed, in order. A file of one block needs no processes."""
    source = iter(lines)
    first = list(islice(source, 2))
    if jobs == 1 or len(first) < 2:
        yield from map(parser.parse_block, first)
        yield from map(parser.parse_block, source)
        return
    pool = ProcessPoolExecutor(jobs, get_context("spawn"))
    waiting: deque[Future[ParsedLines]] = deque()
    try:
        for block in chain(first, source):
            waiting.append(_submit(pool, parser, block))
            if len(waiting) >= jobs * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UsageError(
            "a worker process was killed, perhaps because it ran out of memory. Try --jobs 1."
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, parser: LineParser, block: bytes) -> Future[ParsedLines]:
    """Submit a block. Worker processes ignore Ctrl-C: the parent ends them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(parser.parse_block, block)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _opened(source: str) -> Iterator[tuple[BufferedIOBase, int | None]]:
    """The file and its size, if it has one."""
    if source == "-":
        yield cast("BufferedIOBase", sys.stdin.buffer), None
        return
    try:
        stream = Path(source).open("rb")  # noqa: SIM115 - an error in the block is not ours
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}.") from None
    with stream:
        yield stream, os.fstat(stream.fileno()).st_size


@contextmanager
def _progress(size: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _advance: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("parsing", total=size)
        yield lambda advance: bar.advance(task, advance)
