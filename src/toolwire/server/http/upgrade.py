"""Reads requests that offer a protocol upgrade as plain HTTP/1.1.

Java's HTTP client offers h2c with every first request to an `http://` address, body and all.
"""

from toolwire.surfaces.exchange import HttpRequest

_OFFER = (b"upgrade", b"http2-settings", b"connection")


def head_without_upgrade(request: HttpRequest) -> bytes:
    """Return the head of a request without the upgrade offer."""
    lines = [b"%b %b HTTP/1.1" % (request.method.encode("latin-1"), request.target)]
    lines += [b"%b: %b" % item for item in request.headers.items() if item[0] not in _OFFER]
    if b"close" in request.headers.get(b"connection", b"").lower():
        lines.append(b"connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n"
