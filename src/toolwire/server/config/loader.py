"""Loads the typed configuration from the file, then the environment, then the flags.

A later source overrides an earlier one, for each setting. All errors are reported here, before
anything listens, with the file, the line, the key and what to do.
"""

import os
import re
import ssl
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from toolwire.server.config.fields import ConfigProblem, Gathered, read
from toolwire.server.config.models import RouteReader, key_from, read_keys
from toolwire.server.config.overrides import SECTIONS, known_flags, with_overrides
from toolwire.server.config.secret import Secret
from toolwire.server.config.settings import (
    BackendConfig,
    ClientKey,
    Config,
    Embedded,
    Listen,
    Log,
    Repair,
    Retries,
    RouteConfig,
    ServerLimits,
    SessionSettings,
    Timeouts,
)
from toolwire.server.config.toml_lines import find_line
from toolwire.server.config.values import DEFAULT_STORE, SQLITE, is_loopback

__all__ = [
    "BackendConfig",
    "ClientKey",
    "Config",
    "ConfigError",
    "Embedded",
    "Listen",
    "Log",
    "Repair",
    "Retries",
    "RouteConfig",
    "Secret",
    "ServerLimits",
    "SessionSettings",
    "Timeouts",
    "load",
    "secrets_of",
]

_SECRET_HEADER = re.compile("key|token|secret|auth|cookie|password", re.IGNORECASE)
_TOML_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class ConfigError(Exception):
    """The configuration is invalid. The message says where, what is wrong and what to do."""

    def __init__(self, message: str, path: Path | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)
        self.message = message
        self.path = path
        self.line = line
        self.errors: tuple[ConfigError, ...] = (self,)
        """All errors, in the order of the file."""


class ConfigErrors(ConfigError):
    """The configuration is invalid in several places."""

    def __init__(self, errors: Iterable[ConfigError]) -> None:
        found = tuple(sorted(errors, key=lambda error: error.line or 0))
        listed = "".join(f"\n  {error}" for error in found)
        super().__init__(f"{len(found)} things are wrong with the configuration:{listed}")
        self.path, self.line = found[0].path, found[0].line
        self.errors = found


def load(path: Path | None, *, env: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """Read the configuration. `flags` maps a flag's name to its value; None is "not given"."""
    if unknown := set(flags) - known_flags():
        raise TypeError(f"no such flags: {', '.join(sorted(unknown))}")
    text = _read_text(path)
    try:
        gathered, config = Gathered(), Config()
        with gathered:
            config = _from_file(_parse(text, path), path, env)
        with gathered:
            config = with_overrides(config, env, flags)
        gathered.settle()
        _check_whole(config)
    except ConfigProblem as problem:
        errors = [_located(one, text, path) for one in (problem, *problem.more)]
        raise (errors[0] if len(errors) == 1 else ConfigErrors(errors)) from None
    return config


def _located(problem: ConfigProblem, text: str, path: Path | None) -> ConfigError:
    """Add the location in the file to an error, unless it concerns a flag or a variable."""
    if not problem.at:
        return ConfigError(problem.text)
    return ConfigError(problem.text, path, find_line(text, problem.at))


def secrets_of(config: Config) -> Iterator[str]:
    """Yield every secret value of the configuration."""
    for backend in (backend for route in config.models for backend in route.backends):
        if backend.key is not None:
            yield backend.key.reveal()
        yield from (v for name, v in backend.headers.items() if _SECRET_HEADER.search(name))
    if config.native.call_map_key is not None:
        yield config.native.call_map_key.reveal()
    if "@" in config.sessions.store:
        yield unquote(urlsplit(config.sessions.store).password or "")


def _read_text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_bytes().decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text: save it as UTF-8", path) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"cannot be read ({reason}): check the path", path) from None


def _parse(text: str, path: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        advice = "strings need quotes, a table's name needs [brackets]"
        raise ConfigError(f"is not valid TOML: {error}; {advice}", path, line) from None


def _from_file(tree: dict[str, Any], path: Path | None, env: Mapping[str, str]) -> Config:
    if isinstance(tree.get("sessions"), str):
        tree = {**tree, "sessions": {"store": tree["sessions"]}}
    gathered = Gathered()
    made: dict[str, Any] = {name: getattr(Config(), name) for name in SECTIONS}
    for name in SECTIONS:
        with gathered:
            made[name] = read(type(made[name]), tree.get(name, {}), (name,))
    if path is not None:
        made["listen"] = _beside(path, made["listen"], "tls_cert", "tls_key")
        made["trace"] = _beside(path, made["trace"], "dir")
        made["embedded"] = _beside(path, made["embedded"], "gguf")
        made["sessions"] = _store_beside(path, made["sessions"])
    if "call_map_key_env" in (native := tree.get("native", {})):
        place = ("native", "call_map_key_env")
        with gathered:
            key = key_from(native["call_map_key_env"], env, place)
            made["native"] = replace(made["native"], call_map_key=key)
    made |= {"keys": (), "models": ()}
    with gathered:
        made["keys"] = read_keys(tree.get("keys", []))
    with gathered:
        made["models"] = _routes_of(path, env, made["timeouts"]).routes(tree.get("models", []))
    config = Config()
    with gathered:
        config = read(Config, tree, (), made)
    gathered.settle()
    if "embedded" in tree and config.models and not config.serves_embedded:
        advice = 'give one of them backend = { url = "embedded:" }'
        raise ConfigProblem(("embedded",), f"none of the [[models]] uses [embedded]: {advice}")
    return config


def _routes_of(path: Path | None, env: Mapping[str, str], timeouts: Timeouts) -> RouteReader:
    return RouteReader(env, timeouts, path.parent if path is not None else Path())


def _beside(path: Path, record: Any, *names: str) -> Any:
    """Resolve paths relative to the file."""
    given = {name: getattr(record, name) for name in names}
    return replace(record, **{name: at and path.parent / at for name, at in given.items()})


def _store_beside(path: Path, sessions: SessionSettings) -> SessionSettings:
    if sessions.store == DEFAULT_STORE or not sessions.store.startswith(SQLITE):
        return sessions
    return replace(sessions, store=f"{SQLITE}{path.parent / sessions.store.removeprefix(SQLITE)}")


def _check_whole(config: Config) -> None:
    """Check rules between settings."""
    listen = config.listen
    gguf = config.embedded.gguf
    if gguf is not None and not gguf.is_file():
        raise ConfigProblem(
            ("embedded", "gguf"), f"no file at {gguf}: check the path of the model file"
        )
    _check_trace(config.trace.dir)
    if not (is_loopback(listen.host) or config.keys or listen.public):
        raise ConfigProblem(
            ("listen", "host"),
            f'listen.host = "{listen.host}" can be reached from other machines and no client keys '
            "are configured: add [[keys]] or set TOOLWIRE_API_KEY, listen on 127.0.0.1, "
            "or allow everybody with public = true (--public)",
        )
    _check_tls(listen.tls_cert, listen.tls_key)


def _check_tls(cert: Path | None, key: Path | None) -> None:
    if cert is None and key is None:
        return
    if cert is None or key is None:
        raise ConfigProblem(("listen",), "listen.tls_cert and listen.tls_key go together: set both")
    for file in (cert, key):
        if not file.is_file():
            raise ConfigProblem(
                ("listen",), f"no file at {file}: check listen.tls_cert and tls_key"
            )
    try:
        # Without a password callback, OpenSSL would prompt at every start.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except OSError as error:
        why = getattr(error, "reason", None) or "OpenSSL cannot read them"
        raise ConfigProblem(
            ("listen", "tls_cert"),
            f"{cert} and {key} cannot be used for TLS ({why}): "
            "give a certificate chain and its private key, both PEM and without a pass phrase",
        ) from None


def _check_trace(folder: Path | None) -> None:
    if folder is None:
        return
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise ConfigProblem(
            ("trace", "dir"), f"cannot write into {folder}: give trace.dir another folder"
        )
