"""Which format: by model name, chat template and answer, each with the reason."""

import json

import pytest
from tests.templates import path_of

from toolwire.formats import (
    Extracted,
    detect_model,
    detect_output,
    detect_template,
    extract,
    notice_mismatch,
    render_calls,
)
from toolwire.formats import RenderedCall as Call
from toolwire.protocol.tools import ToolSpec

TOOLS = [ToolSpec("get_time", None, {"properties": {"tz": {"type": "string"}}})]
MODELS = {
    "NousResearch/Hermes-3-Llama-3.1-8B": "hermes",
    "Qwen/Qwen2.5-7B-Instruct": "hermes",
    "Qwen/Qwen3-32B-AWQ": "hermes",
    "Qwen/Qwen3-0.6B": "hermes",
    "qwen3:1.7b": "hermes",
    "Qwen/Qwen3.5-0.8B": "qwen3_coder",
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": "qwen3_coder",
    "meta-llama/Llama-3.3-70B-Instruct": "llama3_json",
    "meta-llama/Llama-4-Scout-17B": "llama4_pythonic",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_v3",
    "mistralai/Devstral-Small-2507": "mistral",
    "mistralai/Mistral-Large-Instruct-2407": "mistral_v3",
    "mistralai/Mistral-Large-Instruct-2411": "mistral_v7",
    "mistralai/Mistral-Small-24B-Instruct-2501": "mistral_v7",
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": "mistral_v7",
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": "mistral_call_id",
    "internlm/Intern-S1": "internlm",
    "internlm/Intern-S2-Preview": "qwen3_coder",
    "mistral-small3.2:24b": "mistral_call_id",
    "mistralai/Ministral-8B-Instruct-2410": "mistral_v3",
    "mistralai/Ministral-3-8B-Instruct-2512": "mistral",
    "granite4:tiny-h": "granite4",
    "ibm-granite/granite-4.2-8b": "qwen3_coder",
    "NousResearch/Hermes-4-14B": "hermes",
    "LGAI-EXAONE/EXAONE-4.0-32B": "hermes",
    "ByteDance-Seed/SeedOss-36B": "seed_oss",
    "MM-M3-preview": "minimax_m3",
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
    "Team-ACE/ToolACE-2-Llama-3.1-8B": "pythonic",
    "watt-ai/watt-tool-8B": "pythonic",
    "deepseek/deepseek-chat-v3.1": "deepseek_v31",
    "deepseek/deepseek-chat-v3-0324": "deepseek_v3",
    "Kwaipilot/KAT-Dev": "qwen3_coder",
    "PrimeIntellect/INTELLECT-3": "qwen3_coder",
}


@pytest.mark.parametrize(("model", "expected"), MODELS.items())
def test_a_model_is_known_by_its_name(model: str, expected: str) -> None:
    found = detect_model(model)
    assert found is not None
    assert found.format == expected
    assert "the model name contains" in found.reason


def test_a_model_of_no_known_family_is_not_guessed() -> None:
    assert detect_model("acme/unheard-of-7b") is None
    assert detect_model("tencent/Hunyuan-4B-Instruct") is None  # a size, not version 4


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
        ("{{ '[TOOL_CALLS][' + (message.tool_calls | tojson) + ']' }}", "mistral_v3"),
        ("{{ content }}", None),
        ("<b>{{ content }}</b>{% if x %}</think>{% endif %}", None),
        (
            "{% set t = '｜DSML｜' %}{{ '<' + t + 'function_calls>' }}{{ m.tool_calls }}",
            "deepseek_v32",
        ),
        ("{% set t = '｜DSML｜' %}{{ '<' + t + 'tool_calls>' }}{{ m.tool_calls }}", "deepseek_v4"),
        ("{% set b = '<tool_call{}>'.format(x) %}<arg_key{}><tool_sep{}>", "hy_v3"),
        ("<|message_sep|>{{ 'function call' }}<|role_sep|>", "gigachat3"),
        ("<|START_ACTION|>[{{ c }}]<|END_ACTION|><|START_TEXT|>", "cohere_command4"),
        ("<|START_ACTION|>[{{ c }}]<|END_ACTION|><|START_RESPONSE|>", "cohere_command3"),
        (
            "<tool_call>\n<function={{ n }}>\n<parameter={{ k }}></parameter></function>"
            "</tool_call><|im_start|>tool_response",
            "step3p5",
        ),
        ("<tool_calls>{{ c }}</tool_calls><|extra_0|>", "hunyuan_a13b"),
        ("<tool_calls>{{ c }}</tool_calls>[BEGIN FINAL RESPONSE]", "apriel"),
        ("<|start|>assistant to={{ 'functions.' + n }}<|channel|>x<|message|>", "openai"),
        ("{{ '>>>all\\n' + content }}", "functionary_v32"),
        ("<|header_start|>as in [func_name1(a=1)]", "llama4_pythonic"),
        ("<|header_start|>{{ '{\"name\": \"' + n + '\", ' + '\"parameters\": ' }}", "llama3_json"),
        ("as in [func_name1(a=1)]", "pythonic"),
        ("write functools[{{ c }}]<|end|>", "phi4_mini_json"),
        ("<|start_header_id|>write functools[{{ c }}]", "firefunction_v2"),
        ('so: [{"name": "tool_call_name", "arguments": {}}]', "xlam"),
        ("List of tools: [{{ t }}]", "lfm2"),
        ("{{ '\\nAction:\\n```json\\n[' }}<|START_OF_TURN_TOKEN|>", "command_r_plus"),
        ("<tool_call>{{ c }}</tool_call><|start_of_role|>", "granite4"),
        ("[TOOL_CALLS][{{ c }}][TOOL_CONTENT]", "mistral_v7"),
        ("{% if message.tool_calls %}{{ message['arguments'] }}{% endif %}", None),
    ],
)
def test_a_template_is_known_by_the_tags_that_it_writes(
    template: str, expected: str | None
) -> None:
    found = detect_template(template)
    assert (found.format if found else None) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("qwen25", "hermes"),
        ("qwen3_coder", "qwen3_coder"),
        ("llama3", "llama3_json"),
        ("mistral", "mistral"),
        ("deepseek", "deepseek_v31"),
        ("gemma", None),
        ("vicuna", None),
    ],
)
def test_the_templates_of_the_common_families_are_known(name: str, expected: str | None) -> None:
    found = detect_template(path_of(name).read_text())
    assert (found.format if found else None) == expected


def test_a_template_may_put_a_call_together_from_many_pieces() -> None:
    template = (
        "{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool.type + '<｜tool▁sep｜>' + name"
        " + '\\n' + '```json' + '\\n' + args + '```' + '<｜tool▁call▁end｜>' }}<｜tool▁calls▁end｜>"
    )
    found = detect_template(template)
    assert found is not None
    assert found.format == "deepseek_v3"


def test_of_formats_that_a_template_cannot_tell_apart_the_models_name_chooses() -> None:
    template = (
        "<tool_call>{{ n }}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value></tool_call>"
    )
    for model in ("GLM-4.6", "GLM-4.7"):
        found, named = detect_template(template, model), detect_model(model)
        assert found is not None
        assert named is not None
        assert found.format == named.format
    other = detect_template(template, "Mistral-7B-Instruct-v0.3")
    assert other is not None
    assert other.format == "glm45"


@pytest.mark.parametrize(
    "name", ["hermes", "mistral", "deepseek_v3", "deepseek_v31", "qwen3_coder", "gemma4", "openai"]
)
def test_an_answer_is_known_by_what_is_in_it(name: str) -> None:
    text = render_calls(name, [Call("get_time", {"tz": "CET"}, "0")])
    found = detect_output(text, TOOLS)
    assert found is not None
    assert found.format == name
    assert "get_time" in found.reason


@pytest.mark.parametrize("name", ["hermes", "lfm2", "qwen3_coder"])
def test_a_draft_in_the_reasoning_of_an_answer_is_not_called(name: str) -> None:
    draft, call = (render_calls(name, [Call("get_time", {"tz": tz}, "0")]) for tz in ("UTC", "CET"))
    found = extract("auto", f"<think>Perhaps {draft}, but no.</think>{call}", TOOLS)
    assert found.format == name
    assert [json.loads(call.arguments) for call in found.calls] == [{"tz": "CET"}]


_IN_JSON = '{"name": "get_time", "arguments": {"tz": "CET"}}'


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        (f"```json\n{_IN_JSON}\n```", 1),
        ("```python\nget_time(tz='CET')\n```\n", 1),
        ("get_time(tz='CET')", 1),
        (f"```json\n[{_IN_JSON}]\n```\n\n```json\n{_IN_JSON}\n```", 2),
        (f"```xml\n<tool_call>\n{_IN_JSON}\n</tool_call>\n```", 1),
    ],
)
@pytest.mark.parametrize("thoughts", [None, "Hm."])
def test_an_answer_that_is_only_calls_is_read(
    answer: str, calls: int, thoughts: str | None
) -> None:
    before = f"<think>{thoughts}</think>\n" if thoughts else ""
    found = extract("auto", before + answer, TOOLS)
    assert [json.loads(call.arguments) for call in found.calls] == [{"tz": "CET"}] * calls
    assert (found.content, found.reasoning) == (None, thoughts)
    assert found.format


@pytest.mark.parametrize(
    "answer",
    [
        f"Write this:\n```json\n{_IN_JSON}\n```",
        f"```json\n{_IN_JSON}\n```\nlike this.",
        '```json\n{"name": "other", "arguments": {}}\n```',
    ],
)
def test_an_answer_that_shows_a_call_is_text(answer: str) -> None:
    found = extract("auto", answer, TOOLS)
    assert (found.content, found.calls, found.format) == (answer, [], "")


def test_reasoning_in_front_of_a_format_without_any_is_none_of_the_content() -> None:
    found = extract(
        "auto", "<think>Hm.</think>\nNow:\n```tool_code\nget_time(tz='CET')\n```", TOOLS
    )
    assert (found.format, found.content, found.reasoning) == ("gemma3", "Now:\n", "Hm.")


def test_a_call_in_reasoning_with_nothing_behind_it_shows_its_format() -> None:
    call = render_calls("trinity", [Call("get_time", {"tz": "CET"}, "0")])
    found = detect_output(f"<think>I call it.\n{call}</think>Done.", TOOLS)
    assert found is not None
    assert found.format == "trinity"


QUOTED = ("hermes", "qwen3_coder", "cohere_command3", "anthropic_xml", "dots", "longcat")


@pytest.mark.parametrize("tools", [TOOLS, ()], ids=["tools", "no tools"])
@pytest.mark.parametrize("shape", ["Write `{}` for it.\nThen wait.", "```\n{}\n```\nThat is how."])
@pytest.mark.parametrize("name", QUOTED)
def test_a_quoted_call_is_not_read_as_the_inside_of_another_formats(
    name: str, shape: str, tools: tuple[ToolSpec, ...]
) -> None:
    text = shape.format(render_calls(name, [Call("get_time", {"tz": "CET"}, "0")]))
    assert detect_output(text, tools) is None
    assert extract("auto", text, tools) == Extracted(text, None, [])


@pytest.mark.parametrize("around", ["`{}`", "\n```\n{}\n```\n"])
@pytest.mark.parametrize("tools", [TOOLS, ()], ids=["tools", "no tools"])
@pytest.mark.parametrize("name", QUOTED)
def test_of_a_quoted_call_and_one_behind_it_only_that_one_is_made(
    name: str, tools: tuple[ToolSpec, ...], around: str
) -> None:
    quoted, call = (
        render_calls(name, [Call("get_time", {"tz": tz}, "0")]) for tz in ("UTC", "CET")
    )
    found = extract("auto", f"Not {around.format(quoted)} now.\n\n{call}", tools)
    assert [json.loads(call.arguments) for call in found.calls] == [{"tz": "CET"}]
    assert quoted in (found.content or "")


def test_an_answer_that_is_a_call_in_python_is_that_call() -> None:
    found = extract("auto", 'get_time(tz="CET")', TOOLS)
    assert [(call.name, call.decoded()) for call in found.calls] == [("get_time", {"tz": "CET"})]
    for text in ('get_time(tz="CET") is how.', 'I use get_time(tz="CET").', "f(x=1)"):
        assert extract("auto", text, TOOLS) == Extracted(text, None, [])


def test_an_answer_without_a_call_is_read_in_the_format_that_it_begins_with() -> None:
    text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>A."
    for tools in (TOOLS, ()):
        assert extract("auto", text, tools) == Extracted("A.", "Hm.", [], "openai")
        assert extract("auto", "[THINK]Hm.[/THINK]A.", tools).content == "A."


def test_plain_text_has_no_format() -> None:
    assert detect_output("Hello <there>", TOOLS) is None


def test_a_wrong_configuration_is_noticed() -> None:
    text = render_calls("hermes", [Call("get_time", {"tz": "CET"})])
    found = notice_mismatch("mistral", text, TOOLS)
    assert found is not None
    assert found.format == "hermes"
    assert notice_mismatch("hermes", text, TOOLS) is None
    assert notice_mismatch("hermes", "just text", TOOLS) is None


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("microsoft/Phi-4-mini-instruct", "phi4_mini"),
        ("naver-hyperclovax/HyperCLOVAX-SEED-Think-14B", "hyperclovax"),
        ("ByteDance-Seed/UI-TARS-1.5-7B", "ui_tars"),
        ("zai-org/GLM-4-32B-0414", "glm4_0414"),
        ("google/gemma-3-27b-it", "gemma3"),
        ("meituan-longcat/LongCat-Flash-Chat", "longcat"),
        ("meituan-longcat/LongCat-Flash-Thinking", "longcat_tagged"),
    ],
)
def test_models_with_rare_formats_are_known_by_their_names(model: str, expected: str) -> None:
    found = detect_model(model)
    assert found is not None
    assert found.format == expected


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("<|im_start|>{{ content }}<|im_end|>", None),
        ("<|im_start|>assistant -> tool/function_call\n{{ c }}<|im_end|>", "hyperclovax"),
        ("<|tool|>{{ tools }}<|/tool|>{{ content }}<|end|>", "phi4_mini"),
        ("[gMASK]<sop>{{ content }}<|observation|>", "glm4_0414"),
        ("write ```tool_code\nf()\n```", "gemma3"),
        (
            "<longcat_tool_call>{{ n }}<longcat_arg_key>{{ k }}</longcat_arg_key>"
            "<longcat_arg_value>{{ v }}</longcat_arg_value></longcat_tool_call>",
            "longcat_tagged",
        ),
    ],
)
def test_templates_of_rare_formats_are_known(template: str, expected: str | None) -> None:
    found = detect_template(template)
    assert (found.format if found else None) == expected


def test_a_name_on_a_line_and_its_arguments_are_an_answer_that_is_a_call() -> None:
    found = detect_output('get_time\n{"tz": "CET"}', TOOLS)
    assert found is not None
    assert found.reason == "it reads the text as calls of get_time"
    assert detect_output("get_time\nIt returns {a time}.", TOOLS) is None
