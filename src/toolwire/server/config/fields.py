"""Reads one record of `settings` from one table of the file.

It checks types, ranges and keys, but not files and lines. An error is a `ConfigProblem` at a path;
`loader.py` finds its line.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import fields

from toolwire.server.config.settings import Config, Option
from toolwire.spelling import close_matches

At: TypeAlias = tuple[str | int, ...]
T = TypeVar("T")

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class ConfigProblem(Exception):
    """An error at path `at`; `text` says what is wrong, and what to do.

    It becomes a `ConfigError` once its line is known.
    """

    def __init__(self, at: At, text: str) -> None:
        super().__init__(text)
        self.at = at
        self.text = text
        self.more: tuple[ConfigProblem, ...] = ()
        """Other problems that were found at the same time."""


class Gathered:
    """Collects problems, so that all are reported at once.

    Use it in `with` statements around independent steps, then call `settle`.
    """

    def __init__(self) -> None:
        self.problems: list[ConfigProblem] = []

    def __enter__(self) -> None: ...

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, ConfigProblem):
            return False
        self.problems += [error, *error.more]
        return True

    def settle(self) -> None:
        """Raise the first problem, with the others, if there are any."""
        if self.problems:
            first, *more = self.problems
            first.more = tuple(more)
            raise first


class Setting(msgspec.Struct, frozen=True):
    """One field of a record: its type, its default, and its `Option`."""

    name: str
    kind: Any
    default: Any
    option: Option

    @property
    def required(self) -> bool:
        """Whether the file must set it."""
        return self.default is NODEFAULT

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys in the file."""
        return self.option.keys or (self.name,)


_SETTINGS: dict[type[Any], tuple[Setting, ...]] = {}
"""Known ones: resolving the types takes a while, and a file may have a thousand tables."""


def settings_of(cls: type[Any]) -> tuple[Setting, ...]:
    """Return the settings of a record, in order."""
    if cls not in _SETTINGS:
        _SETTINGS[cls] = tuple(_setting(field) for field in fields(cls))
    return _SETTINGS[cls]


def _setting(field: Any) -> Setting:
    kind, option = get_args(field.type)
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    return Setting(field.name, kind, default, option)


def setting_of(cls: type[Any], name: str) -> Setting:
    """Return one setting of a record."""
    return next(setting for setting in settings_of(cls) if setting.name == name)


def read(cls: type[T], table: object, at: At, made: Mapping[str, Any] = _NOTHING) -> T:
    """Build a `cls` from `table`. Fields in `made` are taken from there, not from the table."""
    items = as_table(table, at)
    settings, gathered = settings_of(cls), Gathered()
    _refuse_unknown(items, {key for setting in settings for key in setting.keys}, at, gathered)
    found = dict(made)
    for setting in settings:
        name = setting.name
        if name in made:
            continue
        with gathered:
            if name in items and name in setting.keys:
                found[name] = value(setting, items[name], (*at, name))
            elif setting.required:
                raise ConfigProblem(
                    at, f"{dotted(at)} has no '{name}': add it ({setting.option.help})"
                )
    gathered.settle()
    return cls(**found)


def as_table(table: object, at: At) -> dict[str, Any]:
    """Return `table` if it is one."""
    if not isinstance(table, dict):
        raise ConfigProblem(
            at, f"{dotted(at)} must be a table: write [{dotted(at)}] on a line above it"
        )
    return table


def as_tables(tables: object, at: At) -> list[Any]:
    """Return `tables` if it is a list, for an array of tables."""
    if not isinstance(tables, list):
        raise ConfigProblem(at, f"{dotted(at)} must be a list of tables: write [[{dotted(at)}]]")
    return tables


def value(setting: Setting, raw: object, at: At, source: str = "") -> Any:
    """Check one value against its setting, and return it converted."""
    try:
        if isinstance(raw, str):
            raw = dict(setting.option.aliases).get(raw, raw)
        typed = _typed(setting.kind, raw)
        _check_range(setting, typed)
        return setting.option.parse(typed) if setting.option.parse else typed
    except ValueError as problem:
        shown = setting.option.show(raw)
        raise ConfigProblem(at, f"{source or dotted(at)}{shown}: {problem}") from None


def from_text(setting: Setting, text: str) -> object:
    """Convert `text` from an environment variable to the setting's type, if possible."""
    if setting.kind is int and text.strip().isdecimal():
        return int(text)
    if setting.kind is bool and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    return text


def dotted(at: At) -> str:
    """Format a path: `models[0].backends[1].url`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).lstrip(".")


_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "must be true or false"),
    int: ((int,), "must be a whole number"),
    float: ((int, float), "must be a number"),
    str: ((str,), "must be a string in quotes"),
    Path: ((str, Path), "must be a path in quotes"),
    tuple: ((list, tuple), "must be a list of strings in quotes"),
    Mapping: ((dict,), 'must be a table of strings, such as { name = "value" }'),
}


def _typed(kind: Any, raw: object) -> Any:
    if isinstance(kind, UnionType) or type(None) in get_args(kind):  # X | None
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return _one_of(get_args(kind), raw)
    plain = get_origin(kind) or kind
    types, problem = _KINDS[plain]
    if not isinstance(raw, types) or (isinstance(raw, bool) and plain is not bool):
        raise ValueError(problem)
    if isinstance(raw, dict | list) and not all(isinstance(part, str) for part in _parts(raw)):
        raise ValueError(problem)
    return raw if plain is Mapping else plain(raw)


def _parts(raw: dict[Any, Any] | list[Any]) -> list[Any]:
    return list(raw.values()) if isinstance(raw, dict) else raw


def _one_of(choices: tuple[Any, ...], raw: object) -> object:
    if raw not in choices:
        raise ValueError("use one of " + ", ".join(f'"{choice}"' for choice in choices))
    return raw


def _check_range(setting: Setting, number: Any) -> None:
    low, high = setting.option.low, setting.option.high
    if low is None or high is None:
        return
    if not low <= number <= high:  # in this order, so that `nan` is refused
        raise ValueError(f"is out of range: use {low} to {high} (default {setting.default})")


def _refuse_unknown(items: Mapping[str, Any], known: set[str], at: At, gathered: Gathered) -> None:
    where = f" in [{dotted(at)}]" if at else ""
    for key in (key for key in items if key not in known):
        text = f"'{key}' is not a known key{where}: {_advice(key, known, at)}"
        gathered.problems.append(ConfigProblem((*at, key), text))


_KEY_ADVICE = (
    "keys are never in this file. Put the key into an environment variable and its NAME here: "
    'key_env = "OPENAI_API_KEY"'
)
_BACKEND_KEY_ADVICE = (
    "keys are never in this file. Put the key into an environment variable and its NAME beside the "
    'url of the backend: backend = { url = "...", key_env = "OPENAI_API_KEY" }'
)
_CLIENT_KEY_ADVICE = (
    "only the hash of a client's key is in this file, as sha256. `toolwire key NAME` prints both"
)
_SECRET = ("api_key", "apikey", "api_token")
_ELSEWHERE = (
    ((*_SECRET, "key", "token"), "key_env", _KEY_ADVICE),
    ((*_SECRET, "key", "token"), "sha256", _CLIENT_KEY_ADVICE),
    (_SECRET, "models", _BACKEND_KEY_ADVICE),
    (_SECRET, "backend", _BACKEND_KEY_ADVICE),
    (("base_url", "api_base", "endpoint", "host"), "url", "the base URL is called 'url'"),
    (("timeout", "request_timeout"), "timeouts", "see 'timeouts'"),
)
"""Other programs' names for a setting, a key that is known where it applies, and the advice."""


def _advice(key: str, known: set[str], at: At) -> str:
    for others, here, advice in _ELSEWHERE:
        if key in others and here in known:
            return advice
    if at and key in {setting.name for setting in settings_of(Config)}:
        return f"'{key}' is a top-level key: put it above the first [table]"
    near = close_matches(key, known, n=1)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"remove it, or use one of {', '.join(sorted(known))}"
