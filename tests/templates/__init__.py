"""Chat templates in the shape of the families of models that people run, written for these tests.

Each is read by path or by name; what a prompt of each looks like to a model is told in `SHAPES`,
by an independent hand: turns are found by pattern, not by rendering.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Shape:
    """How turns stand in the prompts of a template: one pattern with `role` and `text` each."""

    turn: re.Pattern[str]
    roles: dict[str, str]
    """The roles of messages, by what stands in the prompt for them."""
    end: str
    """What ends a turn of the assistant."""


def _shape(pattern: str, end: str, **roles: str) -> Shape:
    return Shape(re.compile(pattern, re.DOTALL), roles, end)


_SAME = {"system": "system", "user": "user", "assistant": "assistant"}
_CHATML = _shape(r"<\|im_start\|>(?P<role>\w+)\n(?P<text>.*?)<\|im_end\|>", "<|im_end|>", **_SAME)

SHAPES = {
    "qwen25": _CHATML,
    "qwen3_coder": _CHATML,
    "llama3": _shape(
        r"<\|start_header_id\|>(?P<role>\w+)<\|end_header_id\|>\n\n(?P<text>.*?)<\|eot_id\|>",
        "<|eot_id|>",
        **_SAME,
    ),
    "mistral": Shape(
        re.compile(
            r"(?P<role>\[SYSTEM_PROMPT\]|\[INST\]|\[/INST\])(?P<text>.*?)"
            r"(?:\[/SYSTEM_PROMPT\]|(?=\[/INST\])|</s>)",
            re.DOTALL,
        ),
        {"[SYSTEM_PROMPT]": "system", "[INST]": "user", "[/INST]": "assistant"},
        "</s>",
    ),
    "deepseek": Shape(
        re.compile(
            r"(?P<role><｜User｜>|<｜Assistant｜>|\A)(?P<text>.*?)"
            r"(?:(?=<｜User｜>|<｜Assistant｜>)|<｜end▁of▁sentence｜>)",
            re.DOTALL,
        ),
        {"": "system", "<｜User｜>": "user", "<｜Assistant｜>": "assistant"},
        "<｜end▁of▁sentence｜>",
    ),
    "gemma": _shape(
        r"<start_of_turn>(?P<role>\w+)\n(?P<text>.*?)<end_of_turn>",
        "<end_of_turn>",
        user="user",
        model="assistant",
    ),
    "vicuna": _shape(
        r"(?P<role>USER|ASSISTANT|\A):? ?(?P<text>.*?)(?:\n(?=USER:|ASSISTANT:)|</s>\n?)",
        "</s>",
        USER="user",
        ASSISTANT="assistant",
    ),
}
SHAPES["vicuna"].roles[""] = "system"


def path_of(name: str) -> Path:
    """The file of a template."""
    return FOLDER / f"{name}.jinja"


def read_prompt(prompt: str, name: str) -> list[dict[str, Any]]:
    """The messages that a model of this family sees in a prompt; not the turn it is to write."""
    shape = SHAPES[name]
    return [
        {"role": shape.roles[found["role"]], "content": found["text"].strip()}
        for found in shape.turn.finditer(prompt)
        if found["role"] or found["text"].strip()
    ]
