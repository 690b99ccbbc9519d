"""The output of a backend, before it is normalized.

A backend decodes its wire format into fragments, and `gateway.native` turns them into events.
Nothing is guaranteed here: ids may repeat, indexes may be wrong, and names may be split.
"""

from typing import Any

import msgspec

from toolwire.protocol.usage import TokenUsage

MOST_CALLS = 1024
"""Maximum number of calls in one choice. A model that makes more is in a loop."""
MOST_CHOICES = 128
"""Maximum number of choices in one answer; clients cannot request more."""
STOPPED_BY = "stopped_by"
"""The key in `Fragment.about` for the stop sequence that ended the answer."""
ENDED_BY = "ended_by"
"""The key in `Fragment.about` for why the answer ended, if a finish reason is less exact."""
CONTEXT_FULL = "context_full"
PAUSED = "paused"
"""Values of `ENDED_BY`: the context is full, rather than the token limit reached; and the server
waits for the client before it goes on with its own tools."""


ENCRYPTED_REASONING = "encrypted_reasoning"
"""The name in `Fragment.extras` for reasoning that only the backend can read, as a string."""


class CallFragment(msgspec.Struct, frozen=True, gc=False):
    """One delta of one native call, as the backend sent it. `arguments` may be any JSON value."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    custom: bool = False


class Fragment(msgspec.Struct, frozen=True):
    """One delta of one choice. `extras` are other message fields, as verbatim JSON.

    `gap`: the backend sent something unreadable here. `about`: metadata of the whole answer, such
    as its `system_fingerprint`.
    """

    choice: int = 0
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallFragment, ...] = ()
    finish: str | None = None
    usage: TokenUsage | None = None
    logprobs: bytes = b""
    extras: tuple[tuple[str, bytes], ...] = ()
    gap: bool = False
    about: tuple[tuple[str, str], ...] = ()

    @property
    def of_no_choice(self) -> bool:
        """Whether the fragment describes the answer as a whole."""
        said = self.text or self.reasoning or self.calls or self.finish or self.extras
        return (self.usage is not None or bool(self.about)) and not said and not self.gap
