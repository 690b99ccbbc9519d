"""Starting, and not starting: every way it can go wrong says what to do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, running, start

WITHOUT_ENGINE = "import sys; sys.modules['xllamacpp'] = None; import toolwire.cli; "

START_AND_DROP = """
import sys, tempfile
from pathlib import Path
from toolwire.backends.embedded.engine import EmbeddedEngine, EngineSettings
from toolwire.backends.embedded.engine import load_library, start_server
settings = EngineSettings(Path(sys.argv[1]), context=256)
engine = EmbeddedEngine(settings)
for _ in range(15):
    with tempfile.TemporaryDirectory() as folder:
        start_server(load_library(), engine._params(load_library(), settings, Path(folder)))
engine.close()
"""


def serve(folder: Path, *flags: str, before: str = "import toolwire.cli; ") -> str:
    """What `toolwire serve` says when it does not start."""
    port = () if "--port" in flags else ("--port", "0")
    done = subprocess.run(
        [sys.executable, "-c", before + "toolwire.cli.main()", "serve", *port, *flags],
        cwd=folder,
        env={**os.environ, "TOOLWIRE_CACHE": str(folder), "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_without_the_engine_it_says_how_to_get_it(tmp_path: Path) -> None:
    said = serve(tmp_path, before=WITHOUT_ENGINE)
    assert "pip install '.[embedded]' in a clone" in said
    assert "--upstream" in said
    assert list(tmp_path.iterdir()) == []  # nothing was fetched for an engine that is not there


def test_offline_it_says_what_else_can_be_done(tmp_path: Path) -> None:
    said = serve(tmp_path)
    assert "cannot be fetched" in said
    assert "--gguf" in said
    assert "--upstream" in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x89PNG", "is not a GGUF file"),
        (b"GGUF\x03\x00\x00\x00" + bytes(16), "llama.cpp cannot load"),
    ],
)
def test_a_file_that_is_no_model_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(content)
    assert reason in serve(tmp_path, "--gguf", "bad.gguf")


def test_a_port_that_is_taken_is_said_before_the_model_is_loaded(
    served: Gateway, tmp_path: Path
) -> None:
    said = serve(tmp_path, "--port", str(served.port))
    assert f"port {served.port}: address already in use" in said.lower()
    assert "embedded model" not in said


def test_an_engine_that_is_closed_as_soon_as_it_is_up_comes_to_an_end(weights: Path) -> None:
    done = subprocess.run([sys.executable, "-c", START_AND_DROP, weights], timeout=60, check=False)
    assert done.returncode == 0


def test_any_model_file_is_served_under_its_own_name(served_file: Gateway) -> None:
    assert "Smollm2-135M-8k-Lc100K-Mix1-Ep2" in served_file.out
    assert "context 1024 tokens, 1 thread," in served_file.log
    assert _loads_the_engine(served_file)


def test_a_gateway_to_another_server_does_not_load_the_engine() -> None:
    with running("--upstream", "http://127.0.0.1:9/v1") as gateway:
        assert not _loads_the_engine(gateway)


def _loads_the_engine(gateway: Gateway) -> bool:
    return "xllamacpp" in Path(f"/proc/{gateway.process.pid}/maps").read_text()


@pytest.mark.parametrize("delay", [0.4, 0.7, 1.0])
def test_it_can_be_interrupted_while_it_loads(
    delay: float, environment: dict[str, str], tmp_path: Path
) -> None:
    gateway = Gateway(start(tmp_path, env=environment), tmp_path)
    try:
        gateway.wait_for_log("Using the embedded model", 30)  # the process starts first
        time.sleep(delay)
        gateway.signal(signal.SIGINT)
        assert gateway.wait(15) in (0, 1, 130)  # 0: it was up already
    finally:
        gateway.process.kill()
        gateway.process.wait()
    assert "Traceback" not in gateway.log
