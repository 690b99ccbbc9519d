"""The endpoints of stored responses: `/v1/responses/{id}` and below."""

import re
from urllib.parse import parse_qs

import msgspec

from toolwire.errors import GatewayError, RequestError
from toolwire.gateway.context import RequestContext
from toolwire.surfaces.base import send_json
from toolwire.surfaces.exchange import Exchange
from toolwire.surfaces.explain import bad_value
from toolwire.surfaces.responses.errors import ResponseNotFound
from toolwire.surfaces.responses.storage.state import ResponseStore, as_listed

_PATH = re.compile(r"/v1/responses/([A-Za-z0-9_-]{1,128})(?:/[a-z_]+)?")
_MOST = 100
_USUAL = 20
_DIGITS = re.compile(r"[0-9]{1,9}")


class StoredResponses(msgspec.Struct, frozen=True):
    """The endpoints."""

    stored: ResponseStore

    async def show(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with a stored response."""
        if _query(exchange).get("stream") == "true":
            raise _unsupported(
                "'stream' is not supported here: the events of a response are not kept. "
                "Leave it out to get the whole response.",
                "stream",
            )
        found = await self.stored.get(context.key_name or "", _id(exchange))
        send_json(exchange, context, found.response)

    async def delete(self, exchange: Exchange, context: RequestContext) -> None:
        """Delete a response and its items."""
        name = _id(exchange)
        await self.stored.delete(context.key_name or "", name)
        send_json(exchange, context, {"id": name, "object": "response", "deleted": True})

    async def list_input(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with a page of a response's input items."""
        query = _query(exchange)
        limit, order = _limit(query.get("limit")), query.get("order", "desc")
        if order not in ("asc", "desc"):
            raise bad_value(order, "order", "'asc' and 'desc'")
        found = await self.stored.get(context.key_name or "", _id(exchange))
        items = found.input if order == "asc" else found.input[::-1]
        if after := query.get("after"):
            places = [at for at, item in enumerate(items) if item["id"] == after]
            items = items[places[0] + 1 :] if places else []
        page = items[:limit]
        body = {
            "object": "list",
            "data": [as_listed(item) for item in page],
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": len(items) > limit,
        }
        send_json(exchange, context, body)

    async def cancel(self, exchange: Exchange, context: RequestContext) -> None:
        """Refuse: background responses are not supported."""
        await self.stored.get(context.key_name or "", _id(exchange))
        raise _unsupported(
            "Only responses that were made with 'background' set to true can be cancelled, and "
            "there are none here. Close the connection of a response instead.",
            None,
        )


def _id(exchange: Exchange) -> str:
    """The id in the path."""
    path = exchange.request.path
    found = _PATH.fullmatch(path)
    if found is None:
        raise ResponseNotFound(f"There is no response at '{path[:200]}'.")
    return found[1]


def _query(exchange: Exchange) -> dict[str, str]:
    text = exchange.request.target.partition(b"?")[2].decode("latin-1")
    try:
        given = parse_qs(text, max_num_fields=16)
    except ValueError:
        raise RequestError("The query has too many parameters.") from None
    return {name: values[-1] for name, values in given.items()}


def _limit(given: str | None) -> int:
    if given is None:
        return _USUAL
    if not _DIGITS.fullmatch(given) or not 1 <= int(given) <= _MOST:
        raise RequestError(
            f"Invalid 'limit': expected an integer from 1 to {_MOST}.",
            param="limit",
            code="invalid_value",
        )
    return int(given)


def _unsupported(message: str, param: str | None) -> GatewayError:
    return RequestError(message, param=param, code="unsupported_parameter")
