"""The table of clients. To add one: a record here, a recipe, its pins, and its breaks."""

import json

from tests.e2e.clients import recipes
from tests.e2e.clients.client import Client

_WRITE = {"cmd": "printf 'print(\"hello\")\\n' > hello.py"}
_PROGRAM = f"const r = await tools.exec_command({json.dumps(_WRITE)}); text(r.output);"
_WEATHER = ["mcp__rec__get_weather", {"city": "Paris"}]

_TABLE = (
    Client("openai-python", "environment", recipes.python_script, library="openai"),
    Client(
        "anthropic-python", "environment", recipes.python_script, "Messages", library="anthropic"
    ),
    Client("cline-3", "npm", recipes.cline_3, turns=4),
    Client(
        "cline-3-anthropic", "npm", recipes.cline_anthropic, "Messages", package="cline-3", turns=4
    ),
    Client("claude-code", "npm", recipes.claude_code, "Messages", turns=4),
    Client("anthropic-python-0", "pip", recipes.python_script, "Messages", library="anthropic"),
    Client("anthropic-node", "npm", recipes.node_script, "Messages"),
    Client("ai-sdk-anthropic", "npm", recipes.node_script, "Messages"),
    Client("cline-2-xml", "npm", recipes.cline_2, package="cline-2"),
    Client("cline-2", "npm", recipes.cline_2, model="gpt-oss-20b", turns=4),
    Client("goose", "npm", recipes.goose, turns=4),
    Client("pi", "npm", recipes.pi, turns=4),
    Client("continue", "npm", recipes.continue_, turns=4),
    Client("opencode", "npm", recipes.opencode, turns=4),
    Client("qwen-code", "npm", recipes.qwen_code, turns=4),
    Client("openai-node", "npm", recipes.node_script),
    Client("ai-sdk", "npm", recipes.node_script),
    Client("codex", "npm", recipes.codex, "Responses", turns=4),
    Client("codex-patch", "npm", recipes.codex_patch, "Responses", package="codex", turns=4),
    Client(
        "codex-code",
        "npm",
        recipes.codex,
        "Responses",
        package="codex",
        model="gpt-5.6-sol",  # which it gives one tool, for programs that call the others
        script=[{"calls": [["exec", {"input": _PROGRAM}]]}, "done"],
    ),
    Client(
        "codex-mcp",
        "npm",
        recipes.codex_mcp,
        "Responses",
        package="codex",
        script=[{"calls": [_WEATHER]}, {"calls": [["exec_command", _WRITE]]}, "done"],
    ),
    Client("cline-3-litellm", "npm", recipes.cline_litellm, package="cline-3", turns=4),
    Client("cline-3-lmstudio", "npm", recipes.cline_lmstudio, package="cline-3", turns=4),
    Client("cline-3-native", "npm", recipes.cline_native, "Responses", package="cline-3", turns=4),
    Client(
        "openai-python-responses",
        "environment",
        recipes.python_responses,
        "Responses",
        package="openai-python",
        library="openai",
    ),
    Client(
        "openai-node-responses", "npm", recipes.node_responses, "Responses", package="openai-node"
    ),
    Client("ai-sdk-responses", "npm", recipes.node_responses, "Responses", package="ai-sdk"),
    Client("openai-agents", "pip", recipes.python_script, "Responses"),
    Client("llm", "pip", recipes.llm, turns=4),
    Client("llama-index", "pip", recipes.python_script, library="llama-index-llms-openai-like"),
    Client("langchain", "pip", recipes.python_script, library="langchain-openai"),
    Client("pydantic-ai", "pip", recipes.python_script, library="pydantic-ai-slim"),
)

CLIENTS = {client.name: client for client in _TABLE}

_QUICK = ("openai-python", "openai-python-responses", "anthropic-python")

GROUPS = {
    "quick": _QUICK,
    "cline": (*_QUICK, "cline-3", "cline-2-xml", "cline-2"),
    "all": tuple(CLIENTS),
}


def select(names: str) -> list[Client]:
    """Find clients by a comma-separated list of names and groups."""
    wanted = [name for name in names.split(",") if name]
    members = [member for name in wanted for member in GROUPS.get(name, (name,))]
    if unknown := [name for name in members if name not in CLIENTS]:
        known = ", ".join([*GROUPS, *CLIENTS])
        raise LookupError(f"no client is called {unknown[0]!r}; there are {known}")
    return [CLIENTS[name] for name in dict.fromkeys(members)]
