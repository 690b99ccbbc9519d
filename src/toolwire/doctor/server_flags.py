"""With which flags a server parses the calls of a format itself."""

_VLLM = {
    "hermes": "hermes",
    "mistral": "mistral",
    "mistral_v3": "mistral",
    "mistral_v7": "mistral",
    "mistral_call_id": "mistral",
    "llama3_json": "llama3_json",
    "llama4_pythonic": "llama4_pythonic",
    "pythonic": "pythonic",
    "granite": "granite",
    "granite-20b-fc": "granite-20b-fc",
    "internlm": "internlm",
    "jamba": "jamba",
    "xlam": "xlam",
    "deepseek_v3": "deepseek_v3",
    "deepseek_v31": "deepseek_v31",
    "deepseek_v32": "deepseek_v32",
    "qwen3_coder": "qwen3_coder",
    "kimi_k2": "kimi_k2",
    "glm45": "glm45",
    "glm47": "glm47",
    "minimax_m1": "minimax",
    "minimax_m2": "minimax_m2",
    "hunyuan_a13b": "hunyuan_a13b",
    "step3": "step3",
    "seed_oss": "seed_oss",
    "openai": "openai",
    "olmo3": "olmo3",
    "phi4_mini_json": "phi4_mini_json",
}
_SGLANG = {
    "hermes": "qwen25",
    "mistral": "mistral",
    "mistral_v3": "mistral",
    "llama3_json": "llama3",
    "pythonic": "pythonic",
    "deepseek_v3": "deepseekv3",
    "deepseek_v31": "deepseekv31",
    "deepseek_v32": "deepseekv32",
    "qwen3_coder": "qwen3_coder",
    "kimi_k2": "kimi_k2",
    "glm45": "glm45",
    "glm47": "glm47",
    "step3": "step3",
    "minimax_m2": "minimax-m2",
    "openai": "gpt-oss",
}


def flags_for(kind: str, form: str) -> str:
    """The flags of a server of this kind; empty if none are known."""
    if kind == "vllm" and form in _VLLM:
        return f"--enable-auto-tool-choice --tool-call-parser {_VLLM[form]}"
    if kind == "sglang" and form in _SGLANG:
        return f"--tool-call-parser {_SGLANG[form]}"
    if kind == "llamacpp":
        return "--jinja"
    return ""
