"""The state of one request, for headers, logs and metrics. Filled in as it is processed."""

import msgspec

from toolwire.gateway.report import Report
from toolwire.protocol.usage import TokenUsage


class RequestContext(msgspec.Struct):
    """What is known about one request, on any surface."""

    request_id: str
    page: str = ""
    """The origin of the web page that may read the answer."""
    key_name: str | None = None
    profile: str = ""
    """The client profile, if the surface treats this client differently."""
    model: str | None = None
    route: str = ""
    backend: str = ""
    mode: str = ""
    """The tool strategy of the turn, for the header `toolwire-mode`."""
    stream: bool = False
    report: Report | None = None
    """The result of the turn, if there was one."""
    usage: TokenUsage | None = None
    error: str | None = None

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers of every answer."""
        headers = [("x-request-id", self.request_id), ("toolwire-request-id", self.request_id)]
        if self.page:
            headers += [
                ("access-control-allow-origin", self.page),
                ("access-control-expose-headers", "*"),
                ("vary", "origin"),
            ]
        return headers
