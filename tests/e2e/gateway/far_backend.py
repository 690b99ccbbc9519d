"""The scripted backend as a process of its own, where its work must not slow the test's clock."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.gateway.wire import ask


class FarBackend:
    """A scripted backend in another process."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._port = int(re.findall(r":(\d+)/", url)[0])

    def use(self, variant: str = "std", script: Any = "file_task") -> None:
        """Switch to another variant and script and start a new record."""
        body = {"variant": variant, "script": script}
        assert ask(self._port, body, path="/_scripted/variant").status == 200

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What has come in since the variant was set, oldest first."""
        requests: list[dict[str, Any]] = ask(self._port, path="/_scripted/requests").json[
            "requests"
        ]
        return requests


@contextmanager
def far_backend() -> Iterator[FarBackend]:
    """Run one until the block ends."""
    command = [sys.executable, "-m", "tests.scripted"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield FarBackend(process.stdout.readline().split()[-1])
        finally:
            process.terminate()
