"""What ends a turn is read off the template, whatever the tokenizer says."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolwire.backends.templates.chat_template import ChatTemplate, read_template
from toolwire.backends.templates.process import TemplateProcess
from toolwire.backends.templates.turn_end import turn_end

pytestmark = pytest.mark.process

_EACH = "{% for m in messages %}"
_OWN_LAST = (
    _EACH + "<|start|>{{ m.role }}<|message|>{{ m.content }}"
    "{{ '<|return|>' if loop.last and not add_generation_prompt else '<|end|>' }}{% endfor %}"
)


def found(template: ChatTemplate) -> str:
    async def find() -> str:
        process = TemplateProcess(template.source)

        async def render(messages: list[dict[str, Any]]) -> str:
            return await process.render({"messages": messages, "add_generation_prompt": False})

        try:
            return await turn_end(template, render)
        finally:
            process.close()

    return asyncio.run(find())


@pytest.mark.parametrize(
    ("source", "end"),
    [
        (_EACH + "<|{{ m.role }}|>{{ m.content }}<|end|>\n{% endfor %}", "<|end|>"),
        # Nothing ends an answer but the next turn.
        (_EACH + "<|{{ m.role }}|>\n{{ m.content }}{% endfor %}", "<|user|>"),
        (_EACH + "\n\n### {{ m.role | title }}:\n{{ m.content }}{% endfor %}", "### User:"),
        # The last answer ends otherwise than those before it.
        (_OWN_LAST, "<|return|>"),
    ],
)
def test_the_end_is_what_the_template_writes_behind_an_answer(
    tmp_path: Path, source: str, end: str
) -> None:
    (tmp_path / "chat_template.jinja").write_text(source)
    assert found(read_template(tmp_path / "chat_template.jinja")) == end


@pytest.mark.parametrize(
    "source",
    [
        _EACH + "{{ m.content }}\n{% endfor %}",
        "{{ raise_exception('Not this one.') }}",
        "{{ messages.no.such }}",
        "<|all|>",
    ],
)
def test_a_template_that_does_not_tell_leaves_it_to_the_tokenizer(source: str) -> None:
    assert found(ChatTemplate(source, eos="</s>", marks=("<|all|>", "</s>"))) == "</s>"
