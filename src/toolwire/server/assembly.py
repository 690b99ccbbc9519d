"""Builds routes, backends and limits from the configuration."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from toolwire.backends.base import Backend, BackendTimeouts, Redact
from toolwire.backends.dialects import DIALECTS, Dialect
from toolwire.backends.http import HttpPool, Origin
from toolwire.backends.loop_budget import LoopBudget
from toolwire.backends.openai.backend import OpenAiHttpBackend
from toolwire.backends.openai.detection import AUTO, dialect_of_host
from toolwire.backends.pool import BackendPool
from toolwire.backends.tokenizers import SERVER, ServerTokenizer, open_tokenizer
from toolwire.formats.detection.announcements import announcements
from toolwire.formats.detection.signatures import signatures
from toolwire.formats.opened_reasoning import opened_reasoning
from toolwire.gateway.observer import UNOBSERVED, TurnObserver
from toolwire.gateway.plan import RepairPolicy
from toolwire.gateway.repair.rules import EVERY_RULE
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.gateway.token_count import TokenCounter
from toolwire.gateway.tool_limits import ToolLimiter, ToolLimits
from toolwire.later import Later
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.server.config.settings import BackendConfig, Config, RouteConfig
from toolwire.surfaces.messages.reader import MessagesReader
from toolwire.surfaces.messages.tools import MessagesToolReader
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader

if TYPE_CHECKING:
    from toolwire.backends.embedded.backend import EmbeddedBackend
    from toolwire.backends.embedded.engine import EmbeddedEngine
    from toolwire.backends.openai.completions import CompletionsBackend


def build_routes(
    config: Config,
    engine: "EmbeddedEngine | None",
    clock: Callable[[], float],
    redact: Redact,
    observer: TurnObserver = UNOBSERVED,
) -> Routes:
    """Build every served model, with its backends."""
    budget = LoopBudget()
    signatures()  # compute them now, before any request waits
    announcements()

    def served(route: RouteConfig) -> ServedModel:
        backends = [
            _backend(
                replace(backend, model=backend.model or route.fixed_name),
                config,
                engine,
                budget,
                redact,
            )
            for backend in route.backends
        ]
        custom = any(backend.custom_tools for backend in route.backends)
        examples = _examples(route, engine)
        strategies = StrategySelector(
            route.mode,
            route.format,
            examples,
            clock,
            model=_known_as(route),
            observer=observer,
        )
        pool = BackendPool(backends, clock)
        tokens = _tokens(route, backends)
        return ServedModel(
            route.name,
            pool,
            custom_tools=custom,
            strategies=strategies,
            tokens=tokens,
            aliases=route.aliases,
            tool_limiter=_tool_limiter(route),
        )

    return Routes(map(served, config.models))


def _tokens(route: RouteConfig, backends: list[Backend]) -> TokenCounter | None:
    if route.tokenizer is None:
        return None
    if route.tokenizer != SERVER:
        return open_tokenizer(Path(route.tokenizer))
    servers = [backend for backend in backends if isinstance(backend, OpenAiHttpBackend)]
    return ServerTokenizer({server.name: server for server in servers})


def _known_as(route: RouteConfig) -> str:
    """Return the one model behind a route, for format detection; "" if there are several."""
    models = {backend.model for backend in route.backends}
    return route.fixed_name or (models.pop() or "" if len(models) == 1 else "")


def _tool_limiter(route: RouteConfig) -> ToolLimiter | None:
    limits = ToolLimits(
        route.tools_allowed,
        route.tools_denied,
        route.tool_description_chars,
        route.parameter_description_chars,
    )
    return None if limits == ToolLimits() else ToolLimiter(limits)


def _examples(route: RouteConfig, engine: "EmbeddedEngine | None") -> int:
    if route.examples is not None:
        return route.examples
    embedded = any(backend.is_embedded for backend in route.backends)
    return engine.tuning.examples if embedded and engine is not None else 0


def _backend(
    config: BackendConfig,
    whole: Config,
    engine: "EmbeddedEngine | None",
    budget: LoopBudget,
    redact: Redact,
) -> Backend:
    times = config.timeouts or whole.timeouts
    timeouts = BackendTimeouts(times.first_token, times.idle)
    if config.is_embedded and engine is not None:
        return _EMBEDDED()(config.name, engine, timeouts)
    pool = HttpPool(Origin.of(config.url), connect_timeout=times.connect, budget=budget)
    named = config.dialect
    if named == AUTO:
        named = dialect_of_host(pool.origin.host) or AUTO
    kind = _KINDS[named]() if named in _KINDS else OpenAiHttpBackend
    headers = kind.key_headers(None if config.key is None else config.key.reveal())
    headers |= config.headers
    options: dict[str, Any] = {
        "model": config.model,
        "headers": headers,
        "max_line": whole.limits.sse_line_bytes,
        "max_answer": whole.limits.answer_bytes,
        "timeouts": timeouts,
        "redact": redact,
    }
    options["adapt"] = partial(_adapted, config)
    dialect = _adapted(config, DIALECTS[named])
    if config.chat_template is None:
        return kind(config.name, pool, dialect, **options)
    options["opened_reasoning"] = opened_reasoning
    return _COMPLETIONS()(config.name, pool, dialect, config.chat_template, **options)


_KINDS: dict[str, Later[type[OpenAiHttpBackend]]] = {
    "anthropic": Later("toolwire.backends.anthropic.backend", "AnthropicBackend"),
    "responses": Later("toolwire.backends.responses.backend", "ResponsesBackend"),
}
"""Backend classes for other APIs than OpenAI's chat completions, by dialect."""
_EMBEDDED: "Later[type[EmbeddedBackend]]" = Later(
    "toolwire.backends.embedded.backend", "EmbeddedBackend"
)
_COMPLETIONS: "Later[type[CompletionsBackend]]" = Later(
    "toolwire.backends.openai.completions", "CompletionsBackend"
)


def _adapted(config: BackendConfig, dialect: Dialect) -> Dialect:
    """Return the dialect with the configured changes."""
    dialect = dialect.with_params(config.params_add, config.params_remove)
    if config.call_ids is not None:
        dialect = replace(dialect, call_ids=config.call_ids)
    if config.constraint is not None:
        dialect = replace(dialect, constraint=config.constraint)
    return dialect


def request_reader(config: Config) -> RequestReader:
    """Build the request reader, with its limits."""
    limits = config.limits
    tools = ToolReader(
        max_tools=limits.tools,
        cache_bytes=limits.schema_cache_bytes,
        schema_limits=_schema_limits(config),
    )
    return RequestReader(
        tools,
        limits.messages,
        strict_parallel=config.strict_parallel == "validate",
        max_values=limits.values,
    )


def messages_reader(config: Config) -> MessagesReader:
    """Build the request reader of the Messages API, with the same limits."""
    limits = config.limits
    tools = MessagesToolReader(
        max_tools=limits.tools,
        cache_bytes=limits.schema_cache_bytes,
        limits=_schema_limits(config),
    )
    return MessagesReader(tools, limits.messages, limits.values)


def _schema_limits(config: Config) -> SchemaLimits:
    limits = config.limits
    return SchemaLimits(
        limits.depth, limits.strict_properties, limits.strict_depth, limits.tool_bytes
    )


def turn_limits(config: Config) -> TurnLimits:
    """Return the time limits of a turn, and its number of attempts."""
    times, retries = config.timeouts, config.retries
    return TurnLimits(
        total=times.total,
        keepalive=times.keepalive,
        attempts=retries.attempts + 1,
        backoff=retries.backoff,
        max_retry_after=retries.max_retry_after,
        asks=config.repair.ask_again,
    )


def repair_policy(config: Config) -> RepairPolicy:
    """Return the policy for invalid calls."""
    repair = config.repair
    return RepairPolicy(
        EVERY_RULE.without(repair.off),
        streams=repair.streams,
        loop_after=repair.loop_after,
    )
