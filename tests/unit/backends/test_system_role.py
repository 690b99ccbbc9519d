"""Prompts that a chat template makes. Without a system role, what it would leave out is said by
the user."""

import asyncio

import pytest

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.http import HttpPool, Origin
from toolwire.backends.openai.completions import CompletionsBackend
from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.sampling import SamplingParams
from toolwire.protocol.tools import NO_TOOLS

_EACH = "{% for m in messages %}"
SILENT = _EACH + "{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}"
REFUSING = (
    _EACH + "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}"
)
HAVING = _EACH + "<{{ m.role }}>{{ m.content | trim }}{% endfor %}"
_CHOICE = "{% if enable_thinking is not defined %}?{% elif enable_thinking %}on{% else %}off"
THINKING = _CHOICE + "{% endif %}{% for m in messages %}<{{ m.content | trim }}>{% endfor %}"


def prompt(source: str, *, thinking: bool | None = None) -> str:
    """The prompt that a conversation becomes."""
    messages = (ChatMessage("system", "Tools: f. "), ChatMessage("user", "hi"))
    request = Request("m", messages, sampling=SamplingParams(thinking=thinking))

    async def make() -> str:
        pool = HttpPool(Origin.of("http://127.0.0.1:9/v1"), connect_timeout=1)
        backend = CompletionsBackend(
            "b",
            pool,
            DIALECTS["generic"],
            ChatTemplate(source),
            opened_reasoning=lambda _: ("", ""),
        )
        try:
            assert backend.ignored(request) == []
            return await backend.prompt(BackendRequest(request, messages, NO_TOOLS))
        finally:
            await backend.aclose()

    return asyncio.run(make())


@pytest.mark.parametrize("source", [SILENT, REFUSING], ids=["silent", "refusing"])
@pytest.mark.process
def test_instructions_are_never_lost(source: str) -> None:
    assert prompt(source) == "<user>Tools: f. \n\nhi"


@pytest.mark.process
def test_a_template_that_has_one_is_used_as_it_is() -> None:
    assert prompt(HAVING) == "<system>Tools: f.<user>hi"


@pytest.mark.process
@pytest.mark.parametrize(("thinking", "said"), [(None, "?"), (True, "on"), (False, "off")])
def test_the_template_is_told_whether_to_think(thinking: bool | None, said: str) -> None:
    assert prompt(THINKING, thinking=thinking) == f"{said}<Tools: f.><hi>"
