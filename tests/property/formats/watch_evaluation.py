"""Reads every hostile argument in every format, watched by an audit hook. Run as a program.

A hook cannot be removed, hence a process of its own. It prints how many texts were read and every
event that something was evaluated, opened or reached; `broken` reads with a parser that does.
"""

import sys
from collections.abc import Iterator
from itertools import cycle

from cases import parse, standard_tools
from hostile import CORPUS

from toolwire.formats import Delivery, Parser, RenderedCall, extract, get, names, render_calls
from toolwire.protocol.events import Event

_PLACE = "PLACEHOLDER"
_EVENTS = ("exec", "compile", "open", "os.", "subprocess.", "socket.", "import", "ctypes.", "pty.")
DELIVERIES: tuple[Delivery, Delivery] = ("live", "whole")
events: list[str] = []


def _hook(event: str, args: tuple[object, ...]) -> None:
    if event.startswith(_EVENTS):
        events.append(f"{event} {str(args)[:80]}")


class Compiling(Parser):
    """Makes code while it reads, as a parser once did."""

    def feed(self, text: str) -> list[Event]:
        compile("1", "model text", "eval")
        return super().feed(text)


def texts(name: str) -> Iterator[str]:
    """The arguments as a value of this format, without its quotes, and between them unescaped."""
    place = render_calls(name, [RenderedCall("get_time", {"tz": _PLACE}, "0")])
    bare = place.replace(f'"{_PLACE}"', _PLACE).replace(f"'{_PLACE}'", _PLACE)
    for argument in CORPUS:
        yield place.replace(_PLACE, argument)
        yield bare.replace(_PLACE, argument)


def check_exact(name: str) -> None:
    """What is written properly comes back to the letter."""
    for argument in CORPUS[:: len(CORPUS) // 40]:
        call = RenderedCall("get_time", {"tz": argument}, "0")
        found = extract(name, render_calls(name, [call]), standard_tools())
        assert [c.decoded() for c in found.calls] == [{"tz": argument}], (name, argument)


def main(*, broken: bool) -> None:
    chosen = names()[:1] if broken else names()
    every = {name: list(texts(name)) for name in chosen}
    tools, make = standard_tools(), Compiling if broken else Parser
    sys.addaudithook(_hook)
    for name, written in every.items():
        for text, delivery in zip(written, cycle(DELIVERIES), strict=False):
            parse(make(get(name), tools, delivery=delivery), [text])
        check_exact(name)
    found = list(events)
    sys.stdout.write("\n".join([str(sum(map(len, every.values()))), *found]))


if __name__ == "__main__":
    main(broken="broken" in sys.argv)
