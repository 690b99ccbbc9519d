import asyncio
import io
import time
from pathlib import Path

import pytest

from toolwire.server.config.loader import load
from toolwire.server.health.introduction import introduce, served_backends
from toolwire.server.services import Services
from toolwire.server.telemetry.logs import setup

ROUTE = '[[models]]\nname = "{name}"\nbackend = {{ url = "http://127.0.0.1:9/v1"{model} }}\n'


def introduced(name: str, model: str, listed: list[str], path: Path) -> str:
    """What is said of the backend of a route, which lists these models."""
    path.write_text(ROUTE.format(name=name, model=model))
    config = load(path, env={}, flags={})

    async def introduction() -> str:
        services = Services(config, setup("error", stream=io.StringIO()), time.perf_counter, None)
        (served,) = served_backends(config, services.routes)
        await services.aclose()
        return introduce(served, listed, "")

    return asyncio.run(introduction())


@pytest.mark.parametrize("name", ["*", "qwen-*"])
def test_a_route_for_many_names_shows_every_model_of_its_backend(name: str, tmp_path: Path) -> None:
    text = introduced(name, "", ["qwen-a", "qwen-b"], tmp_path / "toolwire.toml")
    assert "qwen-a\n" in text
    assert "qwen-b\n" in text
    assert "lists no model" not in text


def test_the_model_of_a_backend_counts_before_the_name_of_its_route(tmp_path: Path) -> None:
    text = introduced("small", ', model = "qwen-a"', ["qwen-b"], tmp_path / "toolwire.toml")
    assert "it lists no model 'qwen-a', only: qwen-b" in text
