"""Variants in which the connection is silent, slow, or ends at the wrong place.

The faults in the middle of a stream happen to the first POST; `:N` and `:always` change that.
"""

import json
from dataclasses import replace
from itertools import chain
from typing import ClassVar

from tests.scripted.reply import Cut, Pause, Reply, Step, error_body, json_reply
from tests.scripted.variants.base import Exchange, Variant

ERROR = error_body("Scripted failure.", type="server_error", code="scripted_failure")
HEAD = b'"function": {"name"'


class _Broken(Variant):
    """Breaks the answer off, once: in the middle of it or between the arguments of a call."""

    end: ClassVar[tuple[Step, ...]] = ()
    in_call: ClassVar[bool] = False

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        if reply.status != 200 or not self.happens(exchange):
            return reply
        if reply.framing == "length":
            return self.break_whole(reply)
        place = _inside_call(reply.steps) if self.in_call else len(reply.steps) // 2
        return replace(reply, steps=(*reply.steps[:place], *self.end))

    def break_whole(self, reply: Reply) -> Reply:
        """Break a reply that is not streamed."""
        return replace(reply, steps=(reply.body[: len(reply.body) // 2], *self.end))


class MidstreamCut(_Broken, name="midstream_cut"):
    """The connection is reset in the middle of the answer, once."""

    end = (Cut("reset"),)


class MidstreamClose(_Broken, name="midstream_close"):
    """The connection is closed in the middle of the answer, with no end of the body, once."""

    end = (Cut("close"),)


class CutInCall(MidstreamCut, name="cut_in_call"):
    """The connection is reset between the arguments of a call, once."""

    in_call = True


class EofInCall(_Broken, name="eof_in_call"):
    """The body ends properly, but between the arguments of a call, and nothing follows, once."""

    in_call = True

    def break_whole(self, reply: Reply) -> Reply:
        half = reply.body[: len(reply.body) // 2]
        return replace(reply, steps=(half,), length=len(half))


class DoneInCall(EofInCall, name="done_in_call"):
    """`[DONE]` comes between the arguments of a call, once."""

    end = (b"data: [DONE]\n\n",)


class MidstreamFailure(_Broken, name="midstream_error"):
    """An error event ends the stream in the middle (or a 200 body is an error), once."""

    end = (b"data: %s\n\n" % json.dumps(ERROR).encode(),)

    def break_whole(self, reply: Reply) -> Reply:
        return json_reply(ERROR)


class MidstreamOddFailure(MidstreamFailure, name="midstream_error_event"):
    """As midstream_error, but as an `event: error` whose data is not in OpenAI's form, once."""

    end = (b'event: error\ndata: {"message": "Scripted failure.", "code": 500}\n\n',)


class HangHeaders(Variant, name="hang_headers"):
    """Nothing ever comes, not even the status line."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, before=(Pause(),))


class HangFirst(Variant, name="hang_first"):
    """The headers come, and then nothing."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, steps=(Pause(), *reply.steps))


class HangMid(Variant, name="hang_mid"):
    """Half the answer comes, and then nothing."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, steps=_halved(reply, Pause()))


class HangEnd(Variant, name="hang_end"):
    """The whole answer comes, `[DONE]` too, but the body never ends."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, steps=(*reply.steps, Pause()), framing="chunked")


class Silence(Variant, name="silence"):
    """Nothing comes for `:N` seconds (20) after the headers; then the answer."""

    default_arg = "20"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, steps=(Pause(float(self.arg)), *reply.steps))


class SilenceHeaders(Silence, name="silence_headers"):
    """Nothing comes for `:N` seconds (20), headers included; then the answer."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, before=(Pause(float(self.arg)),))


class SilenceMid(Silence, name="silence_mid"):
    """Nothing comes for `:N` seconds (20) in the middle of the answer."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, steps=_halved(reply, Pause(float(self.arg))))


class Slow(Variant, name="slow"):
    """There are `:N` milliseconds (50) before each event."""

    default_arg = "50"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        pause = Pause(float(self.arg) / 1000)
        return replace(reply, steps=tuple(chain.from_iterable((pause, s) for s in reply.steps)))


class Refuse(Variant, name="refuse"):
    """The connection is reset instead of an answer, once."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, before=(Cut(),)) if self.happens(exchange) else reply


class SaidClose(Variant, name="said_close"):
    """The connection is closed after the reply, as its `connection: close` says."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, headers=(*reply.headers, ("connection", "close")))


class SilentClose(Variant, name="silent_close"):
    """The connection is closed after the reply though nothing said that it would be."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, after=(Cut("close"),))


def _halved(reply: Reply, pause: Pause) -> tuple[Step, ...]:
    if reply.framing == "length":
        body = reply.body
        return (body[: len(body) // 2], pause, body[len(body) // 2 :])
    middle = len(reply.steps) // 2
    return (*reply.steps[:middle], pause, *reply.steps[middle:])


def _inside_call(steps: tuple[Step, ...]) -> int:
    """The place after the second delta of the last call; the middle if there is no call."""
    heads = [place for place, step in enumerate(steps) if isinstance(step, bytes) and HEAD in step]
    return heads[-1] + 2 if heads else len(steps) // 2
