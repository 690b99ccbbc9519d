"""The facts of one request, for headers, log and metrics; filled in as it goes."""

import msgspec

from toolwire.gateway.report import Report
from toolwire.protocol.usage import Usage


class RequestContext(msgspec.Struct):
    """What is known of one request, whatever surface it came in by."""

    request_id: str
    page: str = ""
    """The origin of the web page that may read the answer."""
    key_name: str | None = None
    profile: str = ""
    """What the surface does differently for this client, if anything."""
    model: str | None = None
    route: str = ""
    backend: str = ""
    mode: str = ""
    stream: bool = False
    report: Report | None = None
    """How the turn went, if there was one."""
    usage: Usage | None = None
    error: str | None = None

    def headers(self) -> list[tuple[str, str]]:
        """The headers that every answer has."""
        headers = [("x-request-id", self.request_id), ("toolwire-request-id", self.request_id)]
        if self.page:
            headers += [
                ("access-control-allow-origin", self.page),
                ("access-control-expose-headers", "*"),
                ("vary", "origin"),
            ]
        return headers
