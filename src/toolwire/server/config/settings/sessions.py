"""Stored conversations, and the native API that uses them."""

from typing import Annotated

import msgspec

from toolwire.server.config import values
from toolwire.server.config.secret import Secret
from toolwire.server.config.settings.option import DAY, KIB, MIB, Discreet, Option, seconds


class SessionSettings(Discreet, frozen=True):
    """Where conversations are stored, and how much of them: see [sessions](sessions.md)."""

    _hidden = frozenset({"store"})

    store: Annotated[
        str,
        Option(
            "`sqlite:PATH`, `redis://...`, `rediss://...`, `memory`, or `off`; default: a file in "
            "`$XDG_STATE_HOME/toolwire` or `~/.local/state/toolwire`",
            parse=values.store,
            show=values.without_credentials,
            env="TOOLWIRE_SESSIONS",
            flag="sessions",
        ),
    ] = values.DEFAULT_STORE
    ttl: Annotated[
        float, seconds("how long something is kept after it was last written", 3650 * DAY, 1)
    ] = 30.0 * DAY
    max_turns: Annotated[int, Option("maximum turns of a conversation", 1, 1_000_000)] = 1000
    max_bytes: Annotated[
        int, Option("maximum size of a conversation as it is stored", KIB, 256 * MIB)
    ] = 8 * MIB
    max_conversations: Annotated[
        int, Option("maximum number of conversations of a client key", 1, 100_000_000)
    ] = 10_000
    max_responses: Annotated[
        int,
        Option(
            "maximum number of stored responses of a client key; the oldest are deleted",
            1,
            100_000,
        ),
    ] = 1000
    responses_bytes: Annotated[
        int, Option("maximum size of these responses together", KIB, 1024 * 1024 * MIB)
    ] = 256 * MIB
    required: Annotated[bool, Option("whether `/readyz` fails while the store is unavailable")] = (
        False
    )


class NativeSettings(msgspec.Struct, frozen=True):
    """The native API: see [native-api](native-api.md)."""

    call_map_key: Annotated[
        Secret | None,
        Option(
            "NAME of the environment variable that holds the key that `toolwire-call-map` is "
            "signed with; default: a random key, which only works with a single process",
            keys=("call_map_key_env",),
        ),
    ] = None
