"""Templates are rendered as models expect, and no template can harm who has it rendered."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwire.backends.template_process import TemplateFailed, TemplateProcess, TemplateRefused

HELLO = [{"role": "user", "content": "<b>Hi</b>"}]


def render(source: str, *, deadline: float = 10.0, **values: Any) -> str:
    async def once() -> str:
        process = TemplateProcess(source, deadline=deadline)
        try:
            return await process.render({"messages": HELLO, **values})
        finally:
            process.close()

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("source", "prompt"),
    [
        ("{{ messages[0]['content'] }}", "<b>Hi</b>"),
        ("{{ messages[0] | tojson }}", '{"role": "user", "content": "<b>Hi</b>"}'),
        ("{{ {'b': 1, 'a': 'ü'} | tojson(indent=1) }}", '{\n "b": 1,\n "a": "ü"\n}'),
        ("{% for n in [1, 2, 3] %}{% if n == 2 %}{% break %}{% endif %}{{ n }}{% endfor %}", "1"),
        ("{% if true %}\n  {%- set x = 1 %}\n{{ x }}\n{% endif %}\nend", "1\nend"),
        ("{{ strftime_now('%Y') | length }}", "4"),
        ("{% generation %}{{ messages[0].role }}{% endgeneration %}.", "user."),
        ("{{ bos_token }}{{ tools is defined }}{{ nothing }}", "<s>False"),
        ("{% set ns = namespace(n=0) %}{% set ns.n = 3 %}{{ ns.n }}", "3"),
        ("{{ messages[0].tool_calls is defined }}{{ messages[0].get('x', 'y') }}", "Falsey"),
    ],
)
def test_what_templates_of_models_use_is_there(source: str, prompt: str) -> None:
    assert render(source, bos_token="<s>") == prompt


def test_a_process_that_cannot_be_started_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(TemplateFailed, match="cannot be started: No such file"):
        render("x")


def test_a_template_can_refuse_a_conversation_in_its_own_words() -> None:
    with pytest.raises(TemplateRefused, match="Roles must alternate"):
        render("{{ raise_exception('Roles must alternate') }}")


LOOP = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        LOOP,
        "{% for a in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
        "{% for a in range(10 ** 9) %}{% endfor %}",
        "{{ 'a' * (10 ** 10) }}",
        "{{ 'a'.center(10 ** 10) }}",
        "{{ 2 ** (10 ** 9) }}",
        "{{ '%0999999999d' % 1 }}",
        "{{ lipsum(99999) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ cycler.__init__.__globals__.os.environ }}",
        "{{ messages.append(1) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% for",
    ],
)
def test_a_hostile_template_ends_soon_and_with_an_error(source: str) -> None:
    began = time.monotonic()
    with pytest.raises(TemplateFailed):
        render(source, deadline=1.5)
    assert time.monotonic() - began < 5


def test_no_key_of_ours_is_in_the_process_that_renders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWIRE_UPSTREAM_KEY", "sk-secret")

    async def environment() -> bytes:
        process = TemplateProcess("{{ 1 }}")
        await process.render({})
        (child,) = children()
        seen = (child / "environ").read_bytes()
        process.close()
        return seen

    assert b"sk-secret" not in asyncio.run(environment())


def children() -> Iterator[Path]:
    """The processes that this one has started."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            mine = f"PPid:\t{os.getpid()}\n" in status.read_text()
        except OSError:
            continue
        if mine and b"template_worker" in (status.parent / "cmdline").read_bytes():
            yield status.parent


def test_it_goes_on_after_a_template_that_took_too_long_or_a_caller_that_left() -> None:
    source = "{% if messages[0].content == 'loop' %}" + LOOP + "{% endif %}ok"
    slow, quick = ({"messages": [{"content": text}]} for text in ("loop", "go"))

    async def use() -> None:
        process = TemplateProcess(source, deadline=0.3)
        assert await process.render(quick) == "ok"
        with pytest.raises(TemplateFailed, match=r"within 0.3 s"):
            await process.render(slow)
        assert await process.render(quick) == "ok"
        leaving = asyncio.create_task(process.render(slow))
        await asyncio.sleep(0.1)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await asyncio.gather(*(process.render(quick) for _ in range(20))) == ["ok"] * 20
        assert len(list(children())) == 1
        process.close()
        assert not list(children())

    asyncio.run(use())


def end(process: int) -> None:
    """End a process, and leave it to its parent to notice."""
    os.kill(process, 9)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)


def test_a_process_that_was_ended_by_others_is_started_again_and_nobody_notices() -> None:
    async def use() -> None:
        process = TemplateProcess("ok")
        assert await process.render({}) == "ok"
        (child,) = children()
        end(int(child.name))
        assert await process.render({}) == "ok"
        assert not child.exists()
        process.close()

    asyncio.run(use())
