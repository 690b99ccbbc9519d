"""Call ids: ours, and those that providers gave, for one request or one conversation.

A map never belongs to the process. A call that a provider gave no id, or one that another call of
the conversation has already, is known by its position.
"""

from collections.abc import Iterable, Mapping


class ToolCallIdMap:
    """Our ids of calls and the providers' ids of the same calls, both ways."""

    __slots__ = ("_call_ids", "_provider_ids")

    def __init__(self, pairs: Mapping[str, str] | None = None) -> None:
        self._provider_ids: dict[str, str] = {}
        self._call_ids: dict[str, str] = {}
        for call_id, provider_id in (pairs or {}).items():
            self.add(call_id, provider_id)

    def add(self, call_id: str, provider_id: str = "") -> None:
        """Add a call. An id that is known already stays what it is."""
        if call_id in self._provider_ids:
            return
        if provider_id in self._call_ids:
            provider_id = ""
        self._provider_ids[call_id] = provider_id
        if provider_id:
            self._call_ids[provider_id] = call_id

    def __contains__(self, call_id: str) -> bool:
        """Whether a call has this id of ours."""
        return call_id in self._provider_ids

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self._provider_ids)

    def provider_id(self, call_id: str, position: int) -> str:
        """The id of a call for its provider; `position` is the number of the call."""
        return self._provider_ids.get(call_id) or f"call_{position}"

    def call_id(self, provider_id: str) -> str | None:
        """Our id of a call that a provider named."""
        return self._call_ids.get(provider_id)

    def only(self, call_ids: Iterable[str]) -> "ToolCallIdMap":
        """The map of these calls, in this order."""
        known = self._provider_ids
        return ToolCallIdMap({each: known[each] for each in call_ids if each in known})

    @property
    def pairs(self) -> Mapping[str, str]:
        """Each of our ids, oldest first, with the provider's; empty if there is none."""
        return self._provider_ids
