"""Stored responses, which later requests can continue, refer to, read and delete.

A document contains a response and the whole conversation before it. So one read is enough to
continue, and deleting one response breaks no other. Each output item is a document too, since
clients refer to items by id alone. Large documents are encoded and decoded off the event loop.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.errors import RequestError
from toolwire.gateway.turn import off_loop
from toolwire.sessions.base import Key, Store
from toolwire.surfaces.responses.errors import ResponseNotFound
from toolwire.surfaces.responses.kinds import BY_ITEM, KINDS, Fields
from toolwire.surfaces.responses.request.items import Item, is_reference, reference_id

RESPONSE, ITEM = "response", "response_item"
_MOST_REFERENCES = 1000
_encode = msgspec.json.Encoder().encode
_decode_item = msgspec.json.Decoder(dict[str, Any]).decode


class StoredResponse(msgspec.Struct):
    """A response, and its input items."""

    response: dict[str, Any]
    input: list[dict[str, Any]]


class NewResponse(msgspec.Struct):
    """A response to store, already encoded: see `StoredResponse`."""

    response: Raw
    input: list[dict[str, Any]]


class _Item(msgspec.Struct):
    id: str


class _Output(msgspec.Struct):
    output: list[_Item]


class _Outline(msgspec.Struct):
    """What deleting needs of a stored response. The rest, which may be large, is skipped."""

    response: _Output


_decode = msgspec.json.Decoder(StoredResponse).decode
_decode_outline = msgspec.json.Decoder(_Outline).decode


class ResponseStore(msgspec.Struct, frozen=True):
    """Stores responses, isolated by owner."""

    store: Store | None
    ttl: float
    max_bytes: int

    @property
    def on(self) -> bool:
        """Whether storage is enabled."""
        return self.store is not None

    async def get(self, owner: str, response_id: str) -> StoredResponse:
        """Return a response. Raises `ResponseNotFound`."""
        found = await self._find(owner, response_id)
        return await off_loop(len(found), _decode, found)

    async def delete(self, owner: str, response_id: str) -> None:
        """Delete a response and its items. Raises `ResponseNotFound`."""
        outline = _decode_outline(await self._find(owner, response_id))
        assert self.store is not None  # noqa: S101
        for item in outline.response.output:
            await self.store.delete(Key(ITEM, owner, item.id))
        await self.store.delete(Key(RESPONSE, owner, response_id))

    async def _find(self, owner: str, response_id: str) -> bytes:
        found = await self._read(Key(RESPONSE, owner, response_id))
        if found is None:
            raise ResponseNotFound(f"Response with id '{response_id[:100]}' not found. {self._why}")
        return found

    async def put(
        self,
        owner: str,
        response_id: str,
        new: NewResponse,
        output: Sequence[Fields],
        size: int = 0,
    ) -> int:
        """Store a response, and each of its items. Return their bytes; 0 if it is too large, and
        not stored. `size`: about how many bytes its input has."""
        assert self.store is not None  # noqa: S101
        whole = await off_loop(size + len(new.response), _encode, new)
        if len(whole) > self.max_bytes:
            return 0
        values = {Key(RESPONSE, owner, response_id): whole}
        for item in output:
            values[Key(ITEM, owner, item["id"])] = _encode(item)
        await self.store.put(values, self.ttl)
        return sum(map(len, values.values()))

    async def resolve(
        self, owner: str, previous: str | None, items: Sequence[Item]
    ) -> tuple[Sequence[Item], int]:
        """Return the whole conversation: earlier items, then these, with references resolved. Also
        return how many bytes were read."""
        before: list[Item] = []
        size = 0
        if previous is not None:
            before, size = await self._before(owner, previous)
        wanted = [reference_id(at, item) for at, item in enumerate(items) if is_reference(item)]
        if not wanted:
            return [*before, *items], size
        if len(wanted) > _MOST_REFERENCES:
            raise RequestError(
                f"Invalid 'input': expected at most {_MOST_REFERENCES} item references.",
                param="input",
                code="array_above_max_length",
            )
        names = list(dict.fromkeys(wanted))
        found = await asyncio.gather(*[self._item(owner, name) for name in names])
        sizes = dict(zip(names, map(len, found), strict=True))
        referred = sum(sizes[name] for name in wanted)
        if referred > self.max_bytes:
            raise RequestError(
                f"Invalid 'input': the items that it refers to have more than {self.max_bytes} "
                "bytes together.",
                param="input",
                code="array_above_max_length",
            )
        items_found = await off_loop(sum(sizes.values()), _decode_items, found)
        known = dict(zip(names, items_found, strict=True))
        resolved = [known[item["id"]] if is_reference(item) else item for item in items]
        return [*before, *resolved], size + referred

    async def _before(self, owner: str, previous: str) -> tuple[list[Item], int]:
        found = await self._read(Key(RESPONSE, owner, previous))
        if found is None:
            raise RequestError(
                f"Previous response with id '{previous[:100]}' not found. {self._why}",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        stored = await off_loop(len(found), _decode, found)
        return [*stored.input, *stored.response["output"]], len(found)

    async def _item(self, owner: str, item_id: str) -> bytes:
        found = await self._read(Key(ITEM, owner, item_id))
        if found is None:
            raise ResponseNotFound(
                f"Item with id '{item_id[:100]}' not found. Items are not kept when `store` is "
                f"set to false. {self._why} Or send the whole item instead of its id.",
                param="input",
            )
        return found

    async def _read(self, key: Key) -> bytes | None:
        return None if self.store is None else await self.store.get(key)

    @property
    def _why(self) -> str:
        if self.store is None:
            return "This server keeps no responses: set `sessions.store`."
        return "It may have expired, have been made with another key, or with `store` false."


def _decode_items(found: Sequence[bytes]) -> list[Fields]:
    return [_decode_item(item) for item in found]


def as_kept(items: Sequence[Item], response_id: str) -> list[Fields]:
    """Prepare items for storage: each gets an id, which lists are paged by."""
    tail = response_id.partition("_")[2]
    kept = []
    for at, item in enumerate(items):
        name = item.get("id")
        own = name if isinstance(name, str) and name else f"{_prefix(item)}{at}_{tail}"[:64]
        kept.append({**item, "id": own})
    return kept


def _prefix(item: Item) -> str:
    """Return the prefix of an id of such an item. That of an output is its call's with an `o`."""
    kind = str(item.get("type") or "message")
    call = BY_ITEM.get(kind.removesuffix("_output"))
    if call is not None:
        prefix = KINDS[call].prefix
        return f"{prefix[:-1]}o_" if kind.endswith("_output") else prefix
    return _PREFIXES.get(kind, "item_")


def as_listed(item: Item) -> Fields:
    """Return a stored item with what clients of a list require, but need not send."""
    defaults = {"type": "message", "status": "completed", **_LISTED.get(str(item.get("type")), {})}
    listed = defaults | {name: value for name, value in item.items() if value is not None}
    if listed["type"] == "message":
        listed["content"] = _listed_content(item)
    return listed


def _listed_content(item: Item) -> Any:
    spoken, content = item.get("role") == "assistant", item.get("content")
    if isinstance(content, str):
        content = [{"type": "output_text" if spoken else "input_text", "text": content}]
    if not isinstance(content, list):
        return content
    return [
        {**_PARTS.get(str(part.get("type")), {}), **part} if isinstance(part, dict) else part
        for part in content
    ]


_PREFIXES = {"message": "msg_", "reasoning": "rs_", "additional_tools": "at_"}
_CLIENT = {"execution": "client"}
_LISTED: dict[str, Fields] = {"tool_search_call": _CLIENT, "tool_search_output": _CLIENT}
_PARTS: dict[str, Fields] = {"output_text": {"annotations": []}, "input_image": {"detail": "auto"}}
