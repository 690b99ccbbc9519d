"""How long a newcomer waits: from `git clone` to the first answer, with empty caches.

Clones a commit of this repository into a temporary folder, runs `make serve` there with a home and
caches of its own, and sends the README's first request until it is answered. Packages and weights
come from the index that pip is configured with, so the time depends on the network, too.

    python benchmarks/first_answer.py [COMMIT ...]
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
PORT = 18181
LIMIT = 1800.0
CURL = re.compile(r"^curl \S+/chat/completions.*?-d '(\{.*?\n\})'", re.DOTALL | re.MULTILINE)


def megabytes(*folders: Path) -> float:
    """What the files in these folders take, links counted once."""
    sizes = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                sizes[path.stat().st_ino] = path.stat().st_size
    return sum(sizes.values()) / 1e6


def environment(home: Path) -> dict[str, str]:
    """A user's variables, with nothing in any cache."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TOOLWIRE_", "XDG_", "UV_"))}
    return {**kept, "HOME": str(home), "PIP_CACHE_DIR": str(home / "pip")}


def answered(body: bytes) -> bool:
    """Whether the request gets an answer with a call."""
    url = f"http://127.0.0.1:{PORT}/v1/chat/completions"
    try:
        with urllib.request.urlopen(url, body, timeout=300) as answer:
            return "tool_calls" in json.load(answer)["choices"][0]["message"]
    except urllib.error.HTTPError:
        return False
    except OSError:
        return False


def measure(commit: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="toolwire-first-"))
    clone, home = folder / "clone", folder / "home"
    home.mkdir()
    began, cpu = time.monotonic(), _cpu()
    try:
        git = ["git", "clone", "--quiet", "--no-local", str(ROOT), str(clone)]
        subprocess.run(git, check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=clone, check=True)
        cloned = time.monotonic() - began
        found = CURL.search((clone / "README.md").read_text())
        assert found is not None, "the README has no request"
        serve = ["make", "serve", f"ARGS=--port {PORT}"]
        process = subprocess.Popen(
            serve, cwd=clone, env=environment(home), stdout=subprocess.DEVNULL, process_group=0
        )
        try:
            while not answered(found[1].encode()):
                assert process.poll() is None, "make serve ended"
                assert time.monotonic() - began < LIMIT, "no answer"
                time.sleep(0.2)
            total = time.monotonic() - began
            begun = time.monotonic()
            assert answered(found[1].encode())
            again = time.monotonic() - begun
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(120)
        print(
            f"{commit}: {total:.0f} s to the first answer ({cloned:.1f} s of it to clone, "
            f"{_cpu() - cpu:.0f} s of CPU in all), the second took {again:.1f} s; "
            f"{megabytes(clone / '.venv'):.0f} MB of packages in .venv, "
            f"{megabytes(home / '.cache'):.0f} MB of weights"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commits", nargs="*", default=["HEAD"], help="default: HEAD")
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load of the machine: {load}, {os.cpu_count()} cores")
    for commit in parser.parse_args().commits:
        measure(commit)


if __name__ == "__main__":
    main()
