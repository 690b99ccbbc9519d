"""How much clients may send, and backends may answer."""

from typing import Annotated

import msgspec

from toolwire.protocol.json_limits import MOST_VALUES
from toolwire.server.config.settings.option import KIB, MIB, Option


class ServerLimits(msgspec.Struct, frozen=True):
    """How much clients may send and backends may answer."""

    body_bytes: Annotated[int, Option("maximum size of a request body", KIB, 1024 * MIB)] = 10 * MIB
    bodies_bytes: Annotated[
        int,
        Option(
            "maximum size of all request bodies together; a body counts until its answer ends; "
            "bodies of up to 64 KiB are always accepted",
            MIB,
            1024 * 1024 * MIB,
        ),
    ] = 256 * MIB
    header_bytes: Annotated[int, Option("maximum size of a request's head", KIB, MIB)] = 64 * KIB
    headers: Annotated[int, Option("maximum number of headers in a request", 10, 1000)] = 100
    sse_line_bytes: Annotated[
        int, Option("maximum length of a line that a backend streams", KIB, 256 * MIB)
    ] = 8 * MIB
    answer_bytes: Annotated[
        int,
        Option(
            "maximum size of a backend's answer; what is not streamed to the client is held in "
            "memory until its end",
            KIB,
            1024 * 1024 * MIB,
        ),
    ] = 64 * MIB
    depth: Annotated[int, Option("maximum nesting of JSON in a request", 8, 512)] = 128
    values: Annotated[
        int,
        Option(
            "maximum number of values (members of objects, elements of arrays) in the JSON of a "
            "request; reading more would block other clients",
            1000,
            100_000_000,
        ),
    ] = MOST_VALUES
    messages: Annotated[int, Option("maximum number of messages in a request", 1, 1_000_000)] = (
        10_000
    )
    tools: Annotated[int, Option("maximum number of tools in a request", 1, 10_000)] = 128
    tool_bytes: Annotated[int, Option("maximum size of a tool's definition", KIB, 64 * MIB)] = (
        512 * KIB
    )
    connections: Annotated[
        int,
        Option(
            "maximum number of client connections; beyond it, the one that has been idle for "
            "longest is closed",
            1,
            1_000_000,
        ),
    ] = 2048
    requests: Annotated[
        int,
        Option(
            "maximum number of concurrent requests; more get a 503 with `Retry-After`", 1, 1_000_000
        ),
    ] = 1024
    strict_properties: Annotated[
        int, Option("maximum number of properties in the schema of a strict tool", 1, 100_000)
    ] = 100
    strict_depth: Annotated[
        int, Option("maximum nesting in the schema of a strict tool", 1, 100)
    ] = 5
    schema_cache_bytes: Annotated[
        int, Option("memory for compiled tool schemas; 0 disables the cache", 0, 1024 * MIB)
    ] = 32 * MIB
