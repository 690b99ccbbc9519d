"""Finds what the benchmark needs from the machine, and builds its two C programs."""

import hashlib
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")


class MissingToolError(SystemExit):
    """A program is not installed; the message says how to get it."""


def find_program(names: tuple[str, ...], package: str) -> str:
    """Return the path of the first of `names` that is installed."""
    for name in names:
        # Debian keeps nginx in /usr/sbin, which is not on every user's PATH.
        path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
        if path:
            return path
    wanted = " or ".join(names)
    raise MissingToolError(f"{wanted} not found. On Debian or Ubuntu: apt install {package}")


def build(name: str) -> Path:
    """Compile `name`.c unless the same source was compiled before; return the program."""
    texts = (SOURCES / "wire.h").read_bytes() + (SOURCES / f"{name}.c").read_bytes()
    digest = hashlib.sha256(texts + " ".join(FLAGS).encode()).hexdigest()[:16]
    folder = Path.home() / ".cache" / "toolwire-benchmarks"
    program = folder / f"{name}-{digest}"
    if not program.exists():
        compiler = find_program(("cc", "gcc", "clang"), "gcc libc6-dev")
        folder.mkdir(parents=True, exist_ok=True)
        source = str(SOURCES / f"{name}.c")
        subprocess.run([compiler, *FLAGS, "-o", str(program), source], check=True)
    return program
