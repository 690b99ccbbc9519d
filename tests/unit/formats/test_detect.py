"""Which format: by model name, chat template and answer, each with the reason."""

import pytest

from toolwire.formats import RenderedCall as Call
from toolwire.formats import (
    detect_model,
    detect_output,
    detect_template,
    notice_mismatch,
    render_calls,
)
from toolwire.protocol.chat import Tool

TOOLS = [Tool("get_time", None, {"properties": {"tz": {"type": "string"}}})]
MODELS = {
    "NousResearch/Hermes-3-Llama-3.1-8B": "hermes",
    "Qwen/Qwen2.5-7B-Instruct": "hermes",
    "Qwen/Qwen3-32B-AWQ": "hermes",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3_coder",
    "meta-llama/Llama-3.3-70B-Instruct": "llama3_json",
    "meta-llama/Llama-4-Scout-17B": "llama4_pythonic",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_v3",
    "mistralai/Devstral-Small-2507": "mistral",
    "deepseek-ai/DeepSeek-V3-0324": "deepseek_v3",
    "deepseek-ai/DeepSeek-V3.1": "deepseek_v31",
    "deepseek-ai/DeepSeek-V3.2-Exp": "deepseek_v31",
    "deepseek-ai/DeepSeek-V3.2": "deepseek_v32",
    "moonshotai/Kimi-K2-Instruct": "kimi_k2",
    "zai-org/GLM-4.6": "glm45",
    "zai-org/GLM-4.7": "glm47",
    "openai/gpt-oss-20b": "openai",
    "google/gemma-4-9b": "gemma4",
    "google/functiongemma-270m": "functiongemma",
    "MiniMaxAI/MiniMax-M2": "minimax_m2",
    "CohereForAI/c4ai-command-r7b-12-2024": "cohere_command3",
}


@pytest.mark.parametrize(("model", "expected"), MODELS.items())
def test_a_model_is_known_by_its_name(model: str, expected: str) -> None:
    found = detect_model(model)
    assert found is not None
    assert found.format == expected
    assert "the model name contains" in found.reason


def test_a_model_of_no_known_family_is_not_guessed() -> None:
    assert detect_model("acme/unheard-of-7b") is None


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ '<tool_call>\\n' }}{{ call | tojson }}{{ '\\n</tool_call>' }}", "hermes"),
        (
            "<tool_call>\n<function={{ n }}>\n<parameter={{ k }}>\n</parameter></function>"
            "</tool_call>",
            "qwen3_coder",
        ),
        ("[TOOL_CALLS]{{ name }}[ARGS]{{ args }}", "mistral"),
        ("{{ content }}", None),
    ],
)
def test_a_template_is_known_by_what_it_writes(template: str, expected: str | None) -> None:
    found = detect_template(template)
    assert (found.format if found else None) == expected


@pytest.mark.parametrize(
    "name", ["hermes", "mistral", "deepseek_v3", "deepseek_v31", "qwen3_coder", "gemma4", "openai"]
)
def test_an_answer_is_known_by_what_is_in_it(name: str) -> None:
    text = render_calls(name, [Call("get_time", {"tz": "CET"}, "0")])
    found = detect_output(text, TOOLS)
    assert found is not None
    assert found.format == name
    assert "get_time" in found.reason


def test_plain_text_has_no_format() -> None:
    assert detect_output("Hello <there>", TOOLS) is None


def test_a_wrong_configuration_is_noticed() -> None:
    text = render_calls("hermes", [Call("get_time", {"tz": "CET"})])
    found = notice_mismatch("qwen3_coder", text, TOOLS)
    assert found is not None
    assert found.format == "hermes"
    assert notice_mismatch("hermes", text, TOOLS) is None
    assert notice_mismatch("hermes", "just text", TOOLS) is None
