"""Stored responses of two keys over two processes, also after the first one is gone."""

import json
from typing import Any

import openai
import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import TOOLS
from tests.scripted import ScriptedServer

from toolwire.server.access.auth import hash_key

FLAT: list[Any] = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
TURNS: list[Any] = [{"text": "Let me see.", "calls": [["get_weather", {"city": "Paris"}]]}, "Rain."]


def configured(address: str, backend: ScriptedServer, more: str = "") -> str:
    model = f'[[models]]\nname = "m"\nbackend = {{ url = "{backend.url}", dialect = "vllm" }}\n'
    keys = [f'[[keys]]\nname = "{key}"\nsha256 = "{hash_key(key)}"\n' for key in ("one", "two")]
    return f'[sessions]\nstore = "{address}"\n{more}\n{model}{"".join(keys)}'


def client(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=gateway.url, api_key=key, max_retries=0, timeout=20)


def prompt(backend: ScriptedServer) -> str:
    """The messages of the last request to the backend, without the end of the list."""
    return json.dumps(backend.requests[-1].json["messages"])[:-1]


def test_a_chain_goes_on_in_another_process_with_the_same_prompt(address: str) -> None:
    with ScriptedServer("reasoning", TURNS) as backend:
        config, asked = configured(address, backend), {"model": "m", "tools": FLAT}
        with running(config=config) as gateway, client(gateway) as one:
            with one.responses.stream(input="Weather?", **asked) as stream:
                first = stream.get_final_response()
            begun = prompt(backend)
        results: Any = [
            {"type": "function_call_output", "call_id": item.call_id, "output": "rain"}
            for item in first.output
            if item.type == "function_call"
        ]
        with running(config=config) as gateway, client(gateway) as one:
            last = one.responses.create(input=results, previous_response_id=first.id, **asked)
            assert last.output_text == "Rain."
            assert prompt(backend).startswith(begun)
            shown = one.responses.retrieve(first.id).output
            assert [item.id for item in shown] == [item.id for item in first.output]
            with client(gateway, "two") as two, pytest.raises(openai.BadRequestError) as caught:
                two.responses.create(input="Hi.", previous_response_id=first.id, **asked)
            assert caught.value.code == "previous_response_not_found"
            one.responses.delete(first.id)
            with pytest.raises(openai.NotFoundError):
                one.responses.retrieve(first.id)
            one.responses.create(input="And now?", previous_response_id=last.id, **asked)


def test_the_oldest_responses_of_a_key_make_room_for_later_ones(address: str) -> None:
    with ScriptedServer("std", ["Hello."]) as backend:
        config = configured(address, backend, "max_responses = 5")
        with running(config=config) as gateway, client(gateway) as one:
            kept = [one.responses.create(model="m", input="Hi.").id for _ in range(60)]
            backend.wait_for(lambda: not is_kept(one, kept[30]))
            found = {name for name in kept if is_kept(one, name)}
            assert 5 <= len(found) <= 30
            assert found == set(kept[-len(found) :])


def is_kept(client: openai.OpenAI, name: str) -> bool:
    try:
        client.responses.retrieve(name)
    except openai.NotFoundError:
        return False
    return True
