"""What stands in files of others: chat templates in three kinds of file, and traces.

The laws: nothing but `NoTemplate`; `toolwire replay` ends with 0, 1 or 2 and without a traceback; a
template that is rendered gives a prompt or `TemplateFailed`, within the time that it has.
"""

import asyncio
import tempfile
from functools import cache
from pathlib import Path

from click.testing import CliRunner
from tests.fuzz.judge import check

from toolwire.backends.templates.chat_template import NoTemplate, read_template
from toolwire.backends.templates.process import TemplateFailed, TemplateProcess, TemplateRefused
from toolwire.cli.replay import command
from toolwire.formats import detect_template

_TALK = {
    "messages": [{"role": "user", "content": "hello"}],
    "tools": None,
    "add_generation_prompt": True,
    "bos_token": "<s>",
    "eos_token": "</s>",
}


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="toolwire-fuzz-"))


def _file(data: bytes, name: str) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def _template_name(data: bytes) -> str:
    if data.startswith(b"GGUF"):
        return "model.gguf"
    return "template.json" if data.startswith(b'{"') else "template.jinja"


def run_template(data: bytes) -> object:
    """Read the bytes as the file of a model that has its template."""
    try:
        template = read_template(_file(data, _template_name(data)))
    except NoTemplate as error:
        return str(error)[-40:]
    check(template.source, "a template says something")
    check(all(1 < len(mark) <= 100 for mark in template.marks), "marks are short")
    found = detect_template(template.source)
    return found, min(len(template.marks), 6)


def run_render(data: bytes) -> object:
    """Render the bytes as a template, in the process that does so."""
    return asyncio.run(_render(data.decode("utf-8", "replace")))


async def _render(source: str) -> object:
    process = TemplateProcess(source, deadline=1.0)
    try:
        return "prompt", not await process.render(_TALK)
    except TemplateRefused:
        return "refused"
    except TemplateFailed as error:
        return str(error)[:12]
    finally:
        process.close()


def run_trace(data: bytes) -> object:
    """Run the bytes as a trace again."""
    done = CliRunner().invoke(command, [str(_file(data, "trace.json"))])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    check(done.exit_code in (0, 1, 2), f"the exit code is documented: {done.exit_code}")
    check(done.output, "something is said")
    return done.exit_code, done.output[-24:] if done.exit_code == 2 else len(done.output) // 64
