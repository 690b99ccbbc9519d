"""Reads the file's `[[models]]` and `[[keys]]`, whose values depend on more than their own table.

A backend's key comes from the environment, its name from its URL, its time limits from the common
ones, and names must be unique.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from toolwire.backends.templates.chat_template import ChatTemplate, NoTemplate, read_template
from toolwire.backends.tokenizers import SERVER, NoTokenizer, open_tokenizer
from toolwire.server.access import auth
from toolwire.server.config import values
from toolwire.server.config.aliases import refuse_shared_names
from toolwire.server.config.fields import (
    At,
    ConfigProblem,
    Gathered,
    as_table,
    as_tables,
    dotted,
    read,
)
from toolwire.server.config.secret import Secret
from toolwire.server.config.settings import BackendConfig, ClientKey, RouteConfig, Timeouts


def read_keys(tables: object) -> tuple[ClientKey, ...]:
    """Read the client keys."""
    placed, gathered, read_ones = _placed(tables, ("keys",)), Gathered(), []
    for at, table in placed:
        with gathered:
            read_ones.append(read(ClientKey, table, at))
    gathered.settle()
    keys = tuple(read_ones)
    places = [at for at, _ in placed]
    _refuse_twice((key.name for key in keys), places, "name")
    _refuse_twice((key.sha256 for key in keys), places, "sha256", show=values.hidden)
    return keys


class RouteReader(msgspec.Struct, frozen=True):
    """Reads the routes, with the values that come from outside their tables."""

    env: Mapping[str, str]
    timeouts: Timeouts
    folder: Path = Path()
    """The folder that paths are relative to."""

    def routes(self, tables: object) -> tuple[RouteConfig, ...]:
        """Read the served models."""
        placed, gathered, routes = _placed(tables, ("models",)), Gathered(), []
        for at, table in placed:
            with gathered:
                routes.append(self._route(as_table(table, at), at))
        gathered.settle()
        _refuse_twice((route.name for route in routes), (at for at, _ in placed), "name")
        refuse_shared_names(routes, [at for at, _ in placed])
        return tuple(routes)

    def _route(self, table: dict[str, Any], at: At) -> RouteConfig:
        if "backend" in table and "backends" in table:
            raise ConfigProblem((*at, "backend"), "give either 'backend' or 'backends', not both")
        gathered, backends, made = Gathered(), list[BackendConfig](), dict[str, Any]()
        with gathered:
            if "backend" in table:
                backends = [self._backend(table["backend"], (*at, "backend"))]
            else:
                backends = self._backends(table.get("backends", []), at)
        made["backends"] = with_names(backends)
        with gathered:
            route = read(RouteConfig, table, at, made)
        gathered.settle()
        if route.tokenizer not in (None, SERVER):
            route = replace(route, tokenizer=self._tokenizer(route.tokenizer or "", at))
        if route.mode == "native" and any(b.chat_template is not None for b in backends):
            text = 'a prompt has no tools of its own: with chat_template use "auto" or "prompted"'
            raise ConfigProblem((*at, "mode"), f"{dotted((*at, 'mode'))}: {text}")
        return route

    def _tokenizer(self, path: str, at: At) -> str:
        found = self.folder / Path(path).expanduser()
        try:
            open_tokenizer(found)
        except NoTokenizer as error:
            place = (*at, "tokenizer")
            raise ConfigProblem(place, f"{dotted(place)}: {error}") from None
        return str(found)

    def _backends(self, tables: object, at: At) -> list[BackendConfig]:
        placed = _placed(tables, (*at, "backends"))
        if not placed:
            advice = 'add backend = { url = "http://host:8000/v1" }'
            raise ConfigProblem(at, f"{dotted(at)} has no backend: {advice}")
        gathered, backends = Gathered(), []
        for place, table in placed:
            with gathered:
                backends.append(self._backend(table, place))
        gathered.settle()
        named = [(b.name, place) for b, (place, _) in zip(backends, placed, strict=True) if b.name]
        _refuse_twice((name for name, _ in named), (place for _, place in named), "name")
        return backends

    def _backend(self, table: object, at: At) -> BackendConfig:
        items = as_table(table, at)
        made: dict[str, Any] = {}
        gathered = Gathered()
        if "key_env" in items:
            made["key"] = None
            with gathered:
                made["key"] = key_from(items["key_env"], self.env, (*at, "key_env"))
        if "timeouts" in items:
            own = read(Timeouts, items["timeouts"], (*at, "timeouts"))
            given = {name: getattr(own, name) for name in items["timeouts"]}
            made["timeouts"] = replace(self.timeouts, **given)
        if "chat_template" in items:
            place = (*at, "chat_template")
            made["chat_template"] = template_from(items["chat_template"], self.folder, place)
        with gathered:
            backend = read(BackendConfig, items, at, made)
        gathered.settle()
        if backend.chat_template is not None and backend.is_embedded:
            text = "the embedded model has its chat template in its file: leave it out"
            raise ConfigProblem((*at, "chat_template"), f"{dotted((*at, 'chat_template'))}: {text}")
        return backend


def with_names(backends: Iterable[BackendConfig]) -> tuple[BackendConfig, ...]:
    """Return the backends of a route. Those without a name are named after their host."""
    named: dict[str, BackendConfig] = {}
    for backend in backends:
        host = urlsplit(backend.url).netloc or "embedded"
        name, number = backend.name or host, 1
        while name in named:
            number += 1
            name = f"{host}-{number}"
        named[name] = replace(backend, name=name)
    return tuple(named.values())


def key_from(variable: object, env: Mapping[str, str], at: At, source: str = "") -> Secret:
    """Read a backend's key from the environment variable named `variable`."""
    source = source or dotted(at)
    try:
        name = values.variable(variable)
    except ValueError as problem:
        raise ConfigProblem(at, f"{source}: {problem}") from None
    if name not in env:
        # A key put here by mistake may look like a variable name, but not in capitals.
        shown = f" {name}" if name.isupper() else ""
        raise ConfigProblem(
            at, f"{source}: environment variable{shown} is not set: export it first"
        )
    key = env[name].strip()
    if not auth.is_usable(key):
        raise ConfigProblem(
            at, f"{source}: the variable must hold a key of visible ASCII, no spaces"
        )
    return Secret(key)


def template_from(path: object, folder: Path, at: At, source: str = "") -> ChatTemplate:
    """Read the chat template in the file at `path`."""
    source = source or dotted(at)
    if not isinstance(path, str | Path) or not os.fspath(path):
        raise ConfigProblem(at, f"{source} must be a path in quotes")
    try:
        return read_template(folder / Path(path).expanduser())
    except NoTemplate as error:
        raise ConfigProblem(at, f"{source}: {error}") from None


def _placed(tables: object, at: At) -> list[tuple[At, Any]]:
    return [((*at, number), table) for number, table in enumerate(as_tables(tables, at))]


def _refuse_twice(
    values: Iterable[str], places: Iterable[At], key: str, *, show: Any = values.plain
) -> None:
    seen = set()
    for value, place in zip(values, places, strict=True):
        at = (*place, key)
        if value in seen:
            raise ConfigProblem(at, f"{dotted(at)}{show(value)} is used twice: make it unique")
        seen.add(value)
