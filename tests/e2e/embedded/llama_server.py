"""llama.cpp's own server, from the same wheel: a native backend, and a tokenizer of its own."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import xllamacpp

KEY = "sk-native-backend"


class LlamaServer:
    """A server on a loopback port, while the block runs."""

    def __init__(self, weights: Path) -> None:
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_ctx, params.n_parallel = 512, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.api_keys, params.n_threads_http = [KEY], 4
        params.verbosity, params.warmup = 0, False
        self._server: Any = xllamacpp.Server(params)
        self.url: str = self._server.listening_address

    def __enter__(self) -> "LlamaServer":
        return self

    def __exit__(self, *_error: object) -> None:
        self._server = None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """What it answers."""
        headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def tokens_of(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.post("/tokenize", {"content": text, "parse_special": True})["tokens"])

    def prompt_tokens_of(self, messages: list[Any]) -> int:
        """How many tokens a conversation has, written with the model's template."""
        return self.tokens_of(self.post("/apply-template", {"messages": messages})["prompt"])
