"""A gateway loads only what it needs: every module costs time at the start, and memory."""

import subprocess
import sys

import pytest

SERVE = """
import sys, time
import toolwire.cli.serve, toolwire.server.process.event_loop, toolwire.server.serve
from toolwire.server.app import App
from toolwire.server.config.loader import load
from toolwire.server.telemetry.logs import setup
config = load(None, env={}, flags={"upstream": ["http://127.0.0.1:9/v1"]})
App(config, setup("error", "text", secrets=()), clock=time.perf_counter)
print(*sys.modules)
ours = [module for name, module in sys.modules.items() if name.startswith("toolwire.")]
values = [value for module in ours for value in vars(module).values()]
print(*{v.__name__ for v in values if isinstance(v, type) and "__dataclass_fields__" in vars(v)})
"""
NOT_NEEDED = (
    "toolwire.backends.anthropic.backend",
    "toolwire.backends.embedded",
    "toolwire.backends.openai.completions",
    "toolwire.backends.responses.backend",
    "toolwire.client",
    "toolwire.conformance",
    "toolwire.doctor",
    "toolwire.gateway.trace.replay",
    "toolwire.inspector.endpoints",
    "toolwire.server.apis.openapi",
    "toolwire.server.apis.reference",
    "toolwire.server.apis.reference_page",
    "toolwire.sessions.redis",
    "toolwire.surfaces.operations",
    "click.shell_completion",
    "difflib",
    "html",
    "httpx2",
    "importlib.resources",
    "jinja2",
    "rich",
    "tempfile",
    "zipfile",
)
MOST = 381
"""Modules of Toolwire itself. Before you raise it, look whether most gateways need the new one."""


DATACLASSES = 15
"""To define one takes thirty times as long as a `msgspec.Struct`."""


@pytest.fixture(scope="module")
def printed() -> list[set[str]]:
    command = [sys.executable, "-c", SERVE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [set(line.split()) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def loaded(printed: list[set[str]]) -> set[str]:
    return printed[0]


@pytest.mark.process
def test_records_are_structs(printed: list[set[str]]) -> None:
    dataclasses = printed[1]
    assert "ToolSet" in dataclasses
    assert len(dataclasses) <= DATACLASSES, dataclasses


@pytest.mark.process
@pytest.mark.parametrize("name", NOT_NEEDED)
def test_an_ordinary_gateway_does_not_load(name: str, loaded: set[str]) -> None:
    assert not [module for module in loaded if module == name or module.startswith(f"{name}.")]


@pytest.mark.process
def test_a_gateway_is_not_too_many_modules(loaded: set[str]) -> None:
    assert len([module for module in loaded if module.split(".")[0] == "toolwire"]) <= MOST
