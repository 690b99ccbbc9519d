"""Chat templates, rendered by a process of their own (`template_worker`): see ADR 9."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

import msgspec

_WORKER = Path(__file__).with_name("template_worker.py")
_DEADLINE = 10.0
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TZ", "LANG", "LC_ALL")
"""What of the environment the process gets: enough to run, and none of the keys."""


class TemplateFailed(Exception):
    """The template cannot be used. The text says why."""


class TemplateRefused(TemplateFailed):
    """The template itself refuses this conversation, in its own words."""


class _Ended(Exception):
    """The process is no more. `code` is how it ended."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class TemplateProcess:
    """Renders one template, one conversation at a time. Close it.

    The process is started by the first use, and anew after it had to be ended. `deadline` is how
    long it may work at one conversation; how long callers wait for their turn is up to them.
    """

    def __init__(self, source: str, *, deadline: float = _DEADLINE) -> None:
        self._source = source
        self._deadline = deadline
        self._turn = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # One of its own: no template keeps the threads that others share, nor waits for them.
        self._thread = ThreadPoolExecutor(1, "toolwire-template")

    async def render(self, values: Mapping[str, Any]) -> str:
        """The prompt of a conversation. Raises `TemplateFailed`."""
        line = _line(values)
        async with self._turn:
            told = [line]
            if self._process is not None and self._process.poll() is not None:
                self._end()  # somebody ended it, for its memory perhaps, while nobody asked
            if self._process is None:
                self._process = self._started()
                told = [_line({"template": self._source}), line]
            answer = await self._answer(self._process, told)
        if "prompt" in answer:
            return str(answer["prompt"])
        raise (TemplateRefused if answer["refused"] else TemplateFailed)(answer["error"])

    def close(self) -> None:
        """End the process."""
        self._end()
        self._thread.shutdown()

    def _started(self) -> "subprocess.Popen[bytes]":
        try:
            return _start(self._deadline)
        except OSError as error:  # no memory, no file descriptors, no processes left
            text = f"its process cannot be started: {error.strerror or error}"
            raise TemplateFailed(text) from None

    async def _answer(
        self, process: "subprocess.Popen[bytes]", told: Sequence[bytes]
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._thread, _tell, process, told)
        except BaseException as error:
            # It may be in the middle of anything: only a fresh one can be asked again.
            self._end()
            if isinstance(error, _Ended):
                raise TemplateFailed(self._why(error.code)) from None
            raise
        if len(answers) < len(told):
            self._end()  # the template itself is wrong: there is nothing to ask it
        return answers[-1]

    def _why(self, code: int) -> str:
        if code == -signal.SIGPROF:
            return f"it was not rendered within {self._deadline:g} s"
        return "the process that renders it has ended"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # Its memory is given back before it is gone: a tenth of a second for all it may have.
            self._thread.submit(_bury, process)


def _start(deadline: float) -> "subprocess.Popen[bytes]":
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return subprocess.Popen(  # noqa: S603 - our own program
        # -P: its folder is no place to import from.
        [sys.executable, "-P", os.fspath(_WORKER), str(deadline)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=kept,
        start_new_session=True,  # Ctrl-C is for the gateway, which then ends it in order
    )


# In the thread.


def _tell(process: "subprocess.Popen[bytes]", told: Sequence[bytes]) -> list[dict[str, Any]]:
    """Say line by line, and read the answer to each, up to the first error."""
    answers: list[dict[str, Any]] = []
    to, back = _pipes(process)
    for line in told:
        try:
            to.write(line)
            to.flush()
            answers.append(msgspec.json.decode(back.readline()))
        except (OSError, ValueError, msgspec.DecodeError):
            process.kill()
            raise _Ended(process.wait()) from None
        if "error" in answers[-1]:
            break
    return answers


def _bury(process: "subprocess.Popen[bytes]") -> None:
    process.wait()
    for pipe in _pipes(process):
        with suppress(OSError):
            pipe.close()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    return cast("tuple[IO[bytes], IO[bytes]]", (process.stdin, process.stdout))


def _line(value: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"
