"""The first request finds its prompt read, and `cached_tokens` says what was read before it."""

import json
import re
import time
from pathlib import Path

import openai
import pytest
from tests.e2e.gateway.process import Gateway, running

from toolwire.server.health.warm_up import FIRST_REQUEST

README = Path(__file__).parents[3] / "README.md"
pytestmark = pytest.mark.process


def ask(gateway: Gateway) -> tuple[int, int]:
    """The tokens of the first request's prompt, and how many of them were known before it."""
    with openai.OpenAI(base_url=gateway.url, api_key="none", max_retries=0) as client:
        answer = client.chat.completions.create(**FIRST_REQUEST)  # type: ignore[call-overload]
    details = answer.usage.prompt_tokens_details
    return answer.usage.prompt_tokens, details.cached_tokens


def wait_for(gateway: Gateway, words: str) -> None:
    deadline = time.monotonic() + 100
    while words not in gateway.log:
        assert time.monotonic() < deadline, gateway.log
        time.sleep(0.05)


def test_the_first_request_finds_its_prompt_read(environment: dict[str, str]) -> None:
    with running("--ctx", "4096", env={**environment, "TOOLWIRE_WARM_UP": "true"}) as gateway:
        wait_for(gateway, "the embedded model is warm")
        prompt, cached = ask(gateway)
        assert cached == prompt - 1, "all but the last token, which is always read"
        assert "Traceback" not in gateway.log


def test_cached_tokens_are_those_of_earlier_requests_only(environment: dict[str, str]) -> None:
    with running("--ctx", "4096", env=environment) as gateway:
        prompt, cached = ask(gateway)
        assert cached == 0, "nothing was asked before"
        assert ask(gateway) == (prompt, prompt - 1)


def test_the_warm_up_is_the_first_request_of_the_readme() -> None:
    (body,) = re.findall(r"chat/completions -d '(\{.*?\n\})'", README.read_text(), re.DOTALL)[:1]
    assert json.loads(body) == FIRST_REQUEST
