"""The table of paths: which API answers where."""

import time

from toolwire.inspector.page import page_endpoints
from toolwire.server.apis.descriptions import Descriptions
from toolwire.server.apis.inspector import inspector_api
from toolwire.server.apis.messages import messages_api
from toolwire.server.apis.native import native_api
from toolwire.server.apis.responses import responses_api
from toolwire.server.assembly import request_reader
from toolwire.server.config.settings import Config
from toolwire.server.health.endpoints import HealthEndpoints
from toolwire.server.process.random_ids import new_id
from toolwire.server.router import Handler, Resource, Router
from toolwire.server.services import Services
from toolwire.surfaces.models import Models
from toolwire.surfaces.openai.chat import OpenAiChat

_WARM_UPS = ("/", "/api/hello")
"""Paths that Claude Code requests, without a key, to open a connection before it needs one."""
_BY_HEADER = {b"anthropic-version": "/v1/messages"}
"""Headers that only clients of one API send, which share paths, such as /v1/models, with others."""
OPEN = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", *_WARM_UPS, *page_endpoints()})
"""Paths that need no key."""


def build_router(config: Config, services: Services, health: HealthEndpoints) -> Router:
    """Build every API, and return the table of their paths."""
    turns = services.turns
    chat = OpenAiChat(request_reader(config), turns, new_id, time.time)
    cache = chat.reader.tools.cache

    def get(handler: Handler) -> Resource:
        return Resource(chat, {"GET": handler})

    described = Descriptions()
    models = Models(services.routes, int(time.time()), services.fetch_models)
    table = {
        "/v1/chat/completions": Resource(chat, {"POST": chat.answer}),
        **native_api(config, turns, services.sessions, cache),
        **responses_api(config, turns, services.sessions, cache),
        "/v1/models": get(models.list),
        "/v1/models/{id...}": get(models.show),
        "/openapi.json": get(described.document),
        "/docs": get(described.page),
        **messages_api(config, turns),
        "/metrics": get(health.metrics),
        "/healthz": get(health.health),
        "/readyz": get(health.ready),
        **dict.fromkeys(_WARM_UPS, get(health.health)),
    }
    if services.traces is not None and config.has_inspector:
        table |= inspector_api(config, chat, services.traces, services.checker)
    return Router(table, chat, _BY_HEADER)
