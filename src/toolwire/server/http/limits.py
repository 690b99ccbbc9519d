"""The limits of a client connection."""

import msgspec


class HttpLimits(msgspec.Struct, frozen=True):
    """The limits of a client connection. Times in seconds, sizes in bytes."""

    header_bytes: int = 64 * 1024
    headers: int = 100
    body_bytes: int = 10 * 1024 * 1024
    bodies_bytes: int = 256 * 1024 * 1024
    connections: int = 2048
    header_seconds: float = 10.0
    body_seconds: float = 10.0
    write_seconds: float = 60.0
    idle_seconds: float = 75.0
    queue_seconds: float = 5.0
