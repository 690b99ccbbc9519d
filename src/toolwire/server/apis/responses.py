"""Builds the Responses API from the configuration: its endpoints, and their paths."""

import time

from msgspec.structs import replace

from toolwire.gateway.turn import TurnService
from toolwire.protocol.tool_cache import ToolCache
from toolwire.server.config.settings import Config
from toolwire.server.process.random_ids import new_id
from toolwire.server.router import Resource
from toolwire.sessions.base import Store
from toolwire.surfaces.responses.request.reader import ResponseReader
from toolwire.surfaces.responses.request.tools import ResponseToolReader
from toolwire.surfaces.responses.storage.pruning import Pruner
from toolwire.surfaces.responses.storage.state import ResponseStore
from toolwire.surfaces.responses.storage.stored import StoredResponses
from toolwire.surfaces.responses.surface import Responses


def responses_api(
    config: Config, turns: TurnService, store: Store | None, cache: ToolCache
) -> dict[str, Resource]:
    """Return the resources of the Responses API, by path."""
    limits = config.limits
    reader = ResponseReader(
        ResponseToolReader(cache, limits.tools),
        limits.messages,
        strict_parallel=config.strict_parallel == "validate",
        max_values=limits.values,
    )
    # A broken history is repaired: agents of this API cannot recover from such an error.
    own = replace(turns, repair_history=True)
    sessions = config.sessions
    kept = ResponseStore(store, sessions.ttl, sessions.max_bytes)
    pruner = Pruner(kept, most=sessions.max_responses, most_bytes=sessions.responses_bytes)
    api = Responses(reader, own, kept, new_id, time.time, pruner)
    ends = StoredResponses(kept)
    return {
        "/v1/responses": Resource(api, {"POST": api.answer}),
        "/v1/responses/input_tokens": Resource(api, {"POST": api.count}),
        "/v1/responses/compact": Resource(api, {}),  # clients then compact with an ordinary turn
        "/v1/responses/{id}": Resource(api, {"GET": ends.show, "DELETE": ends.delete}),
        "/v1/responses/{id}/input_items": Resource(api, {"GET": ends.list_input}),
        "/v1/responses/{id}/cancel": Resource(api, {"POST": ends.cancel}),
    }
