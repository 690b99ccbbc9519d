import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.e2e.conform.obedient import obedient
from tests.e2e.gateway.process import running
from tests.e2e.prompted.models import raw
from tests.scripted import Answer, ScriptedServer
from tests.scripted.answer import Usage
from tests.scripted.request import ChatRequest
from tests.templates import path_of

from toolwire.cli import main
from toolwire.server.config.loader import load

CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'


def reads_prompts(request: ChatRequest) -> Answer:
    """A model whose server drops tools, and that calls those it finds in its prompt."""
    if request.tools or "get_weather" not in "".join(request.texts("system")):
        return Answer(text="Hello.", usage=Usage(7, 2))
    return Answer(text=CALL)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script=obedient) as backend:
        yield backend


def doctor(*words: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *words])


def told(server: ScriptedServer, *words: str) -> dict[str, object]:
    facts: dict[str, object] = json.loads(doctor(server.url, "--json", *words).stdout)
    return facts


def test_a_server_that_works_is_said_to_work(server: ScriptedServer) -> None:
    result = doctor(server.url)
    assert result.exit_code == 0, result.output
    assert "The server's own tool calling works, whole and streamed." in result.output
    assert "asked    scripted\n" in result.output
    assert "works  a streamed call" in result.output


def test_calls_left_in_the_text_are_found_and_toolwire_helps(server: ScriptedServer) -> None:
    server.use("text_call", obedient)
    result = doctor(server.url)
    assert result.exit_code == 1
    assert "The model writes its calls as 'hermes', and the server leaves them" in result.output
    assert f"toolwire serve --upstream {server.url} --upstream-format hermes" in result.output
    assert 'format = "hermes"' in result.output


def test_tools_that_are_dropped_are_found_and_prompted_helps(server: ScriptedServer) -> None:
    server.use("std", reads_prompts)
    facts = told(server)
    assert str(facts["cause"]).startswith("The server drops the tools before the model sees them")
    ways = {(c["way"], c["name"]): c["verdict"] for c in facts["checks"]}  # type: ignore[attr-defined]
    assert ways["server", "a single call"] == "fails"
    assert ways["prompted", "a single call"] == "works"
    assert "--upstream-mode prompted" in str(facts["command"])
    assert 'mode = "prompted"' in str(facts["toml"])


def test_a_server_that_refuses_tools_is_named_as_that(server: ScriptedServer) -> None:
    server.use("refuses_tools", obedient)
    facts = told(server)
    assert facts["cause"] == (
        "The server refuses requests with tools: HTTP 400: This model does not support tools."
    )
    assert facts["toml"] is None, "nothing is advised that was not seen to work"


def test_a_refused_key_ends_it_at_once(server: ScriptedServer) -> None:
    server.use("err401", obedient)
    facts = told(server, "--model", "m")
    assert "refuses the key" in str(facts["cause"])
    assert len(facts["checks"]) == 1  # type: ignore[arg-type]


def test_the_advice_names_the_variable_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-right")
    with ScriptedServer("text_call", obedient, key="sk-right") as server:
        facts = told(server, "--key-env", "SOME_KEY")
    assert "--upstream-key-env SOME_KEY" in str(facts["command"])
    assert 'key_env = "SOME_KEY"' in str(facts["toml"])
    assert "sk-right" not in json.dumps(facts)


def test_a_url_without_v1_is_completed(server: ScriptedServer) -> None:
    assert f" at {server.url}\n" in doctor(server.url.removesuffix("/v1")).output


def test_toolwire_itself_is_not_put_in_front_of_itself(server: ScriptedServer) -> None:
    with running("--upstream", server.url) as gateway:
        result = doctor(gateway.url, "--model", "scripted")
    assert "server   Toolwire at" in result.output
    assert "Toolwire, mode auto" not in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["http://127.0.0.1:9/v1"], "at http://127.0.0.1:9/v1: Connection refused."),
        (["localhost:8000"], "Error: 'localhost:8000' is not the URL of a server: write http:"),
        (["http://127.0.0.1:9/v1", "--key-env", "NOT_SET_HERE"], "NOT_SET_HERE is not set"),
        (["http://127.0.0.1:9/v1", "--chat-template", "/no/such"], "--chat-template"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(words: list[str], message: str) -> None:
    result = doctor(*words)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1


def test_a_model_that_is_too_slow_is_said_to_be_and_not_raised(server: ScriptedServer) -> None:
    server.use("hang_headers", obedient)
    result = doctor(server.url, "--timeout", "0.3")
    assert result.exit_code == 2
    assert "no answer to a short request" in result.output
    assert "longer than 0.3 s with --timeout" in result.output


def test_init_writes_a_file_that_serve_can_use(server: ScriptedServer, tmp_path: Path) -> None:
    server.use("std", reads_prompts)
    path = tmp_path / "toolwire.toml"
    result = CliRunner().invoke(main, ["init", server.url, "-o", str(path)])
    assert result.exit_code == 0, result.output
    (route,) = load(path, env={}, flags={}).models
    assert (route.name, route.mode) == ("*", "prompted")
    assert route.backends[0].url == server.url
    assert "# The server drops the tools" in path.read_text()


def test_init_does_not_overwrite_a_file(tmp_path: Path) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text("mine")
    result = CliRunner().invoke(main, ["init", "http://127.0.0.1:9/v1", "-o", str(path)])
    assert result.exit_code == 2
    assert "--force" in result.output
    assert path.read_text() == "mine"


def test_init_without_a_server_configures_the_embedded_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.cli.init._USUAL", {9: "nobody"})
    path = tmp_path / "toolwire.toml"
    result = CliRunner().invoke(main, ["init", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert load(path, env={}, flags={}).serves_embedded


def test_init_finds_a_server_at_a_usual_port(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.cli.init._USUAL", {9: "nobody", server.port: "vLLM"})
    result = CliRunner().invoke(main, ["init", "-o", "-"])
    assert f'url = "{server.url}"' in result.stdout


def test_a_server_with_only_completions_is_helped_by_a_chat_template(
    server: ScriptedServer,
) -> None:
    calls = [{"calls": [["get_weather", {"city": "Paris"}]]}] * 20
    server.use("only_completions", raw("hermes", calls))
    template = str(path_of("qwen25"))
    facts = told(server, "--chat-template", template, "--model", "scripted/qwen25")
    assert "does not answer chat requests: HTTP 404" in str(facts["cause"])
    assert facts["format"] is not None
    assert f"--chat-template {template}" in str(facts["command"])
    assert f'chat_template = "{template}"' in str(facts["toml"])


def test_a_chat_template_of_a_server_with_chat_only_tells_the_format(
    server: ScriptedServer,
) -> None:
    facts = told(server, "--chat-template", str(path_of("qwen25")))
    assert facts["format"] is not None
    assert "--chat-template" not in str(facts["command"])
    assert {r.path for r in server.requests} >= {"/v1/chat/completions"}
    assert not any(r.path == "/v1/completions" for r in server.requests)
