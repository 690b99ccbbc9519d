"""Changes inputs: by bytes, by words that mean something to the parser, and by values of JSON."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LONGEST = 16 << 10
_NUMBERS = (b"0", b"-1", b"1e999", b"4294967296", b"9" * 400, b"1.5", b"-0", b"01", b"NaN")
_BYTES = (b"\x00", b"\xff", b"\r", b"\n", b"\r\n", b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",")
_BYTES += (b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\\u0000", b"\xe2\x80\xa8")
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**18, 10**400, "", "x", "\x00", "\ud800", "é" * 40, [], {},
    [[]], [None], {"": None}, {"type": "object"}, "9" * 50, [1, "a", None, {}],
)  # fmt: skip


def mutated(data: bytes, others: Sequence[bytes], words: Sequence[bytes], random: Random) -> bytes:
    """The input with one to four changes."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        if data[:1] in (b"{", b"[") and random.random() < 0.4:
            data = _other_json(data, random)
        else:
            data = random.choice(_CHANGES)(data, others, words, random)
    return data[:LONGEST]


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _span(data: bytes, random: Random) -> tuple[int, int]:
    start = _place(data, random)
    return start, min(len(data), start + random.choice((1, 1, 2, 4, 8, 32, 128, 1024)))


Change = Callable[[bytes, Sequence[bytes], Sequence[bytes], Random], bytes]


def _flip(data: bytes, _o: Sequence[bytes], _w: Sequence[bytes], random: Random) -> bytes:
    at = _place(data, random)
    return data[:at] + bytes([random.randrange(256)]) + data[at + 1 :]


def _drop(data: bytes, _o: Sequence[bytes], _w: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _cut(data: bytes, _o: Sequence[bytes], _w: Sequence[bytes], random: Random) -> bytes:
    return data[: _place(data, random)]


def _repeat(data: bytes, _o: Sequence[bytes], _w: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    times = random.choice((1, 2, 3, 20, 200, 1000))
    return data[:start] + data[start:end] * min(times, LONGEST // max(1, end - start)) + data[end:]


def _move(data: bytes, _o: Sequence[bytes], _w: Sequence[bytes], random: Random) -> bytes:
    start, end = _span(data, random)
    rest = data[:start] + data[end:]
    at = _place(rest, random)
    return rest[:at] + data[start:end] + rest[at:]


def _say(data: bytes, _o: Sequence[bytes], words: Sequence[bytes], random: Random) -> bytes:
    word = random.choice((*words, *_BYTES, *_NUMBERS))
    start, end = _span(data, random)
    return data[:start] + word + data[random.choice((start, start, end)) :]


def _splice(data: bytes, others: Sequence[bytes], _w: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    return data[: _place(data, random)] + other[_place(other, random) :]


_CHANGES: tuple[Change, ...] = (
    _flip, _drop, _cut, _repeat, _move, _say, _say, _say, _splice, _splice,
)  # fmt: skip


def _other_json(data: bytes, random: Random) -> bytes:
    """The same JSON with one value taken out, doubled, or another in its place."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return data
    holders = list(_holders(value))
    if not holders:
        return data
    holder = random.choice(holders)
    key = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    act = random.randrange(4)
    if act == 0:
        del holder[key]
    elif act == 1:
        holder[key] = random.choice(_VALUES)
    elif act == 2:
        holder[key] = [holder[key], holder[key]] if random.random() < 0.5 else {"a": holder[key]}
    else:
        other = random.choice(holders)
        holder[key] = json.loads(json.dumps(other))
    return json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def _holders(value: Any) -> Any:
    pending = [value]
    while pending:
        here = pending.pop()
        if isinstance(here, dict | list) and here:
            yield here
            pending += here.values() if isinstance(here, dict) else here
