"""Commits turns until it is killed: a counter in each of some conversations, and a line on stdout
for every commit that was confirmed.

    python writer.py STORE OWNER CONVERSATIONS
"""

import asyncio
import sys

from toolwire.errors import ConversationBusy
from toolwire.sessions.base import Key
from toolwire.sessions.open import open_store

PADDING = b" " * 20_000
"""So that a commit takes a while, and kills hit it."""


async def write(address: str, owner: str, conversations: int) -> None:
    """Count up in every conversation, forever."""
    store = open_store(address)
    assert store is not None
    turn = 0
    while True:
        turn += 1
        key = Key("conversation", owner, f"conv_{turn % conversations}")
        try:
            claim = await store.claim(key, 1.0)
        except ConversationBusy:
            continue
        count = int(claim.value or b"0") + 1
        await store.commit(claim, b"%d" % count + PADDING, 3600)
        sys.stdout.write(f"{key.id} {count}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
