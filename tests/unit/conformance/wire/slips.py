"""What models do to a format without meaning to, and what must still be read."""

import json
from collections.abc import Iterator

from tests.unit.conformance.wire.parts import Call, Calls
from tests.unit.conformance.wire.scenarios import TIME, TOKYO, Case, entry
from tests.unit.conformance.wire.values import json_text
from tests.unit.conformance.wire.wire import Wire

LETTERS = Call("get_weather", {"city": '東京 🎉 "é"', "days": 2})


def json_layout(wire: Wire) -> Iterator[Case]:
    """The same JSON with other spaces and escapes."""
    if not wire.json:
        return
    text = wire.write((Calls((LETTERS,)),))
    plain = json_text(LETTERS.args)
    yield entry(
        "escaped_letters",
        7,
        text.replace(plain, json.dumps(LETTERS.args)),
        calls=(LETTERS,),
        note="llama.cpp#16465, #15713, PR #13786: an escape may be cut anywhere",
    )
    yield entry(
        "json_over_lines",
        2,
        text.replace(plain, json.dumps(LETTERS.args, indent=2, ensure_ascii=False)),
        calls=(LETTERS,),
        note="hermes-agent#443, vllm PR #47503: JSON may stand on several lines",
    )


def json_members(wire: Wire) -> Iterator[Case]:
    """Members of a call in another order, and arguments that were encoded twice."""
    if not wire.key:
        return
    text = wire.write((Calls((TOKYO,)),))
    args = json_text(TOKYO.args)
    yield entry(
        "arguments_encoded_twice",
        4,
        text.replace(args, json_text(args)),
        calls=(TOKYO,),
        note="vllm#54964, flama#258, Qwen3-Coder#444: JSON in a string is decoded once",
    )
    turned = json_text({wire.key: TOKYO.args, "name": TOKYO.name})
    yield entry(
        "arguments_first",
        2,
        text.replace(json_text({"name": TOKYO.name, wire.key: TOKYO.args}), turned),
        calls=(TOKYO,),
        note="the order of the members means nothing",
    )


def missing_ends(wire: Wire) -> Iterator[Case]:
    """End markers that never come."""
    text = wire.write((Calls((TOKYO,)),))
    note = "a call that is complete needs no end marker"
    if wire.json or wire.closer:
        end = "}" if wire.json else wire.closer
        cut = text[: text.rindex(end) + len(end)]
        if cut != text:
            yield entry("no_end_marker", 2, cut, calls=(TOKYO,), note=note)
    both = wire.write((Calls((TOKYO, TIME)),))
    if wire.closer in wire.call(0, TOKYO) and wire.closer and not wire.untyped:
        open_ended = both.replace(wire.closer, "", 1)
        note = "llama.cpp#12153: the next opener ends a call that was left open"
        yield entry("next_opener_closes", 3, open_ended, calls=(TOKYO, TIME), note=note)


SLIPS = (json_layout, json_members, missing_ends)
