"""Traces on disk: bounded, private, and never in the way."""

import logging
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolwire.gateway.trace.records import TurnTrace
from toolwire.server.telemetry.trace_store import TraceStore


def store(folder: Path, *, max_bytes: int = 1 << 20, bodies: bool = True) -> TraceStore:
    return TraceStore(folder, max_bytes=max_bytes, bodies=bodies, redact=lambda text: text)


def trace(number: int, body: bytes = b"{}") -> TurnTrace:
    return TurnTrace(f"req_{number:032x}", body, 1.5, profile="default")


def test_each_request_has_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    traces = store(tmp_path / "new" / "traces")
    traces.keep(trace(1))
    traces.close()
    (path,) = (tmp_path / "new" / "traces").iterdir()
    assert path.name == f"req_{1:032x}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_oldest_make_room_for_the_newest(tmp_path: Path) -> None:
    traces = store(tmp_path, max_bytes=10 * 4096)
    for number in range(40):
        traces.keep(trace(number))
    traces.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    # Each takes a block of the disk, so that their number is bounded, too.
    assert names == [f"req_{number:032x}.json" for number in range(30, 40)]


def test_files_of_an_earlier_process_count(tmp_path: Path) -> None:
    (tmp_path / "req_old.json").write_text("x" * 4000)
    (tmp_path / "mine.json").write_text("x" * 4000)
    traces = store(tmp_path, max_bytes=4096)
    traces.keep(trace(1))
    traces.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.json", f"req_{1:032x}.json"]


def test_a_trace_larger_than_all_room_is_not_written(tmp_path: Path) -> None:
    traces = store(tmp_path, max_bytes=2048)
    traces.keep(trace(1, b'"' + b"x" * 5000 + b'"'))
    traces.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_no_reason_to_fail(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    traces = store(folder)
    folder.rmdir()
    traces.keep(trace(1))
    traces.close()
    assert not folder.exists()


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file of this process can be larger than `room`, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_nothing_of_a_trace_behind(tmp_path: Path) -> None:
    traces = store(tmp_path)
    with full_disk(100):
        traces.keep(trace(1))
        traces.close()
    assert list(tmp_path.iterdir()) == []


def test_traces_are_written_again_when_there_is_room(tmp_path: Path) -> None:
    traces = store(tmp_path)
    with full_disk(100):
        for number in range(300):
            traces.keep(trace(number))
        traces.close()
    traces = store(tmp_path)
    traces.keep(trace(1000))
    traces.close()
    assert [path.name for path in tmp_path.iterdir()] == [f"req_{1000:032x}.json"]


def test_a_full_disk_is_said_once_a_minute(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = iter([1000.0 + 25 * second for second in range(5)])
    traces = TraceStore(
        tmp_path, max_bytes=1 << 20, bodies=True, redact=str, clock=lambda: next(now)
    )
    with full_disk(100), caplog.at_level(logging.WARNING, "toolwire.trace"):
        for number in range(5):
            traces.keep(trace(number))
        traces.close()
    assert [record.getMessage() for record in caplog.records] == [
        "a trace was not written: File too large",
        "3 traces were not written: File too large",
    ]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "req_1.json.part").write_text("{")
    (tmp_path / "mine.part").write_text("{")
    store(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.part"]


def test_the_traces_of_a_folder_can_be_read_again_the_newest_first(tmp_path: Path) -> None:
    traces = store(tmp_path)
    for number in range(3):
        traces.keep(trace(number))
    traces.close()
    (tmp_path / "other.json").write_text("{}")
    later = store(tmp_path)
    assert set(later.newest(5)) == {f"req_{number:032x}" for number in range(3)}
    assert b'"request_id"' in (later.load(f"req_{2:032x}") or b"")
    assert later.load("other") is None
    assert later.load("../req") is None


def test_traces_that_wait_for_a_slow_disk_do_not_fill_memory(tmp_path: Path) -> None:
    traces, disk = store(tmp_path), threading.Event()
    traces._worker.submit(disk.wait)
    for number in range(20):
        traces.keep(trace(number, b'"' + bytes(10 << 20) + b'"'))
    assert traces._waiting == 6  # of 10 MiB each
    disk.set()
    traces.close()
    assert (traces._waiting, traces._waiting_bytes) == (0, 0)
