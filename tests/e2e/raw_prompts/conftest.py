"""A server that has only `/completions`, models of several families on it, and a Toolwire."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer
from tests.templates import path_of

FAMILIES = {
    "qwen25": "hermes",
    "qwen3_coder": "qwen3_coder",
    "llama3": "llama3_json",
    "mistral": "mistral",
    "deepseek": "deepseek_v31",
    "gemma": "pythonic",
    "vicuna": "hermes",
}
"""The format of each family: of some it is in the template, of the others it is configured."""

CONFIGURED = ("gemma", "vicuna")
DIALECTS = ("generic", "vllm", "llamacpp")


def model_folder(folder: Path, family: str) -> Path:
    """What comes with a model: the tokenizer's configuration, with the template in it."""
    tokenizer = {
        "chat_template": path_of(family).read_text(),
        "bos_token": "<s>",
        # Of many models it is not what ends a turn.
        "eos_token": {"content": "</s>"},
        "added_tokens_decoder": {"7": {"content": "[[odd]]", "special": True}},
    }
    path = folder / family / "tokenizer_config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(tokenizer))
    return path


def route(family: str, dialect: str, url: str, template: Path) -> str:
    """One model of the configuration."""
    form = f'format = "{FAMILIES[family]}"\n' if family in CONFIGURED else ""
    return (
        f'[[models]]\nname = "{family}/{dialect}"\n{form}'
        f'backend = {{ url = "{url}", dialect = "{dialect}", model = "scripted/{family}", '
        f'chat_template = "{template}" }}\n'
    )


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer("only_completions") as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A Toolwire process, which at the end must have had no defect to report."""
    folder = tmp_path_factory.mktemp("models")
    templates = {family: model_folder(folder, family) for family in FAMILIES}
    routes = [
        route(family, dialect, backend.url, template)
        for family, template in templates.items()
        for dialect in DIALECTS
    ]
    chat = f'[[models]]\nname = "chat"\nbackend = {{ url = "{backend.url}" }}\n'
    nowhere = route("qwen25", "openai", f"{backend.url}/nowhere", templates["qwen25"])
    with running(config="\n".join([*routes, chat, nowhere])) as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log
