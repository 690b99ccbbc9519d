"""Variants in which the connection is silent, slow, or not kept."""

from dataclasses import replace
from itertools import chain

from tests.scripted.reply import Cut, Pause, Reply, Step
from tests.scripted.variants.base import Exchange, Variant


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
