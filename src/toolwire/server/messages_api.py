"""Builds the Messages API from the configuration: its endpoints, and their paths."""

import time
from dataclasses import replace
from functools import partial

from toolwire.gateway.turn import TurnService
from toolwire.server.assembly import messages_reader
from toolwire.server.config.settings import Config
from toolwire.server.random_ids import new_id
from toolwire.server.router import Resource
from toolwire.surfaces.messages.api import Messages
from toolwire.surfaces.messages.token_limits import TokenLimits

_BASES = ("/v1", "", "/v1/v1")
"""Where it is: below the base URL that clients expect, and below those pasted by mistake."""


def messages_api(config: Config, turns: TurnService) -> dict[str, Resource]:
    """The resources of the Messages API, by their paths."""
    # A broken history is repaired: agents of this API cannot go on after an error about it.
    own = replace(turns, repair_history=True, new_call_id=partial(new_id, "toolu_"))
    api = Messages(messages_reader(config), own, new_id, TokenLimits(time.time))
    table: dict[str, Resource] = {}
    for base in _BASES:
        table[f"{base}/messages"] = Resource(api, {"POST": api.answer})
        table[f"{base}/messages/count_tokens"] = Resource(api, {"POST": api.count})
    return table
