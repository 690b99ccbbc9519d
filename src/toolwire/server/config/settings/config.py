"""The whole configuration: all sections, and the settings that belong to none."""

from typing import Annotated, Literal

import msgspec

from toolwire.server.config import values
from toolwire.server.config.settings.embedded import Embedded
from toolwire.server.config.settings.limits import ServerLimits
from toolwire.server.config.settings.listen import ClientKey, Listen
from toolwire.server.config.settings.option import Option
from toolwire.server.config.settings.repair import Repair
from toolwire.server.config.settings.route import RouteConfig
from toolwire.server.config.settings.sessions import NativeSettings, SessionSettings
from toolwire.server.config.settings.telemetry import Health, Log, TraceFiles
from toolwire.server.config.settings.timeouts import Retries, Timeouts
from toolwire.surfaces.passing.endpoints import DEFAULT_ENDPOINTS, Endpoint


class Config(msgspec.Struct, frozen=True):
    """The whole configuration, validated."""

    models: Annotated[tuple[RouteConfig, ...], Option("the models that are served")] = ()
    keys: Annotated[
        tuple[ClientKey, ...], Option("client keys; without any, no key is required")
    ] = ()
    listen: Annotated[Listen, Option("where Toolwire listens")] = Listen()
    limits: Annotated[ServerLimits, Option("sizes and counts")] = ServerLimits()
    timeouts: Annotated[Timeouts, Option("time limits")] = Timeouts()
    retries: Annotated[Retries, Option("retries of failed requests")] = Retries()
    repair: Annotated[Repair, Option("invalid calls")] = Repair()
    log: Annotated[Log, Option("logging")] = Log()
    health: Annotated[Health, Option("whether backends are there")] = Health()
    trace: Annotated[TraceFiles, Option("traces of requests")] = TraceFiles()
    embedded: Annotated[Embedded, Option("the embedded model")] = Embedded()
    sessions: Annotated[SessionSettings, Option("stored conversations")] = SessionSettings()
    native: Annotated[NativeSettings, Option("the native API")] = NativeSettings()
    history: Annotated[
        Literal["refuse", "repair"],
        Option(
            "a history whose calls and results do not match: refuse it, as OpenAI does, or repair "
            "it and report that"
        ),
    ] = "refuse"
    strict_parallel: Annotated[
        Literal["off", "validate"],
        Option(
            "strict tools and `parallel_tool_calls: true`: `off`: one call a turn; `validate`: "
            "several, each checked"
        ),
    ] = "off"
    passthrough: Annotated[
        tuple[Endpoint, ...],
        Option(
            "other `/v1/*` requests that are passed on to the backend: see below; `[]`: none",
            parse=values.endpoints,
        ),
    ] = values.endpoints(DEFAULT_ENDPOINTS)

    inspector: Annotated[
        bool,
        Option(
            "serve the [inspector](inspector.md) at `/inspector`; never served on an address other "
            "than loopback without client keys"
        ),
    ] = True

    @property
    def has_inspector(self) -> bool:
        """Whether the inspector is served: not to everybody who can reach this machine."""
        return self.inspector and (values.is_loopback(self.listen.host) or bool(self.keys))

    @property
    def serves_embedded(self) -> bool:
        """Whether any served model is the embedded one."""
        return any(b.is_embedded for route in self.models for b in route.backends)
