"""`/completions` for a model that was taught a chat template: a prompt read back as messages.

The family of the template is the model's name, `scripted/FAMILY`; the stop that a server of such a
model knows by itself is not written.
"""

from typing import Any

from tests.scripted.request import ChatRequest
from tests.templates import SHAPES, read_prompt


def read_chat(body: dict[str, Any]) -> ChatRequest | None:
    """The conversation in a prompt; None if the model knows of no conversations."""
    family = str(body.get("model", "")).rpartition("/")[2]
    if family not in SHAPES:
        return None
    fields = {key: value for key, value in body.items() if key != "prompt"}
    messages = read_prompt(body["prompt"], family)
    if messages and messages[0]["role"] != "system":
        # Where there is no such role, what the system says stands in the first turn.
        messages.insert(0, {**messages[0], "role": "system"})
    return ChatRequest({**fields, "messages": messages})


def text_completion(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chat completion, or a chunk of one, in the form of plain completions."""
    choices = []
    for choice in chunk["choices"]:
        said = choice.get("delta", choice.get("message"))
        kept = {key: choice[key] for key in ("index", "logprobs", "finish_reason")}
        choices.append({"text": said.get("content") or "", **kept})
    return {**chunk, "object": "text_completion", "choices": choices}
