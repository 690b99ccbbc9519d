"""The default weights, fetched once for all runs, and what runs on them."""

import os
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from tests.e2e.embedded.llama_server import LlamaServer
from tests.e2e.embedded.spying import SpyEngine
from tests.e2e.gateway.process import Gateway, running

from toolwire.backends.embedded.engine import EngineSettings
from toolwire.backends.embedded.tuning import ModelTuning
from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure

WITHOUT_EXAMPLES = """
[[models]]
name = "*"
backend = { url = "embedded:" }
examples = 0
"""


@pytest.fixture(scope="session")
def weights() -> Path:
    """The default model's file."""
    return ensure(DEFAULT_WEIGHTS, cache_folder(os.environ))


@pytest.fixture(scope="session")
def environment(weights: Path) -> dict[str, str]:
    """What a process needs to find them."""
    cache = cache_folder(os.environ)
    assert weights.is_relative_to(cache)
    return {"TOOLWIRE_CACHE": str(cache)}


@pytest.fixture(scope="session")
def served(environment: dict[str, str]) -> Iterator[Gateway]:
    """`toolwire serve` without a configuration; at the end it must have had no defect to report."""
    with running("--ctx", "4096", env=environment) as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="session")
def without_examples(environment: dict[str, str]) -> Iterator[openai.OpenAI]:
    """A client of the same without examples: what is known of a prompt is not read again."""
    with running("--ctx", "4096", config=WITHOUT_EXAMPLES, env=environment) as process:
        with openai.OpenAI(base_url=process.url, api_key="none", max_retries=0) as client:
            yield client
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="session")
def served_file(weights: Path) -> Iterator[Gateway]:
    """`toolwire serve` on the same file, as on any: nothing is known of the model in it."""
    with running("--gguf", str(weights), "--ctx", "1024", "--threads", "1") as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="session")
def client(served: Gateway) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, pointed at it."""
    with openai.OpenAI(base_url=served.url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def llama_server(weights: Path) -> Iterator[LlamaServer]:
    """llama.cpp's own server, on a loopback port."""
    with LlamaServer(weights) as server:
        yield server


@pytest.fixture(scope="session")
def engine(weights: Path) -> Iterator[SpyEngine]:
    """An engine in this process."""
    engine = SpyEngine(
        EngineSettings(weights, name="tiny", context=1024, tuning=ModelTuning(temperature=0.2))
    )
    yield engine
    engine.close()
