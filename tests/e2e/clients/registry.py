"""The table of clients. To add one: a record here, a recipe, its pins, and its breaks."""

from tests.e2e.clients import recipes
from tests.e2e.clients.client import Client

_TABLE = (
    Client("openai-python", "environment", recipes.python_script),
    Client("anthropic-python", "environment", recipes.python_script),
    Client("cline-3", "npm", recipes.cline_3, turns=4),
    Client("cline-3-anthropic", "npm", recipes.cline_anthropic, package="cline-3", turns=4),
    Client("claude-code", "npm", recipes.claude_code, turns=4),
    Client("anthropic-node", "npm", recipes.node_script),
    Client("ai-sdk-anthropic", "npm", recipes.node_script),
    Client("cline-2-xml", "npm", recipes.cline_2, package="cline-2"),
    Client("cline-2", "npm", recipes.cline_2, model="gpt-oss-20b", turns=4),
    Client("goose", "npm", recipes.goose, turns=4),
    Client("pi", "npm", recipes.pi, turns=4),
    Client("continue", "npm", recipes.continue_, turns=4),
    Client("opencode", "npm", recipes.opencode, turns=4),
    Client("qwen-code", "npm", recipes.qwen_code, turns=4),
    Client("openai-node", "npm", recipes.node_script),
    Client("ai-sdk", "npm", recipes.node_script),
    Client("codex", "npm", recipes.codex, turns=4),
    Client("codex-patch", "npm", recipes.codex_patch, package="codex", turns=4),
    Client("codex-code", "npm", recipes.codex_code, package="codex", model="gpt-5.6-sol"),
    Client("codex-mcp", "npm", recipes.codex_mcp, package="codex"),
    Client("cline-3-native", "npm", recipes.cline_native, package="cline-3", turns=4),
    Client(
        "openai-python-responses", "environment", recipes.python_responses, package="openai-python"
    ),
    Client("openai-node-responses", "npm", recipes.node_responses, package="openai-node"),
    Client("ai-sdk-responses", "npm", recipes.node_responses, package="ai-sdk"),
    Client("openai-agents", "pip", recipes.python_script),
    Client("langchain", "pip", recipes.python_script),
    Client("pydantic-ai", "pip", recipes.python_script),
)

CLIENTS = {client.name: client for client in _TABLE}

GROUPS = {
    "quick": ("openai-python", "openai-python-responses", "anthropic-python"),
    "cline": ("openai-python", "cline-3", "cline-2-xml", "cline-2"),
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
