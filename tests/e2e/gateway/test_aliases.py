"""A model under other names: requests for a small model of some vendor never fail."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask, chat_body
from tests.scripted import ScriptedServer

from toolwire.cli.check import command

ALIASED = """
[[models]]
name = "qwen3-coder"
aliases = ["claude-*", "gpt-5"]
backend = {{ url = "{url}" }}

[[models]]
name = "o*"
backend = {{ url = "{url}", name = "forwarding" }}
"""


@pytest.fixture(scope="module")
def aliased(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire with aliases, and a route for a pattern."""
    with running(config=ALIASED.format(url=backend.url)) as process:
        yield process


@pytest.fixture(autouse=True)
def _backend_says_hi(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("qwen3-coder", "qwen3-coder"),
        ("claude-haiku-4-5", "qwen3-coder"),
        ("gpt-5", "qwen3-coder"),
        ("o4-mini", "o4-mini"),
    ],
)
def test_the_backend_sees_its_own_name_and_the_client_the_one_it_asked_for(
    aliased: Gateway, backend: ScriptedServer, name: str, sent: str, *, stream: bool
) -> None:
    reply = ask(aliased.port, chat_body(model=name, stream=stream))
    assert reply.status == 200
    assert f'"model":"{name}"' in reply.body.decode()
    assert [json.loads(request.body)["model"] for request in backend.requests] == [sent]


def test_other_endpoints_know_the_aliases_too(aliased: Gateway, backend: ScriptedServer) -> None:
    for name, sent in {"claude-x": "qwen3-coder", "o1": "o1"}.items():
        ask(aliased.port, {"model": name, "input": "x"}, path="/v1/embeddings")
        assert json.loads(backend.requests[-1].body)["model"] == sent


def test_any_other_name_is_a_404_that_tells_all_names(aliased: Gateway) -> None:
    reply = ask(aliased.port, chat_body(model="gpt-5-mini"))
    assert reply.status == 404
    assert "'qwen3-coder', 'claude-*', 'gpt-5', 'o*'" in reply.error["message"]


def test_the_start_message_shows_them(aliased: Gateway) -> None:
    assert "also as claude-*, gpt-5" in aliased.out


def test_the_check_shows_them(backend: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text(ALIASED.format(url=backend.url))
    assert "qwen3-coder: also claude-*, gpt-5\n" in CliRunner().invoke(command, ["-c", path]).output


def test_a_flag_gives_a_model_of_an_upstream_another_name(backend: ScriptedServer) -> None:
    with running("--upstream", backend.url, "--model-alias", "claude-*=scripted") as process:
        for name, sent in {"claude-x": "scripted", "other": "other"}.items():
            assert ask(process.port, chat_body(model=name)).json["model"] == name
            assert json.loads(backend.requests[-1].body)["model"] == sent
