import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolwire.cli import main
from toolwire.formats import names


def run(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["formats", *words])
    return result.exit_code, result.output


def test_every_format_is_in_the_table() -> None:
    code, output = run()
    assert code == 0
    assert all(name in output for name in names())
    assert "qwen25" in output  # an alias


def test_every_format_is_in_the_json() -> None:
    code, output = run("--json")
    records = {record["name"]: record for record in json.loads(output)}
    assert code == 0
    assert set(records) == set(names())
    assert records["hermes"]["family"] == "json"
    assert "qwen25" in records["hermes"]["aliases"]


def test_a_pattern_with_brackets_is_shown_as_it_is() -> None:
    assert r"granite-?4(\.[01])?" in run()[1]


def test_the_format_of_a_model_is_told_with_the_reason() -> None:
    code, output = run("--model", "Qwen/Qwen3-Coder-30B-A3B-Instruct")
    assert code == 0
    assert output.startswith("qwen3_coder: ")


def test_the_format_of_a_template_is_told(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("[TOOL_CALLS]{{ name }}[ARGS]{{ args }} [TOOL_RESULTS]")
    code, output = run("--template", str(template), "--json")
    assert code == 0
    assert json.loads(output)["format"].startswith("mistral")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "unheard-of"], "no format is known for the model 'unheard-of'"),
        (["--template", "/no/such/file"], "cannot read /no/such/file"),
    ],
)
def test_what_cannot_be_told_is_one_line_and_exit_code_2(words: list[str], message: str) -> None:
    code, output = run(*words)
    assert code == 2
    assert message in output
    assert len(output.strip().splitlines()) == 1
