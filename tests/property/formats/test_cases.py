"""Every case comes out right, in both deliveries, whole and in pieces."""

import json

import pytest
from cases import Case, all_cases, cases_of, chunks, outcome, parse
from laws import CHUNK_SIZES

from toolwire.formats import get, names

VLLM_NAMES = [
    "apertus",
    "cohere_command3",
    "cohere_command4",
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "deepseek_v41",
    "dots",
    "ernie45",
    "functiongemma",
    "gemma4",
    "gigachat3",
    "glm45",
    "glm47",
    "granite",
    "granite-20b-fc",
    "granite4",
    "hermes",
    "qwen3_json",
    "hf",
    "hunyuan_a13b",
    "hy_v3",
    "hy_v4",
    "inkling",
    "internlm",
    "jamba",
    "k2_horizon",
    "kimi_k2",
    "kimi_k3",
    "lfm2",
    "ling3",
    "llama3_json",
    "llama4_json",
    "llama4_pythonic",
    "longcat",
    "mimo",
    "minicpm5",
    "minimax_m2",
    "minimax_m3",
    "mistral",
    "muse_glimmer",
    "olmo3",
    "openai",
    "phi4_mini_json",
    "plamo3",
    "poolside_v1",
    "pythonic",
    "qwen3_coder",
    "qwen3_xml",
    "seed_oss",
    "step3",
    "step3p5",
    "xlam",
]
SGLANG_NAMES = [
    "apertus2509",
    "beam",
    "cohere_command4",
    "deepseekv3",
    "deepseekv31",
    "deepseekv32",
    "deepseekv4",
    "deepseekv41",
    "dots",
    "gemma4",
    "gigachat3",
    "gigachat35",
    "glm",
    "glm45",
    "glm47",
    "gpt-oss",
    "hermes",
    "hunyuan",
    "inkling",
    "interns1",
    "iquest_q1",
    "k2_horizon",
    "kimi_k2",
    "kimi_k3",
    "lfm2",
    "ling3",
    "llama3",
    "mimo",
    "minicpm5",
    "minimax-m2",
    "minimax-m3",
    "mistral",
    "muse",
    "nanbeige",
    "poolside_v1",
    "pythonic",
    "qwen",
    "qwen25",
    "qwen3_coder",
    "response_template",
    "spark25",
    "step3",
    "step3p5",
    "trinity",
]
LMDEPLOY_NAMES = [
    "deepseek-v32",
    "deepseek-v4",
    "glm47",
    "intern-s1",
    "internlm",
    "interns2-preview",
    "kimi-k2",
    "kimi_k2",
    "llama3",
    "qwen",
    "qwen2d5",
    "qwen3",
    "qwen3coder",
]
OTHER_NAMES = [
    "nemotron_deci",
    "phi4",
    "harmony",
    "deepseek_v3_1",
    "deepseek_v3_2",
    "nemotron_nano",
    "default",
    "json",
    "qwen_xml",
    "qwen_coder",
    "llama",
    "deepseek",
    "deepseek31",
    "deepseek32",
    "glm45_moe",
    "glm47_moe",
    "sarashina",
    "kimik2",
    "cohere",
    "functionary_v31",
    "functionary_v32",
    "firefunction_v2",
    "command_r_plus",
    "apriel",
    "solar_open",
    "minimax_m1",
    "mistral_v3",
    "mistral_v7",
    "mistral_v11",
    "mistral_v13",
    "cline_xml",
    "generic",
]


@pytest.mark.parametrize(
    "name", sorted({*VLLM_NAMES, *SGLANG_NAMES, *LMDEPLOY_NAMES, *OTHER_NAMES})
)
def test_every_name_other_engines_use_is_known(name: str) -> None:
    assert get(name).name in names()


@pytest.mark.parametrize("name", names())
def test_every_format_has_cases(name: str) -> None:
    assert sum(bool(case.calls) for case in all_cases() if case.format == name) >= 3


def test_every_case_belongs_to_a_format() -> None:
    assert {case.format for case in all_cases()} == set(names())


@pytest.mark.parametrize("name", names())
def test_every_case_comes_out_right_when_whole(name: str) -> None:
    for case in cases_of(name):
        for size in (len(case.text) or 1, *CHUNK_SIZES):
            events = parse(case.parser("whole"), chunks(case.text, size))
            content, reasoning, calls, _ = outcome(events)
            found = [{"name": c.name, "arguments": json.loads(c.arguments)} for c in calls]
            expected = (case.content, case.reasoning, case.calls)
            assert (content, reasoning, found) == expected, f"{case} in pieces of {size}"


@pytest.mark.parametrize("name", names())
def test_live_and_whole_come_to_the_same(name: str) -> None:
    for case in (c for c in cases_of(name) if not c.malformed):
        live = outcome(parse(case.parser("live"), [case.text]))
        assert live == outcome(parse(case.parser("whole"), [case.text])), case
        assert all(live[-1]), case


@pytest.mark.parametrize("case", [c for c in all_cases() if c.malformed], ids=str)
def test_live_shows_what_is_malformed(case: Case) -> None:
    content, *_, complete = outcome(parse(case.parser("live"), [case.text]))
    assert content or not all(complete), "as text, or as a call that is not complete"
