"""Variants in which an answer breaks off: a reset, a close, an end or an error too early.

A break happens to the first POST; `:N` and `:always` change that.
"""

import json
from dataclasses import replace

from tests.scripted.reply import Cut, Reply, Step, error_body, json_reply
from tests.scripted.variants.base import Exchange, Variant

ERROR = error_body("Scripted failure.", type="server_error", code="scripted_failure")
HEAD = b'"function": {"name"'


class _Break(Variant):
    """Breaks the answer off in the middle, once, and ends with something else."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        if reply.status != 200 or not self.happens(exchange):
            return reply
        if reply.framing == "length":
            return self.break_whole(reply, exchange)
        return replace(reply, steps=(*reply.steps[: self.place(reply.steps)], *self.end(exchange)))

    def break_whole(self, reply: Reply, exchange: Exchange) -> Reply:
        """Break a reply that is not streamed."""
        return replace(reply, steps=(reply.body[: len(reply.body) // 2], *self.end(exchange)))

    def place(self, steps: tuple[Step, ...]) -> int:
        """Choose how many steps of a stream are still taken."""
        return len(steps) // 2

    def end(self, exchange: Exchange) -> tuple[Step, ...]:
        """Choose what comes instead of the rest."""
        return ()


class _InCall(_Break):
    """Breaks off after the second delta of the last call; in the middle if there is no call."""

    def place(self, steps: tuple[Step, ...]) -> int:
        heads = [i for i, step in enumerate(steps) if isinstance(step, bytes) and HEAD in step]
        return heads[-1] + 2 if heads else super().place(steps)


class MidstreamCut(_Break, name="midstream_cut"):
    """The connection is reset in the middle of the answer, once."""

    def end(self, exchange: Exchange) -> tuple[Step, ...]:
        return (Cut("reset"),)


class MidstreamClose(_Break, name="midstream_close"):
    """The connection is closed in the middle of the answer, with no end of the body, once."""

    def end(self, exchange: Exchange) -> tuple[Step, ...]:
        return (Cut("close"),)


class CutEarly(MidstreamCut, name="cut_early"):
    """The connection is reset after the first chunk, before anything is said, once."""

    def place(self, steps: tuple[Step, ...]) -> int:
        return 1


class CutInCall(_InCall, MidstreamCut, name="cut_in_call"):
    """The connection is reset between the arguments of a call, once."""


class EofEarly(_Break, name="eof_early"):
    """The body ends properly, but after the first chunk, before anything is said, once."""

    def place(self, steps: tuple[Step, ...]) -> int:
        return 1

    def break_whole(self, reply: Reply, exchange: Exchange) -> Reply:
        half = reply.body[: len(reply.body) // 2]
        return replace(reply, steps=(half,), length=len(half))


class EofInCall(_InCall, EofEarly, name="eof_in_call"):
    """The body ends properly, but between the arguments of a call, and nothing follows, once."""


class DoneInCall(EofInCall, name="done_in_call"):
    """`[DONE]` comes between the arguments of a call, once."""

    def end(self, exchange: Exchange) -> tuple[Step, ...]:
        return (b"data: [DONE]\n\n",)


class MidstreamFailure(_Break, name="midstream_error"):
    """An error event ends the stream in the middle (or a 200 body is an error), once."""

    def end(self, exchange: Exchange) -> tuple[Step, ...]:
        return (b"data: %s\n\n" % json.dumps(self.error(exchange)).encode(),)

    def break_whole(self, reply: Reply, exchange: Exchange) -> Reply:
        return json_reply(self.error(exchange))

    def error(self, exchange: Exchange) -> object:
        """Make the body of the error."""
        return ERROR


class MidstreamKeyFailure(MidstreamFailure, name="midstream_error_key"):
    """As midstream_error, with a text that holds the key that was presented, once."""

    def error(self, exchange: Exchange) -> object:
        return error_body(f"Quota of key {exchange.key} is spent.", type="insufficient_quota")


class MidstreamOddFailure(MidstreamFailure, name="midstream_error_event"):
    """As midstream_error, but as an `event: error` whose data is not in OpenAI's form, once."""

    def end(self, exchange: Exchange) -> tuple[Step, ...]:
        return (b'event: error\ndata: {"message": "Scripted failure.", "code": 500}\n\n',)
