"""The settings of repairs and traces."""

from pathlib import Path

import pytest

from toolwire.server.config.loader import Config, ConfigError, load

MODEL = '[[models]]\nname = "*"\nbackend = { url = "http://localhost:1/v1" }\n'


def configured(folder: Path, text: str) -> Config:
    path = folder / "toolwire.toml"
    path.write_text(text + MODEL)
    return load(path, env={}, flags={})


def test_without_settings_everything_safe_is_on_and_nothing_is_traced(tmp_path: Path) -> None:
    config = configured(tmp_path, "")
    assert (config.repair.off, config.repair.ask_again, config.repair.streams) == ((), 1, "auto")
    assert config.trace.dir is None
    assert not config.trace.bodies


def test_rules_are_switched_off_by_name(tmp_path: Path) -> None:
    config = configured(tmp_path, '[repair]\noff = ["nested_json", "lenient_json"]\n')
    assert config.repair.off == ("nested_json", "lenient_json")


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no rule 'nested'.* nested_json"):
        configured(tmp_path, '[repair]\noff = ["nested"]\n')


def test_the_folder_of_traces_is_beside_the_file(tmp_path: Path) -> None:
    assert configured(tmp_path, '[trace]\ndir = "a/b"\n').trace.dir == tmp_path / "a" / "b"


def test_a_folder_that_cannot_be_one_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/traces"):
        with pytest.raises(ConfigError, match=r"cannot write into .*file"):
            configured(tmp_path, f'[trace]\ndir = "{place}"\n')
