"""What is asked of every subject: the table of load patterns.

`together` puts mock and load client on the gateway's own core. With one request at a time,
or with streams that are mostly silent, nothing is lost by that, since they take turns
anyway; what goes away is the waking of a sleeping core, which on a virtual machine costs
several times what nginx does and would make every gateway look as good as nginx.
"""

from dataclasses import dataclass, replace

from harness.payload import body, wish

CHUNKS = 200
STREAMS = 20
EVERY_US = 10_000


@dataclass(frozen=True)
class Scenario:
    """One load pattern: until `seconds` have passed or `requests` were made."""

    name: str
    body: bytes
    connections: int = 1
    seconds: float = 0
    requests: int = 0
    stagger_us: int = 0
    together: bool = False
    only_through: bool = False  # not worth measuring without a gateway
    path: str = "/v1/chat/completions"


LATENCY = Scenario("latency", body(wish()), together=True)
SATURATE = Scenario("saturate", body(wish()), connections=16)
# The same answer for both, in words, so that the request alone differs; and one connection,
# because with several the CPU time depends on how many requests a wake-up finds waiting.
TOOLS = Scenario("tools", body(wish(reply="text")), together=True, only_through=True)
PLAIN = Scenario("plain", body(wish(reply="text"), tools=0), together=True, only_through=True)
PACED = Scenario(
    "paced",
    body(wish(chunks=CHUNKS, every_us=EVERY_US), stream=True),
    connections=STREAMS,
    requests=STREAMS,
    stagger_us=EVERY_US // STREAMS,
    together=True,
    only_through=True,
)
# The same call, written as text in a format that the gateway has to read.
WRITTEN = replace(
    PACED, name="written", body=body(wish(CHUNKS, EVERY_US, reply="hermes"), stream=True)
)
# Short streams, so that many of them begin while the others are running.
FIRST = Scenario(
    "first",
    body(wish(chunks=10, every_us=EVERY_US), stream=True),
    connections=STREAMS,
    stagger_us=9 * EVERY_US // STREAMS,
    only_through=True,
)


def timed(seconds: float) -> tuple[Scenario, ...]:
    """Return all scenarios of Chat Completions, those that run for a time with that time set."""
    lengths = {LATENCY: 0.8, SATURATE: 1.2, TOOLS: 0.8, PLAIN: 0.8, FIRST: 1.2}
    return (
        *(replace(scenario, seconds=seconds * share) for scenario, share in lengths.items()),
        PACED,
        WRITTEN,
    )


def warm_ups(scenarios: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
    """Return short runs that bring every code path and cache to temperature."""
    others = tuple(one for one in scenarios if one.seconds and one.path != LATENCY.path)
    kinds = (SATURATE, TOOLS, PLAIN, FIRST, *others)
    return tuple(replace(kind, seconds=0.25) for kind in kinds)
