"""With which flags a server parses the calls of a format itself.

The names were read from these releases; `tests/unit/doctor` holds the documentation to them.
"""

from collections.abc import Mapping
from types import MappingProxyType

CHECKED_ON = "2026-11-16"
CHECKED = {"vLLM": "0.32.0", "SGLang": "0.5.23", "llama.cpp": "b21e4de"}
"""The releases whose parsers and flags are listed here."""


def _table(same: str, **renamed: str) -> Mapping[str, str]:
    """Parsers by format: those that have the format's own name, and the others."""
    return MappingProxyType({**{name: name for name in same.split()}, **renamed})


_VLLM = _table(
    "apertus cohere_command3 cohere_command4 deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 "
    "deepseek_v41 dots ernie45 functiongemma gemma4 gigachat3 glm45 glm47 granite granite-20b-fc "
    "granite4 hermes hf hunyuan_a13b hy_v3 hy_v4 inkling internlm jamba k2_horizon kimi_k2 kimi_k3 "
    "lfm2 ling3 llama3_json llama4_pythonic longcat mimo minicpm5 minimax_m2 minimax_m3 mistral "
    "muse_glimmer olmo3 openai phi4_mini_json plamo3 poolside_v1 pythonic qwen3_coder seed_oss "
    "step3 step3p5 xlam",
    mistral_v3="mistral",
    mistral_v7="mistral",
    mistral_call_id="mistral",
)
_SGLANG = _table(
    "beam cohere_command4 dots gemma4 gigachat3 gigachat35 glm45 glm47 hermes inkling iquest_q1 "
    "k2_horizon kimi_k2 kimi_k3 lfm2 ling3 mimo minicpm5 mistral poolside_v1 pythonic qwen3_coder "
    "spark25 step3 step3p5 trinity",
    apertus="apertus2509",
    deepseek_v3="deepseekv3",
    deepseek_v31="deepseekv31",
    deepseek_v32="deepseekv32",
    deepseek_v4="deepseekv4",
    deepseek_v41="deepseekv41",
    hf="response_template",
    hy_v3="hunyuan",
    internlm="interns1",
    llama3_json="llama3",
    llama4_pythonic="pythonic",
    minimax_m2="minimax-m2",
    minimax_m3="minimax-m3",
    mistral_v3="mistral",
    muse_glimmer="muse",
    openai="gpt-oss",
)
PARSERS = MappingProxyType({"vllm": _VLLM, "sglang": _SGLANG})
"""Names of a server's `--tool-call-parser`, by dialect and format."""

_NEEDS_JINJA = "requires --jinja"


def flags_for(kind: str, format_name: str, said: str = "") -> str:
    """The flags of a server of this kind, given what it said; empty if none are known to help."""
    if kind == "llamacpp":  # on by default since the end of 2025
        return "--jinja" if _NEEDS_JINJA in said else ""
    if format_name not in PARSERS.get(kind, {}):
        return ""
    auto = "--enable-auto-tool-choice " if kind == "vllm" else ""
    return f"{auto}--tool-call-parser {PARSERS[kind][format_name]}"
