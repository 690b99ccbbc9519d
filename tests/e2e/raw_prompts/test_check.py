"""`toolwire check` tells whether a chat template can be used, before any client does."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.scripted import ScriptedServer


def check(folder: Path, url: str, template: str) -> subprocess.CompletedProcess[str]:
    path = folder / "t.jinja"
    path.write_text(template)
    flags = ("--upstream", url, "--chat-template", str(path))
    command = [sys.executable, "-m", "toolwire", "check", *flags]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=folder, check=False
    )


def test_a_template_that_makes_prompts_is_fine(backend: ScriptedServer, tmp_path: Path) -> None:
    done = check(tmp_path, backend.url, "{% for m in messages %}{{ m.content }}{% endfor %}")
    assert done.returncode == 0, done.stderr
    assert "prompts are rendered with the chat template" in done.stdout


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for m in", "unexpected 'end of template'"),
        ("{{ raise_exception('Never.') }}", "refuses this conversation: Never."),
        ("{{ ''.__class__.__mro__ }}", "is unsafe"),
    ],
)
def test_a_template_that_does_not_is_said_to_fail(
    backend: ScriptedServer, tmp_path: Path, template: str, reason: str
) -> None:
    done = check(tmp_path, backend.url, template)
    assert done.returncode == 1
    assert reason in done.stderr
