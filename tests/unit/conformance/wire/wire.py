"""How one format puts a turn on the wire."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from tests.unit.conformance.wire.parts import Call, Calls, Text, Think, Turn, WriteCall


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A format that marks calls inside one stream of text.

    `opener` is what a call begins with, `closer` what ends one, `value_closer` what ends a value,
    if anything does. `think` and `text` stand around reasoning and text. `behind`: text may stand
    behind calls. `by_schema`: the type of a value is in the schema alone. `live`: arguments can be
    passed on as they arrive. `untyped`: values without a schema are strings, nested ones too.
    `json`: the arguments are JSON, and `key` is what they are called if the name stands beside
    them.
    """

    format: str
    call: WriteCall
    before: str = ""
    between: str = ""
    after: str = ""
    opener: str = ""
    closer: str = ""
    value_closer: str = ""
    think: tuple[str, str] | None = ("<think>\n", "\n</think>\n\n")
    text: tuple[str, str] = ("", "")
    behind: bool = True
    by_schema: bool = False
    live: bool = True
    untyped: bool = False
    json: bool = False
    key: str = ""

    def write(self, turn: Turn) -> str:
        """The turn as the model writes it."""
        numbers = count()
        return "".join(self._part(part, numbers) for part in turn)

    def broken(self, text: str) -> str:
        """What is left as content of a call that is broken off: everything."""
        return text

    def broken_behind(self, call: Call, text: str) -> str:
        """What is left of a text that holds this call and then a broken one."""
        return text.removeprefix((self.before + self.call(0, call)).rstrip())

    def _part(self, part: Text | Think | Calls, numbers: Iterator[int]) -> str:
        if isinstance(part, Calls):
            written = [self.call(next(numbers), call) for call in part.calls]
            return self.before + self.between.join(written) + self.after
        around = self.text if isinstance(part, Text) else self.think
        assert around is not None
        return around[0] + part.text + around[1]


@dataclass(frozen=True, kw_only=True)
class MessageWire(Wire):
    """A format of typed messages: `start` stands between them, as the prompt ended with one.

    What is left of a broken call is its body, because its header was understood.
    """

    start: str
    header_end: str
    message: Callable[[Text | Think], str]

    def write(self, turn: Turn) -> str:
        """The turn as the model writes it."""
        numbers = count()
        messages = (message for part in turn for message in self._messages(part, numbers))
        return self.start.join(messages)

    def broken(self, text: str) -> str:
        """What is left as content of a call that is broken off: its body."""
        return text.partition(self.header_end)[2]

    def broken_behind(self, call: Call, text: str) -> str:
        """What is left of a text that holds this call and then a broken one."""
        return self.broken(text.removeprefix(self.call(0, call) + self.start))

    def _messages(self, part: Text | Think | Calls, numbers: Iterator[int]) -> list[str]:
        if isinstance(part, Calls):
            return [self.call(next(numbers), call) for call in part.calls]
        return [self.message(part)]


def templated(template: str, arguments: Callable[[Call], str]) -> WriteCall:
    """A call by a template with NAME, NUMBER and ARGS in it."""

    def write(number: int, call: Call) -> str:
        head = template.replace("NAME", call.name).replace("NUMBER", str(number))
        return head.replace("ARGS", arguments(call))

    return write
