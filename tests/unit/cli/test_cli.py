import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from toolwire.cli import main


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
