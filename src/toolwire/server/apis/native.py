"""Builds the native API from the configuration: its endpoints, and their paths."""

import logging
import os
import time

from toolwire.gateway.turn import TurnService
from toolwire.protocol.tool_cache import ToolCache
from toolwire.server.config.settings import Config
from toolwire.server.process.random_ids import new_id
from toolwire.server.router import Resource
from toolwire.sessions.base import Store
from toolwire.surfaces.native.call_map import CallMapSigner
from toolwire.surfaces.native.chat import NativeChat
from toolwire.surfaces.native.conversations import Conversations
from toolwire.surfaces.native.reader import NativeRequestReader
from toolwire.surfaces.native.session_turn import SessionRules, Sessions
from toolwire.surfaces.native.tools import NativeToolReader

_log = logging.getLogger("toolwire.server")


def native_api(
    config: Config, turns: TurnService, store: Store | None, cache: ToolCache
) -> dict[str, Resource]:
    """Return the resources of the native API, by path."""
    limits = config.limits
    tools = NativeToolReader(cache, limits.tools)
    kept = config.sessions
    rules = SessionRules(kept.ttl, kept.max_turns, kept.max_bytes, kept.max_conversations)
    sessions = Sessions(store, rules, time.time, tools.read)
    reader = NativeRequestReader(tools, limits.messages, limits.values)
    signer = CallMapSigner(_signing_key(config))
    chat = NativeChat(reader, turns, sessions, signer, new_id, time.time)
    conversations = Conversations(sessions)
    own = {"GET": conversations.show, "DELETE": conversations.delete}
    return {
        "/native/v1/chat": Resource(chat, {"POST": chat.answer}),
        "/native/v1/conversations": Resource(chat, {"GET": conversations.list}),
        "/native/v1/conversations/{id}": Resource(chat, own),
    }


def _signing_key(config: Config) -> bytes:
    key = config.native.call_map_key
    if key is not None:
        return key.reveal().encode()
    _log.debug("toolwire-call-map is signed with a key of this process only")
    return os.urandom(32)
