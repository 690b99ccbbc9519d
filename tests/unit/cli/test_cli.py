import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolwire.backends.dialects import DIALECTS
from toolwire.cli import main
from toolwire.server.access.auth import hash_key


def test_a_misspelt_command_is_told_which_one_is_like_it() -> None:
    result = CliRunner().invoke(main, ["srve", "--port", "1"])
    assert result.exit_code == 2
    assert "No such command 'srve'. Did you mean 'serve'?" in result.output


def test_a_command_like_none_is_simply_unknown() -> None:
    result = CliRunner().invoke(main, ["xyz"])
    assert result.exit_code == 2
    assert "No such command 'xyz'." in result.output
    assert "Did you mean" not in result.output


@pytest.mark.process
def test_a_letter_that_the_locale_does_not_have_is_written_all_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolwire", "parse"],
        input='<tool_call>{"name": "caf\u00e9\u2713", "arguments": {}}</tool_call>'.encode(),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert "caf\u00e9\u2713" in done.stdout.decode("utf-8")


def test_a_new_key_can_be_printed_for_programs() -> None:
    told = json.loads(CliRunner().invoke(main, ["key", "my laptop", "--json"]).stdout)
    assert told["name"] == "my laptop"
    assert told["sha256"] == hash_key(told["key"])


def test_a_name_that_the_configuration_would_refuse_gets_no_key() -> None:
    result = CliRunner().invoke(main, ["key", ""])
    assert result.exit_code == 2
    assert "1 to 256 printable characters" in result.output
    assert "sha256" not in result.output


def test_every_error_of_the_configuration_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text("[listen]\nport = -1\n\n[limits]\ntools = 0\n")
    result = CliRunner().invoke(main, ["check", "-c", str(path)])
    assert result.exit_code == 1
    assert "2 things are wrong with the configuration" in result.output
    assert f"{path}:2: listen.port" in result.output
    assert f"{path}:5: limits.tools" in result.output


def test_errors_of_the_configuration_can_be_printed_for_programs(tmp_path: Path) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text("[listen]\nport = -1\n")
    result = CliRunner().invoke(main, ["check", "-c", str(path), "--json"])
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert not told["valid"]
    assert [(e["file"], e["line"]) for e in told["errors"]] == [(str(path), 2)]


def test_a_backend_that_does_not_answer_can_be_printed_for_programs() -> None:
    words = ["check", "--upstream", "http://127.0.0.1:9/v1", "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 1
    (backend,) = json.loads(result.stdout)["backends"]
    assert (backend["backend"], backend["ok"]) == ("127.0.0.1:9", False)
    assert "Connection refused" in backend["text"]


def test_the_help_of_serve_has_examples_and_every_dialect() -> None:
    words = CliRunner().invoke(main, ["serve", "--help"]).output
    assert "toolwire serve --upstream http://localhost:8000/v1" in words
    assert [name for name in DIALECTS if name not in words] == []


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("toolwire serve --upstream-dialect ll", "llamacpp"),
        ("toolwire serve --upstream-mode p", "prompted"),
        ("toolwire serve --upstream-format herm", "hermes"),
        ("toolwire serve --log-level d", "debug"),
        ("toolwire parse --format qwen3", "qwen3_coder"),
        ("toolwire doc", "doctor"),
    ],
)
def test_a_shell_is_told_the_values(words: str, value: str) -> None:
    number = len(words.split()) - 1
    asked = {"_TOOLWIRE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
    done = subprocess.run(
        [Path(sys.executable).with_name("toolwire")],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"plain,{value}" in done.stdout.splitlines()


def test_without_a_command_it_says_what_to_type_and_cuts_nothing_off() -> None:
    shown = CliRunner().invoke(main, []).output
    assert "toolwire serve --upstream http://localhost:8000/v1" in shown
    assert [line for line in shown.splitlines()[1:] if line.endswith("...")] == []
