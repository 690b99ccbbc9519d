"""Templates are rendered as models expect, and no template can harm who has it rendered."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from toolwire.backends.templates.process import TemplateFailed, TemplateProcess, TemplateRefused

pytestmark = pytest.mark.process

HELLO = [{"role": "user", "content": "<b>Hi</b>"}]


def render(source: str, *, deadline: float = 10.0, **values: Any) -> str:
    async def once() -> str:
        process = TemplateProcess(source, deadline=deadline)
        try:
            async with asyncio.timeout(60):
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


LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


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
def test_a_hostile_template_ends_and_with_an_error(source: str) -> None:
    with pytest.raises(TemplateFailed):
        render(source, deadline=1.5)


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


def children(parent: int = 0) -> Iterator[Path]:
    """The processes for templates that this one, or another, has started."""
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            mine = f"PPid:\t{parent or os.getpid()}\n" in status.read_text()
            if mine and is_worker(status.parent):
                yield status.parent


def is_worker(process: Path) -> bool:
    """Whether it is a process for a template, and alive."""
    try:
        return b"templates/worker.py" in (process / "cmdline").read_bytes()
    except OSError:
        return False


def test_it_goes_on_after_a_template_that_took_too_long_or_a_caller_that_left() -> None:
    source = "{% if messages[0].content == 'loop' %}" + LOOP + "{% endif %}ok"
    slow, quick = ({"messages": [{"content": text}]} for text in ("loop", "go"))

    async def use() -> None:
        process = TemplateProcess(source, deadline=2)  # its start is within the deadline, too
        assert await process.render(quick) == "ok"
        with pytest.raises(TemplateFailed, match=r"within 2 s"):
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


def test_a_conversation_that_is_refused_costs_no_process() -> None:
    async def use() -> None:
        process = TemplateProcess("{% if bad %}{{ raise_exception('no') }}{% endif %}ok")
        with pytest.raises(TemplateRefused):
            await process.render({"bad": True})
        (child,) = children()
        assert await process.render({}) == "ok"
        assert list(children()) == [child]
        process.close()

    asyncio.run(use())


def test_a_template_that_is_wrong_is_said_to_be_every_time() -> None:
    async def use() -> None:
        process = TemplateProcess("{% for")
        for _ in range(2):
            with pytest.raises(TemplateFailed, match="unexpected 'end of template'"):
                await process.render({})
        process.close()
        assert not list(children())

    asyncio.run(use())


def test_only_the_work_of_rendering_is_limited_and_no_waiting() -> None:
    async def use() -> None:
        process = TemplateProcess("ok", deadline=0.5)
        assert await process.render({}) == "ok"
        (child,) = children()
        os.kill(int(child.name), signal.SIGSTOP)  # as on a machine that has no time for it
        waiting = asyncio.create_task(process.render({}))
        await asyncio.sleep(1)
        assert not waiting.done()
        os.kill(int(child.name), signal.SIGCONT)
        assert await waiting == "ok"
        process.close()

    asyncio.run(use())


def test_a_template_takes_no_thread_from_others_and_waits_for_none_of_theirs() -> None:
    async def use() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        endless, good = TemplateProcess(LOOP), TemplateProcess("ok")
        rendering = asyncio.create_task(endless.render({}))
        await asyncio.sleep(0)
        over = threading.Event()
        occupied = asyncio.create_task(asyncio.to_thread(over.wait))
        assert await good.render({}) == "ok"
        over.set()
        assert await occupied
        assert not rendering.done()
        rendering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await rendering
        for process in (endless, good):
            process.close()
        assert not list(children())

    asyncio.run(use())


PARENT = f"""
import asyncio
from toolwire.backends.templates.process import TemplateProcess
asyncio.run(TemplateProcess({LOOP!r}, deadline=3).render({{}}))
"""


def test_an_endless_template_ends_also_if_who_asked_for_it_was_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT])
    try:
        wait_until(lambda: any(work_of(child) > 1 for child in children(parent.pid)))
        (child,) = children(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not is_worker(child))


def work_of(process: Path) -> float:
    """The seconds that a process has worked: to start takes less than one."""
    user, system = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
