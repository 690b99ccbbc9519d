"""Finds the text that ends a turn in a chat template.

The tokenizer's eos does not help: for many models it is that of the base model, and a template
without a tokenizer has none.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.backends.templates.process import TemplateFailed

Render = Callable[[list[dict[str, Any]]], Awaitable[str]]
"""Renders a conversation without a generation prompt."""

_SAID = "aswasanswered"
_ASKED = {"role": "user", "content": "asked"}
_ANSWERED = [_ASKED, {"role": "assistant", "content": _SAID}]


async def turn_end(template: ChatTemplate, render: Render) -> str:
    """Return the mark that follows an answer or, failing that, precedes the next turn."""
    for messages in (_ANSWERED, [*_ANSWERED, _ASKED]):
        with suppress(TemplateFailed):
            _, said, rest = (await render(messages)).rpartition(_SAID)
            rest = rest.lstrip()
            if said and (mark := next(filter(rest.startswith, template.marks), "")):
                return mark
    return template.eos
