"""Maps Toolwire's call ids to the providers' ids, for one request or one conversation.

A map is never global to the process. A call without a provider id, or with a duplicate one, is
identified by its position.
"""

from collections.abc import Iterable, Mapping


class ToolCallIdMap:
    """A bidirectional map between Toolwire's call ids and the providers'."""

    __slots__ = ("_call_ids", "_provider_ids")

    def __init__(self, pairs: Mapping[str, str] | None = None) -> None:
        self._provider_ids: dict[str, str] = {}
        self._call_ids: dict[str, str] = {}
        for call_id, provider_id in (pairs or {}).items():
            self.add(call_id, provider_id)

    def add(self, call_id: str, provider_id: str = "") -> None:
        """Add a call. A known id keeps its mapping."""
        if call_id in self._provider_ids:
            return
        if provider_id in self._call_ids:
            provider_id = ""
        self._provider_ids[call_id] = provider_id
        if provider_id:
            self._call_ids[provider_id] = call_id

    def __contains__(self, call_id: str) -> bool:
        """Whether a call has this Toolwire id."""
        return call_id in self._provider_ids

    def __len__(self) -> int:
        """The number of calls."""
        return len(self._provider_ids)

    def provider_id(self, call_id: str, position: int) -> str:
        """Return the provider's id of a call. `position` is the index of the call."""
        return self._provider_ids.get(call_id) or f"call_{position}"

    def call_id(self, provider_id: str) -> str | None:
        """Return Toolwire's id for a provider's id."""
        return self._call_ids.get(provider_id)

    def only(self, call_ids: Iterable[str]) -> "ToolCallIdMap":
        """Return a map with only these calls, in this order."""
        known = self._provider_ids
        return ToolCallIdMap({each: known[each] for each in call_ids if each in known})

    @property
    def pairs(self) -> Mapping[str, str]:
        """Each of Toolwire's ids, oldest first, with the provider's id, or "" if none."""
        return self._provider_ids
