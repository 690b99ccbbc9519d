"""Traces on disk: bounded, private, and never in the way."""

import stat
from pathlib import Path

from toolwire.gateway.trace import TurnTrace
from toolwire.server.trace_store import TraceStore


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
    traces = store(tmp_path, max_bytes=4096)
    for number in range(40):
        traces.keep(trace(number))
    traces.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert 0 < len(names) < 40
    assert names[-1] == f"req_{39:032x}.json"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4096


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
