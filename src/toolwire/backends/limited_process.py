"""Runs work that could take forever in another process, which can be killed. `limited_worker` is
the other side."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, cast

import msgspec

_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TZ", "LANG", "LC_ALL")
"""The environment variables that the process gets: enough to run, but no keys."""


class ProcessFailed(Exception):
    """There is no answer. The message says why."""


class ProcessTooSlow(ProcessFailed):
    """The process exceeded its time limit."""


class _Ended(Exception):
    """The process has exited with `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LimitedProcess:
    """Sends requests to one process, one at a time. Must be closed.

    `program` is the command line for Python. The process starts at first use, and restarts after it
    was killed; `greeting` is its first input. `deadline` limits the time per answer, but not the
    time that callers wait for their turn.
    """

    def __init__(
        self, program: Sequence[str], *, deadline: float, greeting: bytes | None = None
    ) -> None:
        self._program = program
        self._deadline = deadline
        self._greeting = greeting
        self._turn = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # Its own thread: it neither occupies the shared thread pool nor waits for it.
        self._thread = ThreadPoolExecutor(1, "toolwire-process")

    async def ask(self, line: bytes) -> dict[str, Any]:
        """Send a line of JSON, and return the answer. Raises `ProcessFailed`."""
        async with self._turn:
            told = [line]
            if self._process is not None and self._process.poll() is not None:
                self._end()  # it was killed while idle, perhaps for its memory
            if self._process is None:
                self._process = self._started()
                told = [line] if self._greeting is None else [self._greeting, line]
            return await self._answer(self._process, told)

    def close(self) -> None:
        """End the process."""
        self._end()
        self._thread.shutdown()

    def _started(self) -> "subprocess.Popen[bytes]":
        try:
            return _start(self._program, self._deadline)
        except OSError as error:  # no memory, no file descriptors, no processes left
            text = f"its process cannot be started: {error.strerror or error}"
            raise ProcessFailed(text) from None

    async def _answer(
        self, process: "subprocess.Popen[bytes]", told: Sequence[bytes]
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._thread, _tell, process, told)
        except BaseException as error:
            # Its state is unknown: the next request needs a new process.
            self._end()
            if isinstance(error, _Ended):
                raise self._why(error.code) from None
            raise
        if len(answers) < len(told):
            self._end()  # it rejected its first input, so it is useless
        return answers[-1]

    def _why(self, code: int) -> ProcessFailed:
        if code == -signal.SIGPROF:
            return ProcessTooSlow(f"it took more than {self._deadline:g} s")
        return ProcessFailed("its process has ended")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # Freeing its memory may take a tenth of a second before it exits.
            self._thread.submit(_reap, process)


def _start(program: Sequence[str], deadline: float) -> "subprocess.Popen[bytes]":
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return subprocess.Popen(  # noqa: S603 - our own program
        # -P: do not import from its folder.
        [sys.executable, "-P", *program, str(deadline)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=kept,
        start_new_session=True,  # Ctrl-C goes to the gateway, which shuts it down in order
    )


# Called in the thread.


def _tell(process: "subprocess.Popen[bytes]", told: Sequence[bytes]) -> list[dict[str, Any]]:
    """Send line by line, and read the answer to each, up to the first error."""
    answers: list[dict[str, Any]] = []
    to, back = _pipes(process)
    for line in told:
        try:
            to.write(line + b"\n")
            to.flush()
            answers.append(msgspec.json.decode(back.readline()))
        except (OSError, ValueError, msgspec.DecodeError):
            process.kill()
            raise _Ended(process.wait()) from None
        if "error" in answers[-1]:
            break
    return answers


def _reap(process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    for pipe in _pipes(process):
        with suppress(OSError):
            pipe.close()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    return cast("tuple[IO[bytes], IO[bytes]]", (process.stdin, process.stdout))
