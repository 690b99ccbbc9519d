"""Counts usage with the model's tokenizer, if a backend does not report it, and prompts.

The tokens that the backend's chat template adds are unknown here, so a few are added per message.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from toolwire.backends.base import Backend, BackendRequest, PromptCounter
from toolwire.backends.tokenizers import server_tokenizer
from toolwire.errors import GatewayError
from toolwire.gateway.answer.collect import Whole
from toolwire.protocol.content import FilePart, ImagePart, text_of
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import ToolSet
from toolwire.protocol.usage import TokenUsage

_PER_MESSAGE = 4
_PER_IMAGE = 1200


class TokenCounter(Protocol):
    """Counts tokens with the model's own tokenizer."""

    async def count(self, texts: Sequence[str], *, backend: str, model: str) -> list[int]:
        """Return the token count of each text. Raises `GatewayError` if they cannot be counted."""
        ...


async def count_usage(
    counter: TokenCounter, outgoing: BackendRequest, answer: Whole, backend: str
) -> TokenUsage | None:
    """Return the usage of a turn; None if it cannot be counted."""
    texts = [_asked(outgoing.messages, outgoing.tools), _said(answer)]
    try:
        asked, said = await counter.count(texts, backend=backend, model=outgoing.request.model)
    except GatewayError:
        return None
    return TokenUsage(asked + _not_text(outgoing.messages), said)


async def count_prompt(
    counter: TokenCounter | None, outgoing: BackendRequest, backend: Backend
) -> int | None:
    """Count the tokens of a prompt: like `count_usage`, or by the server if no tokenizer is
    configured; None if they cannot be counted."""
    try:
        if counter is None and isinstance(backend, PromptCounter):
            return await backend.count_prompt(outgoing)
        counter = counter or server_tokenizer(backend)
        if counter is None:
            return None
        text, model = _asked(outgoing.messages, outgoing.tools), outgoing.request.model
        (asked,) = await counter.count([text], backend=backend.name, model=model)
    except GatewayError:
        return None
    return asked + _not_text(outgoing.messages)


def _not_text(messages: Sequence[ChatMessage]) -> int:
    """Estimate the tokens between messages, and those of images and files."""
    shown = sum(
        isinstance(part, ImagePart | FilePart)
        for message in messages
        if isinstance(message.content, tuple)
        for part in message.content
    )
    return _PER_MESSAGE * len(messages) + _PER_IMAGE * shown


def _asked(messages: Sequence[ChatMessage], tools: ToolSet) -> str:
    lines = [
        f"{tool.name}\n{tool.description or ''}\n{msgspec.json.encode(tool.parameters).decode()}"
        for tool in tools.tools.values()
    ]
    for message in messages:
        lines.append(text_of(message.content))
        lines += [f"{call.name}{call.arguments}" for call in message.calls]
    return "\n".join(lines)


def _said(answer: Whole) -> str:
    calls = [f"{call.name}{call.arguments}" for call in answer.calls]
    return "\n".join([*filter(None, (answer.reasoning, answer.content)), *calls])
