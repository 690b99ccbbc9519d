"""The same programs with a real model, and with Toolwire in front of models that have no tools."""

import os
from collections.abc import Iterator

import pytest
from tests.e2e.gateway.process import running
from tests.e2e.prompted.routes import config, route
from tests.scripted import ScriptedServer
from tests.scripted.raw_formats import RAW_FORMATS

from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure
from toolwire.client import Client, Limits, tool

PLACES = [("prompted", name, "generic") for name in RAW_FORMATS]


@tool
def get_weather(city: str) -> str:
    """Get the current weather in a city.

    Args:
        city: Name of the city.
    """
    return f"21 degrees and sunny in {city}"


@tool
def get_time(city: str, zone: str | None = None) -> str:
    """Get the time of day in a city."""
    return f"noon in {city} ({zone})"


@pytest.fixture(scope="module")
def embedded() -> Iterator[Client]:
    """A client of a gateway with the embedded model."""
    ensure(DEFAULT_WEIGHTS, cache_folder(os.environ))
    env = {"TOOLWIRE_CACHE": str(cache_folder(os.environ))}
    with running("--ctx", "4096", env=env) as gateway, Client(gateway.url) as client:
        yield client
        assert "Traceback" not in gateway.log, gateway.log


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stream", [False, True])
def test_a_real_model_uses_a_tool(embedded: Client, stream: bool) -> None:
    result = embedded.run(
        "What is the weather in Paris?", tools=[get_weather], stream=stream, temperature=0
    )
    assert [(one.call.name, one.call.arguments) for one in result.calls] == [
        ("get_weather", {"city": "Paris"})
    ]
    assert "21" in result.text


@pytest.mark.timeout(300)
def test_a_real_model_is_made_to_call_and_asked_for_text_at_last(embedded: Client) -> None:
    result = embedded.run(
        "Hello.",
        tools=[get_weather, get_time],
        tool_choice=get_weather,
        limits=Limits(turns=2),
        max_tokens=60,
        temperature=0,
    )
    assert result.calls[0].call.name == "get_weather"
    assert result.turns == 2
    assert result.answer.tool_calls == []


@pytest.mark.timeout(300)
def test_the_only_model_is_found(embedded: Client) -> None:
    assert embedded.chat("Say hello.", max_tokens=8, temperature=0).text


@pytest.fixture(scope="module")
def prompted(backend: ScriptedServer) -> Iterator[Client]:
    """A client of a gateway that writes tools into the prompt."""
    with running(config=config(backend.url, PLACES)) as gateway, Client(gateway.url) as client:
        yield client
        assert "Traceback" not in gateway.log, gateway.log


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", RAW_FORMATS)
def test_a_model_without_tools_uses_them_by_its_prompt(
    backend: ScriptedServer, prompted: Client, name: str, stream: bool
) -> None:
    calls = [["get_weather", {"city": "Paris"}]]
    backend.use("std", {"raw": name, "turns": [{"calls": calls}, "Sunny."]})
    result = prompted.run(
        "Weather?", tools=[get_weather], model=route("prompted", name), stream=stream
    )
    assert [one.result.text for one in result.calls] == ["21 degrees and sunny in Paris"]
    assert result.text == "Sunny."
    assert not any("tools" in asked.json for asked in backend.requests)
