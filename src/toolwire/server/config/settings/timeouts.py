"""How long everything may take, and how often it is tried."""

from typing import Annotated

import msgspec

from toolwire.server.config.settings.option import Option, seconds


class Timeouts(msgspec.Struct, frozen=True):
    """Time limits, in seconds."""

    connect: Annotated[float, seconds("connecting to a backend", 600)] = 10.0
    first_token: Annotated[float, seconds("waiting for a backend's first token")] = 600.0
    idle: Annotated[float, seconds("silence of a backend within its answer")] = 300.0
    total: Annotated[float, seconds("a whole request, including retries")] = 3600.0
    keepalive: Annotated[
        float, seconds("silence after which a stream gets a keepalive comment", 3600)
    ] = 15.0
    header: Annotated[float, seconds("receiving the head of a request", 600)] = 10.0
    body: Annotated[float, seconds("silence of a client within its request body")] = 10.0
    write: Annotated[float, seconds("a client that does not read its answer")] = 60.0
    idle_connection: Annotated[float, seconds("a client connection without a request")] = 75.0
    queue: Annotated[
        float,
        seconds(
            "how long a request may wait in the queue under overload before it gets a 503; a tenth "
            "of this if the overload lasts",
            600,
        ),
    ] = 5.0
    shutdown: Annotated[float, seconds("finishing answers at shutdown", low=0)] = 25.0


class Retries(msgspec.Struct, frozen=True):
    """Retries of a failed request, as long as nothing has been sent to the client."""

    attempts: Annotated[int, Option("retries after the first attempt; 0: none", 0, 20)] = 2
    backoff: Annotated[
        float, Option("seconds before the first retry; doubled each time", 0, 60)
    ] = 0.25
    max_retry_after: Annotated[
        float, Option("longest `Retry-After`, in seconds, to wait for", 0, 600)
    ] = 10.0
