"""Where Chromium is: Debian's package, which is installed if it is missing.

Playwright's own builds are downloaded from elsewhere than a package registry, so only its driver is
used.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
LIMIT = 600.0


def find_chromium() -> str:
    """The path of the browser."""
    with (Path(tempfile.gettempdir()) / "toolwire-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs may come at once
        return _installed() or _install()


def _installed() -> str:
    return next((path for path in map(shutil.which, NAMES) if path), "")


def _install() -> str:
    apt = ["apt-get", "--quiet", "--yes", "--no-install-recommends"]
    apt = apt if os.geteuid() == 0 else ["sudo", "--non-interactive", *apt]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "chromium", "fonts-dejavu-core"]):
        done = subprocess.run(
            [*apt, *command], env=env, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    path = _installed()
    if not path:
        raise RuntimeError(f"Chromium is not there and cannot be installed:\n{done.stderr}")
    return path
