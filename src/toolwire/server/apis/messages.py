"""Builds the Messages API from the configuration: its endpoints, and their paths."""

import time
from functools import partial

from msgspec.structs import replace

from toolwire.gateway.turn import TurnService
from toolwire.server.assembly import messages_reader
from toolwire.server.config.settings import Config
from toolwire.server.process.random_ids import new_id
from toolwire.server.router import Resource
from toolwire.surfaces.messages.api import MessagesApi
from toolwire.surfaces.messages.errors import STATUSES
from toolwire.surfaces.messages.token_limits import TokenLimits

_BASES = ("/v1", "", "/v1/v1")
"""Its paths: below the base URL that clients expect, and below common wrong ones."""


def messages_api(config: Config, turns: TurnService) -> dict[str, Resource]:
    """Return the resources of the Messages API, by path."""
    # A broken history is repaired: agents of this API cannot recover from such an error.
    own = replace(turns, repair_history=True, new_call_id=partial(new_id, "toolu_"))
    api = MessagesApi(messages_reader(config), own, new_id, TokenLimits(time.time))
    table: dict[str, Resource] = {}
    for base in _BASES:
        table[f"{base}/messages"] = Resource(api, {"POST": api.answer}, STATUSES)
        table[f"{base}/messages/count_tokens"] = Resource(api, {"POST": api.count}, STATUSES)
    return table
