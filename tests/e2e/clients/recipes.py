"""How each client is pointed at a base URL and given the task: its files, variables and flags.

A recipe writes below the run's own home, starts nothing and asks nothing of the network.
"""

import json
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.clients import node
from tests.e2e.clients.client import SCRIPTS, Command, Stage

TASK = (
    "Create hello.py in the current directory so that running it prints hello. "
    "Then read the file, run it with python3, and finish."
)
PROVIDER = "scripted"


def cline_3(stage: Stage) -> Command:
    return _cline(stage, "openai-compatible")


def cline_anthropic(stage: Stage) -> Command:
    return _cline(stage, "anthropic")


def cline_litellm(stage: Stage) -> Command:
    """Its provider for LiteLLM, which also asks for facts about the model."""
    return _cline(stage, "litellm")


def cline_lmstudio(stage: Stage) -> Command:
    """Its provider for LM Studio, which also asks for the list of models."""
    return _cline(stage, "lmstudio")


def cline_native(stage: Stage) -> Command:
    """Its provider for OpenAI itself, which speaks the Responses API."""
    return _cline(stage, "openai-native")


def _cline(stage: Stage, name: str) -> Command:
    provider = {"provider": name, "apiKey": stage.key, "model": stage.model}
    entry = {
        "settings": {**provider, "baseUrl": stage.base_url},
        "updatedAt": "2026-01-01T00:00:00.000Z",
        "tokenSource": "manual",
    }
    settings = {
        "version": 1,
        "lastUsedProvider": name,
        "modes": {},
        "providers": {name: entry},
    }
    stage.write(".cline/data/settings/providers.json", json.dumps(settings))
    binary = stage.root / "node_modules" / "@cline" / "cli-linux-x64" / "bin" / "cline"
    flags = ("--json", "--auto-approve", "true", "-P", name, "-m", stage.model)
    return Command((str(binary), *flags, TASK), {"CLINE_NO_AUTO_UPDATE": "1"})


def cline_2(stage: Stage) -> Command:
    state = {
        "openAiBaseUrl": stage.base_url,
        "welcomeViewCompleted": True,
        "telemetrySetting": "disabled",
        "nativeToolCallEnabled": True,
    }
    for mode in ("actMode", "planMode"):
        state[f"{mode}ApiProvider"] = "openai"
        state[f"{mode}OpenAiModelId"] = stage.model
    stage.write(".cline/data/globalState.json", json.dumps(state))
    stage.write(".cline/data/secrets.json", json.dumps({"openAiApiKey": stage.key}))
    script = stage.root / "node_modules" / "cline" / "dist" / "cli.mjs"
    flags = ("task", "--json", "-y", "-m", stage.model)
    return _node(stage, str(script), *flags, TASK, env={"CLINE_NO_AUTO_UPDATE": "1"})


def goose(stage: Stage) -> Command:
    url = urlsplit(stage.base_url)
    env = {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": stage.model,
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
        "OPENAI_HOST": f"{url.scheme}://{url.netloc}",
        "OPENAI_BASE_PATH": f"{url.path.strip('/')}/chat/completions",
        "OPENAI_API_KEY": stage.key,
    }
    binary = stage.root / "node_modules" / "@aaif" / "goose-binary-linux-x64" / "bin" / "goose"
    flags = ("run", "--no-session", "--with-builtin", "developer", "-t", TASK)
    return Command((str(binary), *flags), env)


def pi(stage: Stage) -> Command:
    model = {
        "id": stage.model,
        "name": stage.model,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 128_000,
        "maxTokens": 8192,
        "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0),
    }
    provider = {
        "baseUrl": stage.base_url,
        "api": "openai-completions",
        "apiKey": stage.key,
        "models": [model],
    }
    stage.write(".pi/agent/models.json", json.dumps({"providers": {PROVIDER: provider}}))
    script = stage.root / "node_modules" / "@mariozechner" / "pi-coding-agent" / "dist" / "cli.js"
    flags = ("--offline", "--provider", PROVIDER, "--model", stage.model, "-p", TASK)
    return _node(stage, str(script), *flags, env={"PI_OFFLINE": "1"})


def continue_(stage: Stage) -> Command:
    model = {
        "name": PROVIDER,
        "provider": "openai",
        "model": stage.model,
        "apiBase": stage.base_url,
        "apiKey": stage.key,
        "roles": ["chat", "edit", "apply"],
        "capabilities": ["tool_use"],
    }
    # JSON is YAML.
    settings = {"name": PROVIDER, "version": "0.0.1", "schema": "v1", "models": [model]}
    config = stage.write("config.yaml", json.dumps(settings))
    script = stage.root / "node_modules" / "@continuedev" / "cli" / "dist" / "cn.js"
    env = {
        "CONTINUE_TELEMETRY_ENABLED": "0",
        "CONTINUE_METRICS_ENABLED": "0",
        "CONTINUE_CLI_ENABLE_TELEMETRY": "0",
    }
    return _node(stage, str(script), "--config", str(config), "--auto", "-p", TASK, env=env)


def opencode(stage: Stage) -> Command:
    model = {
        "name": stage.model,
        "limit": {"context": 128_000, "output": 8192},
        "tool_call": True,
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": PROVIDER,
        "options": {"baseURL": stage.base_url, "apiKey": stage.key},
        "models": {stage.model: model},
    }
    reference = f"{PROVIDER}/{stage.model}"
    settings: dict[str, Any] = {
        "autoupdate": False,
        "share": "disabled",
        "model": reference,
        "small_model": reference,
        "permission": {"*": "allow"},
        "provider": {PROVIDER: provider},
    }
    stage.write(".config/opencode/opencode.json", json.dumps(settings))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    env = {f"OPENCODE_DISABLE_{name}": "1" for name in off}
    binary = stage.root / "node_modules" / "opencode-linux-x64" / "bin" / "opencode"
    return Command((str(binary), "run", "--pure", "--auto", "-m", reference, TASK), env)


def qwen_code(stage: Stage) -> Command:
    settings = {
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": stage.model},
    }
    stage.write(".qwen/settings.json", json.dumps(settings))
    env = {
        "OPENAI_API_KEY": stage.key,
        "OPENAI_BASE_URL": stage.base_url,
        "OPENAI_MODEL": stage.model,
    }
    script = stage.root / "node_modules" / "@qwen-code" / "qwen-code" / "cli-entry.js"
    flags = ("--auth-type", "openai", "-m", stage.model, "-y", "-p", TASK)
    return _node(stage, str(script), *flags, env=env)


def llm(stage: Stage) -> Command:
    model = {
        "model_id": PROVIDER,
        "model_name": stage.model,
        "api_base": stage.base_url,
        "api_key_name": PROVIDER,
        "supports_tools": True,
    }
    stage.write("llm/extra-openai-models.yaml", json.dumps([model]))
    stage.write("llm/keys.json", json.dumps({PROVIDER: stage.key}))
    env = {"LLM_USER_PATH": str(stage.home / "llm"), "PYTHONPATH": str(SCRIPTS)}
    flags = ("-m", PROVIDER, "--functions", str(SCRIPTS / "llm_tools.py"), "--chain-limit", "0")
    return Command((str(stage.root / "bin" / "llm"), *flags, TASK), env)


def claude_code(stage: Stage) -> Command:
    env = {
        "ANTHROPIC_BASE_URL": stage.base_url.removesuffix("/v1"),
        "ANTHROPIC_AUTH_TOKEN": stage.key,
        "ANTHROPIC_MODEL": stage.model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": stage.model,
        # A broken stream must not be healed by asking again without one.
        "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    binary = stage.root / "node_modules" / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    flags = ("--permission-mode", "bypassPermissions", "--output-format", "json")
    return Command((str(binary), "-p", stage.task or TASK, *flags), env)


def codex(stage: Stage) -> Command:
    """Codex with a model that it does not know."""
    return _codex(stage)


def codex_hasty(stage: Stage) -> Command:
    """Codex that takes three seconds without an event for a broken stream."""
    return _codex(stage, after="stream_idle_timeout_ms = 3000")


def codex_patch(stage: Stage) -> Command:
    """Codex with a model of its catalog: it edits files with a tool that takes free text."""
    # Every field that its catalog needs; the instructions are short, as small models want them.
    model = {
        "slug": stage.model,
        "display_name": stage.model,
        "supported_reasoning_levels": [],
        "shell_type": "shell_command",
        "visibility": "list",
        "supported_in_api": True,
        "priority": 1,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": "You are a coding agent. Use the tools.",
        "supports_reasoning_summaries": False,
        "support_verbosity": False,
        "default_verbosity": None,
        "apply_patch_tool_type": "freeform",
        "truncation_policy": {"mode": "bytes", "limit": 10_000},
        "supports_parallel_tool_calls": False,
        "context_window": 32_768,
        "experimental_supported_tools": [],
    }
    catalog = stage.write(".codex/catalog.json", json.dumps({"models": [model]}))
    return _codex(stage, f"model_catalog_json = {json.dumps(str(catalog))}")


def codex_mcp(stage: Stage) -> Command:
    """Codex with an MCP server."""
    server = json.dumps(str(SCRIPTS / "mcp_weather.py"))
    rec = f'[mcp_servers.rec]\ncommand = "{stage.python}"\nargs = [{server}]'
    return _codex(stage, after=rec)


def _codex(stage: Stage, before: str = "", after: str = "") -> Command:
    settings = f"""
model = {json.dumps(stage.model)}
model_provider = "{PROVIDER}"
check_for_update_on_startup = false
{before}
[analytics]
enabled = false
[model_providers.{PROVIDER}]
name = "{PROVIDER}"
base_url = "{stage.base_url}"
env_key = "CODEX_TEST_KEY"
wire_api = "responses"
stream_max_retries = 1
request_max_retries = 1
{after}
"""
    stage.write(".codex/config.toml", settings)
    (folder,) = (stage.root / "node_modules" / "@openai").glob("codex-linux-x64/vendor/*")
    binary = next(path for path in folder.rglob("codex") if path.is_file())
    flags = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return Command((str(binary), *flags, stage.task or TASK), {"CODEX_TEST_KEY": stage.key})


def node_script(stage: Stage) -> Command:
    """Run our own script for a Node library."""
    return _node_script(stage, "checks")


def node_responses(stage: Stage) -> Command:
    """Run our own script for a Node library's Responses API."""
    return _node_script(stage, "responses")


def _node_script(stage: Stage, about: str) -> Command:
    env = {"NODE_PATH": str(stage.root / "node_modules")}
    return _node(stage, _script(stage, about, "cjs"), *_target(stage), env=env)


def python_script(stage: Stage) -> Command:
    """Run our own script for a Python library."""
    return Command((str(stage.python), _script(stage, "checks", "py"), *_target(stage)))


def python_responses(stage: Stage) -> Command:
    """Run our own script for a Python library's Responses API."""
    return Command((str(stage.python), _script(stage, "responses", "py"), *_target(stage)))


def _script(stage: Stage, about: str, suffix: str) -> str:
    # Named so that no script hides the library it imports.
    return str(SCRIPTS / f"{stage.root.name.replace('-', '_')}_{about}.{suffix}")


def _target(stage: Stage) -> tuple[str, ...]:
    return (stage.base_url, stage.key, stage.model, *stage.checks)


def _node(stage: Stage, *argv: str, env: dict[str, str]) -> Command:
    # Bundles are megabytes of code, which Node need not compile anew for every run.
    compiled = {"NODE_COMPILE_CACHE": str(stage.root / ".compiled")}
    return Command((str(node.NODE), *argv), {**compiled, **env})
