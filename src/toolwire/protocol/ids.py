"""Call ids: Toolwire's own, and the forms that backends require in a history.

The ids that a backend sees are computed from the history alone. They are the same for every
request, worker and machine, so prompt caches keep working and nothing has to be stored.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from toolwire.protocol.tools import AssistantCall

IdForm: TypeAlias = Literal["keep", "openai", "mistral", "kimi", "anthropic"]

MAX_CLIENT_ID = 256
"""Conversations move between providers, so any id up to this length is accepted."""

_OPENAI_MAX = 40
_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def provider_ids(calls: Iterable[AssistantCall], form: IdForm) -> dict[str, str]:
    """Map each call id of a history, in order, to the id that its backend sees."""
    derive = _FORMS[form]
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for position, call in enumerate(calls):
        salt = 0
        while (provider_id := derive(call, position, salt)) in taken:
            salt += 1
        taken.add(provider_id)
        ids[call.call_id] = provider_id
    return ids


def _keep(call: AssistantCall, _position: int, salt: int) -> str:
    known = call.provider_id or call.call_id
    return known if not salt else f"{known}_{salt}"


def _openai(call: AssistantCall, _position: int, salt: int) -> str:
    known = call.provider_id or call.call_id
    if len(known) <= _OPENAI_MAX and not salt:
        return known
    return "call_" + hashlib.sha256(f"{salt}:{known}".encode()).hexdigest()[:32]


def _mistral(call: AssistantCall, _position: int, salt: int) -> str:
    """Nine alphanumerics, which Mistral's servers require."""
    known = call.provider_id or call.call_id
    number = int.from_bytes(hashlib.sha256(f"{salt}:{known}".encode()).digest()[:8])
    digits = []
    for _ in range(9):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)


def _kimi(call: AssistantCall, position: int, _salt: int) -> str:
    """`functions.NAME:IDX`, counted over the conversation. Kimi's template renders no other id."""
    return f"functions.{call.name}:{position}"


def _anthropic(call: AssistantCall, _position: int, salt: int) -> str:
    """Letters, digits, `_` and `-`: Anthropic's API refuses any other character."""
    if _PLAIN.fullmatch(call.call_id) and not salt:
        return call.call_id
    return "toolu_" + hashlib.sha256(f"{salt}:{call.call_id}".encode()).hexdigest()[:24]


_FORMS: dict[IdForm, Callable[[AssistantCall, int, int], str]] = {
    "keep": _keep,
    "openai": _openai,
    "mistral": _mistral,
    "kimi": _kimi,
    "anthropic": _anthropic,
}
