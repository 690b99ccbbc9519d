"""Decides who may enter: by the origin, the key, and the room that is left."""

from toolwire.errors import Overloaded, ShuttingDown
from toolwire.server.access.auth import Admission, Keyring
from toolwire.server.access.web_guard import WebGuard
from toolwire.server.config.settings import Config
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.metrics import Metrics


class Gate:
    """Checks requests. Set `draining` to refuse new ones during shutdown."""

    def __init__(self, config: Config, logs: Logs, metrics: Metrics) -> None:
        keys = Keyring(config.keys)
        self.draining = False
        self.origin = WebGuard(config.listen, open=keys.open).check
        """Returns the origin of the web page that sends a request, if any. Raises `Forbidden`."""
        self.key_name = Admission(keys, logs.see).name
        """Returns the name of a request's key, if keys are needed. Raises `Unauthorized`."""
        self._in_flight = metrics.in_flight
        self._most_requests = config.limits.requests

    def check_room(self) -> None:
        """Raise `GatewayError` if no further request may enter."""
        if self.draining:
            raise ShuttingDown("The server is shutting down. Try again.")
        if self._in_flight.value > self._most_requests:
            raise Overloaded(
                f"This server is already handling {self._most_requests} requests, its limit "
                "(limits.requests). Try again later."
            )
