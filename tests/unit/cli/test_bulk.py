import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolwire.cli import main
from toolwire.cli.reports.lines import Lines

CALL = '<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>'


def bulk(lines: str | bytes, *words: str) -> Result:
    words = ("parse", "--format", "hermes", "--jsonl", "-", *words)
    return CliRunner().invoke(main, [*words], input=lines)


def objects(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout_bytes.splitlines()]


class Pieces(io.RawIOBase):
    """Gives one piece for each read, as a pipe does."""

    def __init__(self, *pieces: bytes) -> None:
        self.left = list(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.left.pop(0) if self.left else b""
        buffer[: len(piece)] = piece
        return len(piece)


def test_whole_lines_are_handed_on_before_more_is_read() -> None:
    raw = Pieces(b"a\nb\nc", b"c", b"c\n\nd\n", b"e")
    lines = iter(Lines(io.BufferedReader(raw), 1024))
    assert next(lines) == b"a\nb\n"
    assert len(raw.left) == 3
    assert list(lines) == [b"ccc\n\nd\n", b"e"]


def test_a_line_in_is_a_line_out_with_its_members() -> None:
    line = json.dumps({"id": 7, "text": f"Ok.{CALL}", "more": {"x": [1]}})
    result = bulk(line + "\n")
    (found,) = objects(result)
    assert (found["id"], found["more"]) == (7, {"x": [1]})
    assert (found["format"], found["content"], found["reasoning"]) == ("hermes", "Ok.", None)
    assert found["calls"] == [{"name": "f", "arguments": {"n": 1}, "id": None}]
    assert result.exit_code == 0
    assert "1 lines, 0 bad" in result.stderr


def test_a_bare_string_is_a_text() -> None:
    assert objects(bulk(json.dumps(f"a{CALL}")))[0]["content"] == "a"


def test_a_line_may_have_a_format_and_tools_of_its_own() -> None:
    tool = {"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}
    tagged = "<function=f>\n<parameter=n>\n5\n</parameter>\n</function>"
    lines = [{"text": tagged, "format": "qwen3_xml", "tools": [tool]}, {"text": CALL}]
    first, second = objects(bulk("\n".join(map(json.dumps, lines))))
    assert first["format"] == "qwen3_coder"
    assert first["calls"][0]["arguments"] == {"n": 5}
    assert second["calls"][0]["arguments"] == {"n": 1}


def test_the_format_of_each_line_can_be_found() -> None:
    lines = [{"text": CALL, "format": "auto"}, {"text": "[TOOL_CALLS]f{}", "format": "auto"}]
    found = objects(bulk("\n".join(map(json.dumps, lines))))
    assert found[0]["format"] == "hermes"
    assert found[1]["format"].startswith("mistral")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json", "not an object"),
        (b"", "empty"),
        (b"[1]", "not an object"),
        (b"{}", "no 'text'"),
        (b'{"text": 5}', "text"),
        (b'{"text": "a", "format": "nope"}', "'nope'"),
        (b'{"text": "a", "format": 5}', "format"),
        (b'{"text": "a", "tools": 5}', "tools"),
        (b'{"text": "\xff"}', "invalid start byte"),
        (b'{"text": "a", "more": "\xff"}', "invalid start byte"),
        (b'"unfinished', "text"),
        (b"[" * 100_000, "not an object"),
    ],
)
def test_a_bad_line_is_reported_counted_and_passed_through(line: bytes, message: str) -> None:
    good = json.dumps({"text": "x"}).encode()
    result = bulk(b"\n".join([good, line, good]) + b"\n")
    found = objects(result)
    assert [o.get("content") for o in found] == ["x", None, "x"]
    assert message in found[1]["error"]
    assert found[1]["input"] == line.decode("utf-8", "backslashreplace")
    assert "line 2: " in result.stderr
    assert "3 lines, 1 bad" in result.stderr
    assert result.exit_code == 1


def test_many_bad_lines_are_counted_but_not_all_shown() -> None:
    result = bulk("x\n" * 100)
    assert len(objects(result)) == 100
    assert result.stderr.count("line ") == 20
    assert "100 lines, 100 bad" in result.stderr


def test_numbers_stay_as_they_are_written() -> None:
    line = '{"id": 12345678901234567890123, "x": 1.10, "text": "a"}'
    assert b'"id":12345678901234567890123,"x":1.10' in bulk(line).stdout_bytes


def test_an_empty_file_gives_an_empty_file() -> None:
    result = bulk("")
    assert (result.stdout, result.exit_code) == ("", 0)


def test_a_file_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(main, ["parse", "--jsonl", "/no/such.jsonl"])
    assert result.exit_code == 2
    assert "cannot read /no/such.jsonl" in result.stderr


def command(path: Path, *words: str) -> list[str]:
    parse = [sys.executable, "-m", "toolwire", "parse", "--format", "hermes"]
    return [*parse, "--jsonl", str(path), *words]


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        for number in range(4000):
            bad = number % 1000 == 999
            text = "x" * (number % 97) + CALL
            file.write("oops\n" if bad else json.dumps({"id": number, "text": text}) + "\n")
    return path


@pytest.mark.process
def test_several_processes_keep_the_order_and_lose_nothing(large_file: Path) -> None:
    result = subprocess.run(command(large_file, "--jobs", "2"), capture_output=True, check=False)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [o.get("id") for o in found] == [
        None if number % 1000 == 999 else number for number in range(4000)
    ]
    assert b"line 1000: " in result.stderr
    assert b"line 4000: " in result.stderr
    assert b"4000 lines, 4 bad" in result.stderr
    assert result.returncode == 1


@pytest.mark.process
def test_ctrl_c_ends_it_cleanly_with_whole_lines(tmp_path: Path) -> None:
    fifo, out = tmp_path / "pipe", tmp_path / "out.jsonl"
    os.mkfifo(fifo)
    line = json.dumps({"text": CALL * 20}).encode() + b"\n"
    words = command(fifo, "--jobs", "2")
    with (
        out.open("wb") as stdout,
        subprocess.Popen(
            words, stdout=stdout, stderr=subprocess.PIPE, start_new_session=True
        ) as process,
        fifo.open("wb") as writer,
    ):
        while out.stat().st_size == 0:  # until it is at work
            writer.write(line * 100)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted after" in errors
    assert b"Traceback" not in errors
    assert all(json.loads(one)["calls"] for one in out.read_bytes().splitlines())


@pytest.mark.process
def test_a_reader_that_leaves_early_is_no_error(large_file: Path) -> None:
    with subprocess.Popen(
        command(large_file, "--jobs", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    assert b"Traceback" not in errors
