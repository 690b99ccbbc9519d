"""The default weights, fetched once for all runs, and what runs on them."""

import os
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from tests.e2e.embedded.spying import SpyEngine
from tests.e2e.gateway.process import Gateway, running

from toolwire.backends.embedded_engine import EngineSettings
from toolwire.backends.embedded_habits import Habits
from toolwire.backends.weights import DEFAULT_WEIGHTS, cache_folder, ensure


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
    with running("--ctx", "1024", env=environment) as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="session")
def client(served: Gateway) -> Iterator[openai.OpenAI]:
    """OpenAI's own client, pointed at it."""
    with openai.OpenAI(base_url=served.url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def engine(weights: Path) -> Iterator[SpyEngine]:
    """An engine in this process."""
    engine = SpyEngine(
        EngineSettings(weights, name="tiny", context=1024, habits=Habits(temperature=0.2))
    )
    yield engine
    engine.close()
