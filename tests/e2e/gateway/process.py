"""Starts `toolwire serve` as a user does, and looks at it from outside: output, memory, files."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

READY_WITHIN = 60.0
LISTENS = re.compile(r"listens on https?://\S+:(\d+)")


class Gateway:
    """One running process. `port` is where it listens, `log` what it has written to stderr."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def out(self) -> str:
        """What it has printed."""
        return (self.folder / "out.txt").read_text()

    @property
    def log(self) -> str:
        """What it has logged."""
        return (self.folder / "log.txt").read_text()

    @property
    def memory(self) -> int:
        """Resident memory, in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])

    @property
    def cpu(self) -> float:
        """Seconds of CPU that its threads have used."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    @property
    def files(self) -> int:
        """How many files and sockets are open."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def wait_for_log(self, words: str, limit: float = 5) -> str:
        """The line of the log that holds these words; it may come a moment after the answer."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            lines = [line for line in self.log.splitlines() if words in line]
            if lines:
                return lines[-1]
            time.sleep(0.005)
        raise TimeoutError(f"nothing with {words!r} in the log:\n{self.log[-2000:]}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Wait for the end; the exit code."""
        return self.process.wait(seconds)

    def wait_until_ready(self) -> None:
        """Wait until it says where it listens."""
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := LISTENS.search(self.out):
                self.port = int(found[1])
                return
            time.sleep(0.01)
        raise RuntimeError(f"toolwire did not start:\n{self.out}\n{self.log}")


@contextmanager
def running(
    *flags: str, config: str = "", env: Mapping[str, str] | None = None
) -> Iterator[Gateway]:
    """Run the process until the block ends. `config` is the text of its toolwire.toml."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = start(folder, *flags, config=config, env=env)
        gateway = Gateway(process, folder)
        try:
            gateway.wait_until_ready()
            yield gateway
        finally:
            process.kill()
            process.wait()


def start(
    folder: Path, *flags: str, config: str = "", env: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start the process in a folder of its own, on a port that the system chooses.

    A backend is not asked what it is unless a test says so, nor which models it has: tests count
    requests.
    """
    if config:
        (folder / "toolwire.toml").write_text(config)
    if "--port" not in flags:
        flags = ("--port", "0", *flags)
    if "--upstream" in flags and "--upstream-dialect" not in flags:
        flags = (*flags, "--upstream-dialect", "openai")
    with (folder / "out.txt").open("wb") as out, (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "toolwire", "serve", *flags],
            cwd=folder,
            env={**_clean_environment(), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
        )


def run_and_fail(
    folder: Path, *flags: str, config: str = "", env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Start a process that should give up; its exit code and all that it said."""
    process = start(folder, *flags, config=config, env=env)
    try:
        code = process.wait(READY_WITHIN)
    finally:
        process.kill()
        process.wait()
    return code, (folder / "out.txt").read_text() + (folder / "log.txt").read_text()


def _clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOOLWIRE_")}
    return {**kept, "TOOLWIRE_PROBE_AT_START": "false", "TOOLWIRE_WARM_UP": "false"}
