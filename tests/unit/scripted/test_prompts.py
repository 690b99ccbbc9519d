"""A scripted model that is sent prompts sees the conversation in them, and answers in its form."""

import json
from typing import Any

import pytest
from tests.scripted.play import events_of, play
from tests.scripted.stage import Stage
from tests.templates import SHAPES, read_prompt

PROMPTS = {
    "qwen25": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
    "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
    "mistral": "[SYSTEM_PROMPT]S[/SYSTEM_PROMPT][INST]U[/INST]A</s>[INST]V[/INST]",
    "deepseek": "S<｜User｜>U<｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜>",
    "vicuna": "S\nUSER: U\nASSISTANT: A</s>\nUSER: V\nASSISTANT:",
}


@pytest.mark.parametrize("family", PROMPTS)
def test_a_prompt_is_read_as_the_turns_in_it(family: str) -> None:
    turns = [(m["role"], m["content"]) for m in read_prompt(PROMPTS[family], family)]
    assert turns == [("system", "S"), ("user", "U"), ("assistant", "A"), ("user", "V")]
    assert family in SHAPES


def complete(variant: str = "std", **body: Any) -> Any:
    fields = {"model": "x/mistral", "prompt": PROMPTS["mistral"], **body}
    return play(Stage(variant, "echo"), "/v1/completions", **fields)


def test_the_script_answers_the_last_turn() -> None:
    whole = json.loads(complete().body)
    assert whole["object"] == "text_completion"
    assert whole["choices"][0] | {"logprobs": None} == {
        "text": "V",
        "index": 0,
        "logprobs": None,
        "finish_reason": "stop",
    }
    events = [json.loads(data) for data in events_of(complete(stream=True))[:-1]]
    assert "".join(choice["text"] for event in events for choice in event["choices"]) == "V"


def test_a_server_without_chat_has_only_completions() -> None:
    chat = {"messages": [{"role": "user", "content": "Hi"}]}
    assert play(Stage("only_completions", "echo"), **chat).status == 404
    assert play(Stage("std", "echo"), **chat).status == 200
    assert complete("only_completions").status == 200
