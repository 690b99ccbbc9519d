"""What the engine keeps of prompts has an end."""

import json
import random
from pathlib import Path

import pytest

from toolwire.backends.embedded import engine as embedded
from toolwire.backends.embedded.engine import EmbeddedEngine, EngineSettings
from toolwire.server.process.memory import resident


def test_prompts_are_kept_up_to_a_limit(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "PROMPT_CACHE_MIB", 8)
    engine = EmbeddedEngine(EngineSettings(weights, context=1024))
    numbers = random.Random(1)

    def ask() -> None:
        text = " ".join(str(numbers.randrange(10**6)) for _ in range(14))  # 2.4 MB in the cache
        said = [{"role": "system", "content": ""}, {"role": "user", "content": text}]
        body = {"messages": said, "max_tokens": 1, "stream": True}
        engine.generate(json.dumps(body).encode(), lambda _: False)

    ask()
    before = resident()
    for _ in range(16):
        ask()
    assert resident() - before < 20 << 20
    engine.close()
