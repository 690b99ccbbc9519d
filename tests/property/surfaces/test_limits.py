"""What a route allows holds for every surface, and every surface is under these tests."""

import pytest
from tests.property.surfaces.doors import DOORS
from tests.property.surfaces.house import OPEN_DOORS, House

from toolwire.gateway.tool_limits import ToolLimits
from toolwire.protocol.fragments import Fragment

LIMITS = ToolLimits(("read", "mcp_*"), ("mcp_delete",), 20)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Does {name}. " + "More about it. " * 20,
            "parameters": {"type": "object", "properties": {}},
        },
    }
    for name in ("read", "write", "mcp_log", "mcp_delete")
]
SAID = [Fragment(text="Hi."), Fragment(finish="stop")]


def test_every_surface_is_served() -> None:
    assert list(DOORS) == OPEN_DOORS


@pytest.mark.parametrize("mode", ["native", "prompted"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_the_model_is_offered_what_its_route_allows(name: str, mode: str, *, stream: bool) -> None:
    door, served = DOORS[name], House(mode, "hermes", limits=LIMITS)  # type: ignore[arg-type]
    body = {**door.body("m", TOOLS, [door.user("Hello")]), "stream": stream}
    client = served.sent(door.path, body, SAID)
    assert client.status == 200
    prompt = str(served.outgoing.messages)
    offered = served.outgoing.tools.tools
    for tool, left in {"read": True, "mcp_log": True, "write": False, "mcp_delete": False}.items():
        assert (tool in offered if mode == "native" else f"Does {tool}." in prompt) is left
    assert all(tool.description == f"Does {name}." for name, tool in offered.items())


@pytest.mark.parametrize("name", ["chat", "responses", "messages"])
def test_the_client_is_told_what_was_left_out(name: str) -> None:
    door, served = DOORS[name], House("native", limits=LIMITS)
    client = served.sent(door.path, door.body("m", TOOLS, [door.user("Hello")]), SAID)
    assert "tools" in client.headers["toolwire-adjusted-params"].split(", ")
    assert "tool_dropped:write" in client.headers["toolwire-repairs"].split(", ")


@pytest.mark.parametrize(
    ("name", "path"),
    [("responses", "/v1/responses/input_tokens"), ("messages", "/v1/messages/count_tokens")],
)
def test_only_what_is_offered_is_counted(name: str, path: str) -> None:
    door = DOORS[name]
    body = door.body("m", TOOLS, [door.user("Hello")])
    body = {field: value for field, value in body.items() if field not in ("store", "max_tokens")}
    whole, limited = (
        House("native", limits=limits).sent(path, body).json["input_tokens"]
        for limits in (None, LIMITS)
    )
    assert limited < whole / 2
