"""The model's own tokenizer: a file, or its server."""

import asyncio
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.unit.backends.openai.test_llamacpp import Told, met

from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.tokenizers import NoTokenizer, open_tokenizer
from toolwire.errors import UpstreamError
from toolwire.server.assembly import build_routes
from toolwire.server.config.loader import Config, ConfigError, load

MODEL = '[[models]]\nname = "m"\nbackend = { url = "http://h/v1" }\ntokenizer = "%s"\n'


class FakeTokenizer:
    """As much of the package as is used: a token a character."""

    @staticmethod
    def from_file(path: str) -> "FakeTokenizer":
        if Path(path).read_text() != "{}":
            raise Exception("expected value")  # as the package does
        return FakeTokenizer()

    def encode(self, text: str, *, add_special_tokens: bool) -> Any:
        assert not add_special_tokens
        return SimpleNamespace(ids=list(range(len(text))))


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tokenizers")
    module.Tokenizer = FakeTokenizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tokenizers", module)


def configured(folder: Path, tokenizer: str) -> Config:
    path = folder / "toolwire.toml"
    path.write_text(MODEL % tokenizer)
    return load(path, env={}, flags={})


def test_a_file_counts(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    counter = open_tokenizer(tmp_path / "tokenizer.json")
    assert asyncio.run(counter.count(["abc", ""], backend="b", model="m")) == [3, 0]


@pytest.mark.parametrize(("text", "why"), [(None, "there is no file"), ("x", "is not a tokenizer")])
def test_a_file_that_is_none_is_said_at_the_start(
    tmp_path: Path, text: str | None, why: str
) -> None:
    if text is not None:
        (tmp_path / "t.json").write_text(text)
    with pytest.raises(ConfigError, match=why) as caught:
        configured(tmp_path, "t.json")
    assert "models[0].tokenizer" in caught.value.message


def test_without_the_package_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(NoTokenizer, match=r"pip install '\.\[tokenizers\]' in a clone"):
        open_tokenizer(tmp_path / "t.json")


@pytest.mark.parametrize("tokenizer", ["t.json", "server"])
def test_the_configuration_gives_a_model_its_counter(tmp_path: Path, tokenizer: str) -> None:
    (tmp_path / "t.json").write_text("{}")
    config = configured(tmp_path, tokenizer)

    async def build() -> None:
        routes = build_routes(config, None, lambda: 0.0, lambda text, most: text[:most])
        assert routes.find("m").tokens is not None

    asyncio.run(build())


def test_a_server_is_asked_at_its_root() -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        assert await backend.tokenize("Hi", "m") == 2

    server = Told((200, b'{"tokens":[1,2]}'))
    met(server, "generic", use)
    assert server.asked == ["/at/tokenize"]


NO_NUMBER = [b"<html>", b"{}", b'{"count":-1}', b'{"count":%d}' % 10**30, b'{"tokens":[[1],[2]]}']


@pytest.mark.parametrize("answer", [(404, b""), (500, b"{}"), *((200, said) for said in NO_NUMBER)])
def test_a_server_that_does_not_count_is_an_error(answer: tuple[int, bytes]) -> None:
    async def use(backend: OpenAiHttpBackend) -> None:
        with pytest.raises(UpstreamError):
            await backend.tokenize("Hi", "m")

    met(Told(answer), "generic", use)


def test_a_server_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.backends.openai.backend._PROBE_TIMEOUT", 0.1)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
        await reader.read(-1)
        writer.close()

    async def use(backend: OpenAiHttpBackend) -> None:
        async with asyncio.timeout(5):
            with pytest.raises(UpstreamError):
                await backend.tokenize("Hi", "m")
        await asyncio.sleep(0.1)  # until the server has noticed

    met(silent, "generic", use)  # type: ignore[arg-type]
