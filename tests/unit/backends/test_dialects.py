import pytest

from toolwire.backends.dialects import DIALECTS, Dialect

ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)

# What would let a client reach into the server: never forwarded unless a configuration says so.
DANGEROUS = {
    "api_base", "api_key", "base_url", "extra_body", "extra_headers",
    "chat_template", "grammar", "guided_grammar", "guided_json",
    "guided_regex", "regex", "ebnf", "structured_outputs", "custom_logit_processor", "lora_path",
    "lora", "session_params", "bad_words", "stop_token_ids", "allowed_token_ids", "priority",
    "kv_transfer_params", "vllm_xargs", "bootstrap_host", "use_beam_search", "echo",
    "prompt_logprobs", "models", "plugins", "id_slot", "n_probs", "functions", "function_call",
}  # fmt: skip


def test_every_kind_of_server_is_there_under_its_own_name() -> None:
    local = {"vllm", "sglang", "llamacpp", "ollama", "lmstudio", "lmdeploy", "tgi"}
    hosted = {"openai", "mistral", "openrouter", "deepseek", "moonshot", "anthropic"}
    assert set(DIALECTS) == local | hosted | {"responses", "generic", "auto"}
    assert all(name == dialect.name for name, dialect in DIALECTS.items())


@ALL
def test_what_every_request_needs_is_forwarded(dialect: Dialect) -> None:
    assert {"model", "messages", "stream", "tools"} <= dialect.params
    assert "stop" in dialect.params or dialect.name == "responses"  # its API has none
    assert {"max_tokens", "max_completion_tokens"} <= dialect.params


@ALL
def test_nothing_that_reaches_into_the_server_is_forwarded(dialect: Dialect) -> None:
    assert not dialect.params & DANGEROUS


@ALL
def test_a_renamed_parameter_arrives_under_a_name_the_server_takes(dialect: Dialect) -> None:
    for ours, theirs in dialect.renames.items():
        assert {ours, theirs} <= dialect.params
        assert dialect.forwarded_as(ours) == theirs
        assert dialect.forwarded_as(theirs) == theirs


@pytest.mark.parametrize(
    ("name", "param", "theirs"),
    [
        ("openai", "max_tokens", "max_tokens"),
        ("openai", "max_completion_tokens", "max_completion_tokens"),
        ("openai", "top_k", None),
        ("vllm", "top_k", "top_k"),
        ("ollama", "max_completion_tokens", "max_tokens"),
        ("ollama", "tool_choice", None),
        ("mistral", "seed", "random_seed"),
        ("mistral", "stream_options", None),
        ("mistral", "user", None),
        ("moonshot", "max_tokens", "max_completion_tokens"),
        ("moonshot", "temperature", None),
        ("responses", "max_tokens", "max_output_tokens"),
        ("responses", "stop", None),
        ("deepseek", "thinking", "thinking"),
        ("openrouter", "provider", "provider"),
    ],
)
def test_a_parameter_is_forwarded_as_the_server_wants_it(
    name: str, param: str, theirs: str | None
) -> None:
    assert DIALECTS[name].forwarded_as(param) == theirs


def test_the_token_limit_has_the_name_the_server_takes() -> None:
    limits = {name: dialect.max_tokens for name, dialect in DIALECTS.items()}
    assert limits["openai"] == limits["vllm"] == "both"
    assert limits["mistral"] == limits["ollama"] == "max_tokens"
    assert limits["moonshot"] == "max_completion_tokens"


def test_call_ids_take_the_form_each_server_demands() -> None:
    forms = {name: dialect.call_ids for name, dialect in DIALECTS.items()}
    assert (forms["openai"], forms["mistral"], forms["moonshot"]) == ("openai", "mistral", "kimi")


def test_what_a_server_keeps_to_of_a_tool_choice_is_known() -> None:
    kept = {name: dialect.tool_choices for name, dialect in DIALECTS.items()}
    assert kept["openai"] == kept["vllm"] == {"auto", "none", "required", "named"}
    assert kept["lmstudio"] == kept["llamacpp"] == {"auto", "none", "required"}
    assert kept["moonshot"] == {"auto", "none"}
    assert kept["ollama"] == set()


@ALL
def test_a_tool_choice_is_kept_only_if_it_is_forwarded(dialect: Dialect) -> None:
    assert bool(dialect.tool_choices) == ("tool_choice" in dialect.params)


def test_only_servers_that_want_the_reasoning_back_get_it() -> None:
    wanting = {name for name, dialect in DIALECTS.items() if dialect.reasoning_in_history}
    assert wanting == {"vllm", "sglang", "llamacpp", "lmdeploy", "deepseek", "moonshot"}


def test_every_server_that_strips_special_tokens_is_asked_not_to() -> None:
    stripping = {name for name, dialect in DIALECTS.items() if dialect.strips_special_tokens}
    assert stripping == {"vllm", "sglang", "lmdeploy"}


def test_what_models_of_local_servers_need_is_forwarded() -> None:
    for name in ("vllm", "sglang", "llamacpp"):
        assert {"top_k", "min_p", "chat_template_kwargs"} <= DIALECTS[name].params


def test_a_configuration_can_add_and_remove_parameters() -> None:
    changed = DIALECTS["openai"].with_params(["top_k"], ["logprobs", "unknown"])
    assert changed.forwarded_as("top_k") == "top_k"
    assert changed.forwarded_as("logprobs") is None
    assert DIALECTS["openai"].forwarded_as("top_k") is None


def test_openai_takes_every_parameter_of_its_own_library() -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase

    theirs = set(CompletionCreateParamsBase.__annotations__)
    assert theirs - {"functions", "function_call"} | {"stream"} == DIALECTS["openai"].params


def test_servers_that_render_the_chat_template_take_its_arguments() -> None:
    """Qwen3's `enable_thinking` is one of them."""
    taking = {name for name, d in DIALECTS.items() if "chat_template_kwargs" in d.params}
    assert {"vllm", "sglang", "llamacpp", "lmdeploy"} <= taking
