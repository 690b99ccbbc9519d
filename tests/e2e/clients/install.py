"""Install clients: `python -m tests.e2e.clients.install [NAME ...|--all]`.

A client whose committed pins did not change since it was installed is left as it is.
`--lock` resolves the npm pins anew; the locks carry hashes but no addresses, so that any
registry serves them.
"""

import argparse
import fcntl
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.clients import node
from tests.e2e.clients.client import Client
from tests.e2e.clients.registry import CLIENTS, select

STAMP = ".installed"
LIMIT = 600.0
_NPM_FLAGS = ("--no-audit", "--no-fund", "--ignore-scripts", "--omit-lockfile-registry-resolved")


class InstallError(RuntimeError):
    """A client could not be installed; the message holds the installer's own words."""


def install(client: Client) -> bool:
    """Make sure the pinned version is there; return whether anything had to be done."""
    if client.source == "environment":
        return False
    wanted = _fingerprint(client)
    stamp = client.root / STAMP
    with _alone(client):
        if stamp.exists() and stamp.read_text() == wanted:
            return False
        shutil.rmtree(client.root, ignore_errors=True)
        client.root.mkdir()
        _INSTALLERS[client.source](client)
        stamp.write_text(wanted)
    return True


@contextmanager
def _alone(client: Client) -> Iterator[None]:
    """Keep two test runs in one tree from installing the same client at once."""
    client.root.parent.mkdir(parents=True, exist_ok=True)
    with client.root.with_suffix(".lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield


def _fingerprint(client: Client) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for pin in client.pins:
        digest.update(pin.read_bytes())
    return digest.hexdigest()


def _install_npm(client: Client) -> None:
    for pin in client.pins:
        shutil.copy(pin, client.root)
    # Not `npm ci`: it refuses a lock when a registry lacks an optional package of another platform.
    _run([*node.NPM, "install", "--no-save", *_NPM_FLAGS], client.root)


def _install_pip(client: Client) -> None:
    _run([sys.executable, "-m", "venv", str(client.root)], client.root)
    pip = [str(client.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(client.pins[0])], client.root)


_INSTALLERS = {"npm": _install_npm, "pip": _install_pip}


def lock(client: Client) -> None:
    """Resolve a client's package.json into its package-lock.json."""
    if client.source == "npm":
        _run([*node.NPM, "install", "--package-lock-only", *_NPM_FLAGS], client.pins[0].parent)


def _run(argv: Sequence[str], cwd: Path) -> None:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise InstallError(f"{' '.join(argv)} failed:\n{done.stdout}{done.stderr}")


def _report(client: Client, began: float, *, changed: bool) -> str:
    size = sum(file.lstat().st_blocks for file in client.root.rglob("*")) // 2048
    word = "installed" if changed else "up to date"
    return f"{client.name}: {word}, {time.monotonic() - began:.1f} s, {size} MiB"


def main(argv: Sequence[str] | None = None) -> None:
    """Install what is named, with one line of progress per client."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.clients.install")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--all", action="store_true", help="install every client")
    parser.add_argument("--lock", action="store_true", help="resolve the npm pins anew first")
    options = parser.parse_args(argv)
    for client in select("all" if options.all else ",".join(options.names)):
        began = time.monotonic()
        if options.lock:
            lock(client)
        changed = install(client)
        sys.stdout.write(_report(client, began, changed=changed) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
