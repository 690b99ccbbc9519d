import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from toolwire.server.config import load

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", generator().PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == generator().PAGES[name](), "run `make docs`"


def test_the_example_of_the_configuration_page_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text(generator().EXAMPLE)
    env = {"OPENAI_API_KEY": "sk-a", "OPENROUTER_API_KEY": "sk-b"}
    config = load(path, env=env, flags={})
    assert [model.name for model in config.models] == ["qwen3-coder", "gpt-5", "*"]
    assert config.models[1].backends[1].timeouts is not None
