"""The settings of repairs, traces and sessions."""

from pathlib import Path

import pytest

from toolwire.server.config.loader import Config, ConfigError, load, secrets_of

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


# Sessions.


def test_conversations_are_stored_in_a_file_by_default(tmp_path: Path) -> None:
    sessions = configured(tmp_path, "").sessions
    assert (sessions.store, sessions.ttl, sessions.required) == ("sqlite:", 30 * 86400, False)
    assert (sessions.max_turns, sessions.max_conversations) == (1000, 10_000)


def test_a_store_can_be_given_in_a_word_or_with_its_limits(tmp_path: Path) -> None:
    assert configured(tmp_path, 'sessions = "memory"\n').sessions.store == "memory"
    sessions = configured(tmp_path, '[sessions]\nstore = "off"\nttl = 60\n').sessions
    assert (sessions.store, sessions.ttl) == ("off", 60)


def test_the_file_of_sessions_is_beside_the_configuration(tmp_path: Path) -> None:
    assert configured(tmp_path, 'sessions = "sqlite:a/b.db"\n').sessions.store == (
        f"sqlite:{tmp_path}/a/b.db"
    )
    absolute = configured(tmp_path, 'sessions = "sqlite:/a/b.db"\n').sessions.store
    assert absolute == "sqlite:/a/b.db"


def test_a_flag_wins_over_a_variable_for_the_store() -> None:
    env = {"TOOLWIRE_SESSIONS": "redis://:planted@h:6379/0"}
    assert load(None, env=env, flags={"sessions": "memory"}).sessions.store == "memory"
    config = load(None, env=env, flags={})
    assert config.sessions.store == "redis://:planted@h:6379/0"
    assert list(secrets_of(config)) == ["planted"]
    assert "planted" not in repr(config)
    assert "planted" not in str(config.sessions.__rich_repr__())


@pytest.mark.parametrize(
    ("store", "parts"),
    [
        ("postgres://h/db", ["sessions.store", "redis://HOST:6379/0", "sqlite:PATH"]),
        ("sessions.db", ["sqlite:PATH"]),
        ("redis://", ["no valid host"]),
        ("redis://:planted@h:99999/0", ["no valid host and port", "***@h"]),
    ],
)
def test_a_store_that_does_not_exist_is_refused(
    store: str, parts: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, f'sessions = "{store}"\n')
    assert caught.value.line == 1
    assert "planted" not in str(caught.value)
    assert [part for part in parts if part not in str(caught.value)] == []


def test_redis_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwire.server.config.values.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[redis\]' in a clone"):
        configured(tmp_path, 'sessions = "redis://localhost"\n')
