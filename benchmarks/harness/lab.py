"""The bench itself: two cores, a mock, the subjects of a round, and the taking of samples."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import toolchain
from harness.process import CpuTime, pin
from harness.scenarios import Scenario
from harness.subjects import KEY, Command, Site, Subject, free_port, start


@dataclass(frozen=True)
class Sample:
    """One scenario against one subject: what the client saw and what the subject paid."""

    load: dict[str, Any]
    cpu: CpuTime

    @property
    def p50_us(self) -> float:
        """The median time to the last byte."""
        return float(self.load["latency_us"]["p50"])

    @property
    def first_event_us(self) -> float:
        """The median time to the first event of a stream."""
        return float(self.load["first_event_us"]["p50"])

    @property
    def requests_per_second(self) -> float:
        """Complete answers per second."""
        return float(self.load["requests"] / self.load["seconds"])

    @property
    def cpu_us_per_request(self) -> float:
        """CPU time of the subject per answer."""
        return float(self.cpu.run_ns / 1e3 / self.load["requests"])

    @property
    def busy(self) -> float:
        """The share of its core that the subject used."""
        return float(self.cpu.run_ns / 1e9 / self.load["seconds"])

    @property
    def kept_waiting(self) -> float:
        """The share of the time in which others held its core although it was ready."""
        return float(self.cpu.wait_ns / 1e9 / self.load["seconds"])


@dataclass(frozen=True)
class Lab:
    """Two cores: subjects run on one, mock and load client on the other."""

    folder: Path
    subject_core: int
    load_core: int
    mock: Subject
    client: Path

    def start(self, name: str, command: Command, health: str) -> Subject:
        """Start a subject on its core, in a folder of its own."""
        site = Site(self.folder / name, free_port(), self.mock.port)
        site.folder.mkdir(exist_ok=True)
        log = site.folder / "log"
        return start(name, command(site), site.port, core=self.subject_core, log=log, health=health)

    def measure(self, subject: Subject, scenario: Scenario) -> Sample:
        """Run one scenario against one subject."""
        core = self.subject_core if scenario.together else self.load_core
        self.mock.process.move(core)
        before = subject.process.cpu_time()
        load = self._run_client(subject, scenario, core)
        return Sample(load, subject.process.cpu_time().since(before))

    def _run_client(self, subject: Subject, scenario: Scenario, core: int) -> dict[str, Any]:
        body = self.folder / f"{scenario.name.replace(' ', '-')}.json"
        body.write_bytes(scenario.body)
        options = {
            "-p": subject.port,
            "-b": body,
            "-u": scenario.path,
            "-k": KEY,
            "-c": scenario.connections,
            "-t": scenario.seconds,
            "-n": scenario.requests,
            "-s": scenario.stagger_us,
        }
        words = [str(word) for option in options.items() for word in option]
        done = subprocess.run(
            [str(self.client), *words],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=pin(core),
        )
        if done.returncode:
            raise SystemExit(f"{subject.name}, scenario {scenario.name}: {done.stderr.strip()}")
        load: dict[str, Any] = json.loads(done.stdout)
        return load


@contextmanager
def open_lab(folder: Path, cores: tuple[int, int]) -> Iterator[Lab]:
    """Build the C programs, start the mock, and keep this process off the subject's core."""
    subject_core, load_core = cores
    mock_program, client = toolchain.build("mock"), toolchain.build("load")
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {load_core})
    port = free_port()
    mock = start(
        "mock",
        [str(mock_program), str(port)],
        port,
        core=load_core,
        log=folder / "mock.log",
        health="/v1/models",
    )
    try:
        yield Lab(folder, subject_core, load_core, mock, client)
    finally:
        mock.process.stop()
        os.sched_setaffinity(0, allowed)
