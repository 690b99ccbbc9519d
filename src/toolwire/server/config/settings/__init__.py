"""The configuration's records: every setting with its default, its range and its help text.

`docs/configuration.md` and the error messages use these help texts. `loader.py` turns a file, the
environment and the flags into these records. There is a module for each section of the file, or for
a few that belong together.
"""

from toolwire.server.config.settings.backend import BackendConfig
from toolwire.server.config.settings.config import Config
from toolwire.server.config.settings.embedded import Embedded
from toolwire.server.config.settings.limits import ServerLimits
from toolwire.server.config.settings.listen import ClientKey, Listen
from toolwire.server.config.settings.option import Option, seconds
from toolwire.server.config.settings.repair import Repair
from toolwire.server.config.settings.route import RouteConfig
from toolwire.server.config.settings.sessions import NativeSettings, SessionSettings
from toolwire.server.config.settings.telemetry import Health, Log, TraceFiles
from toolwire.server.config.settings.timeouts import Retries, Timeouts

__all__ = [
    "BackendConfig",
    "ClientKey",
    "Config",
    "Embedded",
    "Health",
    "Listen",
    "Log",
    "NativeSettings",
    "Option",
    "Repair",
    "Retries",
    "RouteConfig",
    "ServerLimits",
    "SessionSettings",
    "Timeouts",
    "TraceFiles",
    "seconds",
]
