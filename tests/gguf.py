"""Makes a GGUF file of another, with other facts in its head: the same weights in other clothes."""

import shutil
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_ALIGNMENT = 32


def dressed(source: Path, target: Path, facts: Mapping[str, str]) -> Path:
    """Copy a model, with these strings set in its head."""
    with source.open("rb") as given, target.open("wb") as made:
        magic, version, tensors, count = struct.unpack("<4sIQQ", given.read(24))
        entries = dict(_entries(given, count))
        entries |= {key: struct.pack("<I", _STRING) + _text(text) for key, text in facts.items()}
        head = given.tell()
        for _ in range(tensors):
            _pass_tensor(given)
        infos = _between(given, head)
        made.write(struct.pack("<4sIQQ", magic, version, tensors, len(entries)))
        made.writelines(_text(key) + value for key, value in entries.items())
        made.write(infos)
        made.write(bytes(-made.tell() % _ALIGNMENT))
        given.seek(-given.tell() % _ALIGNMENT, 1)
        shutil.copyfileobj(given, made, 1 << 22)
    return target


def _entries(file: IO[bytes], count: int) -> Iterator[tuple[str, bytes]]:
    """Each key with its type and value, as bytes."""
    for _ in range(count):
        key = file.read(_number(file, "Q")).decode()
        begin = file.tell()
        _pass_value(file, _number(file, "I"))
        yield key, _between(file, begin)


def _pass_value(file: IO[bytes], kind: int) -> None:
    if kind == _STRING:
        file.seek(_number(file, "Q"), 1)
    elif kind == _ARRAY:
        kind, count = _number(file, "I"), _number(file, "Q")
        if kind != _STRING:
            file.seek(_SIZES[kind] * count, 1)
            return
        for _ in range(count):
            file.seek(_number(file, "Q"), 1)
    else:
        file.seek(_SIZES[kind], 1)


def _pass_tensor(file: IO[bytes]) -> None:
    file.seek(_number(file, "Q"), 1)
    dimensions = _number(file, "I")
    file.seek(8 * dimensions + 4 + 8, 1)


def _between(file: IO[bytes], begin: int) -> bytes:
    """The bytes from `begin` to where the file is now."""
    end = file.tell()
    file.seek(begin)
    return file.read(end - begin)


def _number(file: IO[bytes], code: str) -> int:
    value: int
    (value,) = struct.unpack("<" + code, file.read(struct.calcsize("<" + code)))
    return value


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
