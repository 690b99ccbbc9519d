"""Detects the kind of server at a URL with harmless GET requests.

Most servers name themselves in `owned_by` of their models. Others are recognized by a path that
only they have, and by its content, because some servers answer 200 on any path.
"""

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec

from toolwire.errors import UpstreamError, UpstreamUnavailable
from toolwire.protocol.json_numbers import decode_any

AUTO = "auto"
"""The dialect setting that means detection."""

Fetch: TypeAlias = Callable[[str], Awaitable[bytes]]
"""Fetches a path from a server. Raises `UpstreamError`."""


class Detected(msgspec.Struct, frozen=True):
    """A dialect, and how it was detected."""

    dialect: str
    why: str


class _Sign(msgspec.Struct, frozen=True):
    """A path below the root, and an answer that only one kind of server gives."""

    dialect: str
    path: str
    tells: Callable[[dict[str, Any]], bool]


_HOSTS = {
    "api.openai.com": "openai",
    "openrouter.ai": "openrouter",
    "api.mistral.ai": "mistral",
    "api.deepseek.com": "deepseek",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "api.anthropic.com": "anthropic",
}
_OWNERS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llamacpp",
    "lmdeploy": "lmdeploy",
    "library": "ollama",
    "organization_owner": "lmstudio",
    "organization-owner": "lmstudio",
    "openai": "openai",
    "openai-internal": "openai",
}


def _has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda told: all(key in told for key in keys)


def _is_version(told: dict[str, Any]) -> bool:
    return set(told) == {"version"} and isinstance(told["version"], str)


def _is_lm_studio(told: dict[str, Any]) -> bool:
    data = told.get("data")
    return isinstance(data, list) and any(isinstance(m, dict) and "state" in m for m in data)


def _is_tgi(told: dict[str, Any]) -> bool:
    return "model_id" in told and ("max_input_tokens" in told or "max_input_length" in told)


_SIGNS = (
    _Sign("llamacpp", "/props", _has("default_generation_settings")),
    _Sign("ollama", "/api/version", _is_version),
    _Sign("lmstudio", "/api/v0/models", _is_lm_studio),
    _Sign("tgi", "/info", _is_tgi),
    _Sign("sglang", "/get_model_info", _has("model_path")),
    _Sign("vllm", "/version", _is_version),
)


_OTHER = Detected(AUTO, "it is of no known kind")


def dialect_of_host(host: str) -> str | None:
    """Return the dialect of a well-known host."""
    return _HOSTS.get(host.casefold())


async def detect(fetch_models: Fetch, fetch: Fetch) -> Detected | None:
    """Detect the kind of server; None if it does not even list models, so that it may not be up.
    Raises `UpstreamUnavailable` if it is down, or if a proxy in front of it says so.

    `fetch_models` fetches paths below the base URL, and `fetch` paths below the server's root.
    """
    models = await _models(fetch_models)
    if (owner := _owner(models or ())) is not None:
        return owner
    for sign in _SIGNS:
        told = await _told(fetch, sign.path)
        if told is not None and sign.tells(told):
            return Detected(sign.dialect, f"by what it has at {sign.path}")
    return None if models is None else _OTHER


async def _models(fetch: Fetch) -> list[Any] | None:
    try:
        told = _object(await fetch("/models")) or {}
    except UpstreamUnavailable:
        raise
    except UpstreamError as error:
        if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UpstreamUnavailable(error.message) from None
        return None
    models = told.get("data")
    return models if isinstance(models, list) else None


def _owner(models: Iterable[Any]) -> Detected | None:
    for model in models:
        owner = model.get("owned_by") if isinstance(model, dict) else None
        if isinstance(owner, str) and owner in _OWNERS:
            return Detected(_OWNERS[owner], f"its models are owned by '{owner}'")
    return None


async def _told(fetch: Fetch, path: str) -> dict[str, Any] | None:
    try:
        return _object(await fetch(path))
    except UpstreamError:
        return None


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = decode_any(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
