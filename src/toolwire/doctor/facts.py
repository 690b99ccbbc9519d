"""What a server reports about itself: its kind and version, its models, and their format."""

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec

from toolwire.backends.base import UNKNOWN, Capabilities
from toolwire.backends.openai.detection import AUTO, Detected, detect, dialect_of_host
from toolwire.backends.openai.llamacpp import PROBE
from toolwire.backends.templates.chat_template import ChatTemplate
from toolwire.conformance.endpoint import LiveEndpoint, Unreachable
from toolwire.errors import UpstreamRefused, UpstreamUnavailable
from toolwire.formats import Detection, detect_model, detect_template

NAMES = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "llamacpp": "llama.cpp",
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "lmdeploy": "LMDeploy",
    "tgi": "Text Generation Inference",
    "openai": "OpenAI",
    "openrouter": "OpenRouter",
    "mistral": "Mistral",
    "deepseek": "DeepSeek",
    "moonshot": "Moonshot",
}
_VERSIONS = {
    "vllm": ("/version", "version"),
    "ollama": ("/api/version", "version"),
    "llamacpp": ("/props", "build_info"),
    "sglang": ("/get_server_info", "version"),
    "tgi": ("/info", "version"),
}
BY_ADDRESS = "by its address"
_NOT_FOR_CHAT = ("embed", "rerank", "whisper", "tts", "moderation")


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What is known before anything is asked of a model."""

    url: str
    model: str
    models: tuple[str, ...] = ()
    kind: str = ""
    """The dialect; empty if nothing tells."""
    why: str = ""
    version: str = ""
    capabilities: Capabilities = UNKNOWN
    format: Detection | None = None
    is_toolwire: bool = False

    @property
    def name(self) -> str:
        """What people call the server."""
        if self.is_toolwire:
            return "Toolwire"
        if self.kind == "openai" and self.why != BY_ADDRESS:
            return "an OpenAI-compatible server"  # as LiteLLM, whose models "OpenAI" owns
        return NAMES.get(self.kind, self.kind) or "a server that does not say what it is"


def look_at(endpoint: LiveEndpoint, template: ChatTemplate | None = None) -> ServerFacts:
    """Ask harmless questions. Raises `Unreachable`; the endpoint's model is chosen if it has
    none."""
    models = _models(endpoint)
    if not endpoint.model:
        endpoint.model = _first(models) or ""
    kind = _kind(endpoint)
    known = _capabilities(endpoint, kind, template)
    return ServerFacts(
        endpoint.url,
        endpoint.model,
        models,
        kind.dialect if kind else "",
        kind.why if kind else "",
        _version(endpoint, kind),
        known,
        _format(known, endpoint.model),
        endpoint.is_toolwire,
    )


def _models(endpoint: LiveEndpoint) -> tuple[str, ...]:
    """The names of its models; none if it has no such list."""
    body = endpoint.models().body
    listed = body.get("data") if isinstance(body, dict) else None
    return tuple(
        entry["id"]
        for entry in (listed if isinstance(listed, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    )


def _first(models: tuple[str, ...]) -> str | None:
    chats = (name for name in models if not any(word in name.lower() for word in _NOT_FOR_CHAT))
    return next(chats, next(iter(models), None))


def _kind(endpoint: LiveEndpoint) -> Detected | None:
    if endpoint.is_toolwire:
        return None
    if named := dialect_of_host(endpoint.host):
        return Detected(named, BY_ADDRESS)

    def fetch(*, at_root: bool) -> Any:
        async def get(path: str) -> bytes:
            try:
                reply = endpoint.get(path, at_root=at_root)
            except Unreachable as error:  # some servers just hang up on a path they do not know
                raise UpstreamRefused(str(error), status=502) from None
            if reply.status != 200:
                raise UpstreamRefused(reply.error_message, status=reply.status)
            return reply.text.encode()

        return get

    try:
        found = asyncio.run(detect(fetch(at_root=False), fetch(at_root=True)))
    except UpstreamUnavailable:
        return None
    return None if found is None or found.dialect == AUTO else found


def _version(endpoint: LiveEndpoint, kind: Detected | None) -> str:
    if kind is None or kind.dialect not in _VERSIONS:
        return ""
    path, key = _VERSIONS[kind.dialect]
    try:
        body = endpoint.get(path, at_root=True).body
    except Unreachable:
        return ""
    told = body.get(key) if isinstance(body, dict) else None
    return told if isinstance(told, str) else ""


def _capabilities(
    endpoint: LiveEndpoint, kind: Detected | None, template: ChatTemplate | None
) -> Capabilities:
    if template is not None:
        return template.capabilities
    if kind is None or kind.dialect != "llamacpp":
        return UNKNOWN
    try:
        return PROBE.read(endpoint.get(PROBE.path, at_root=True).text.encode())
    except (Unreachable, ValueError, msgspec.MsgspecError):
        return UNKNOWN


def _format(known: Capabilities, model: str) -> Detection | None:
    called = known.name or model
    return detect_template(known.template, called) or detect_model(called) or detect_model(model)
