from pathlib import Path

import pytest

from toolwire.backends.embedded.cores import default_threads, usable_cores


def test_there_is_always_a_thread_and_never_more_than_half_the_cores() -> None:
    assert 1 <= default_threads() <= max(1, usable_cores() / 2)


@pytest.mark.parametrize(("quota", "cores"), [("50000 100000", 0.5), ("100000 100000", 1.0)])
def test_a_container_has_the_cores_of_its_quota(quota: str, cores: float, tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    assert usable_cores(file) == cores


@pytest.mark.parametrize("quota", ["max 100000", "", "100000 0", "nonsense"])
def test_without_a_quota_all_cores_count(quota: str, tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text(quota)
    assert usable_cores(file) == usable_cores(tmp_path / "missing")
