"""Model aliases: applies `--model-alias`, and checks that each name means one model."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from toolwire.gateway.routes import is_pattern
from toolwire.server.config.fields import At, ConfigProblem, dotted, setting_of, value
from toolwire.server.config.settings import Config, RouteConfig


def with_aliases(config: Config, env: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """Add each `ALIAS=MODEL` to the model's route, or to a new route if any name is served."""
    given, source = flags.get("model_alias"), "--model-alias"
    if not given:
        given, source = env.get("TOOLWIRE_MODEL_ALIAS", "").split(), "TOOLWIRE_MODEL_ALIAS"
    routes = {route.name: route for route in config.models}
    for text in given:
        alias, _, name = text.partition("=")
        route = routes.get(name)
        if route is None:
            route = _named(routes, name, f"{source} {text}")
        aliases = value(setting_of(RouteConfig, "aliases"), [alias], (), source)
        routes[name] = replace(route, aliases=(*route.aliases, *aliases))
    models = tuple(routes.values())
    refuse_shared_names(models, [()] * len(models))
    return replace(config, models=models)


def _named(routes: Mapping[str, RouteConfig], name: str, source: str) -> RouteConfig:
    """Return a separate route for a model that the route "*" serves."""
    if not name or is_pattern(name):
        raise ConfigProblem((), f"{source}: use ALIAS=MODEL, such as claude-*=qwen3-coder")
    if "*" not in routes:
        raise ConfigProblem(
            (), f"{source}: there is no model '{name}': use one of {', '.join(routes)}"
        )
    return replace(routes["*"], name=name, aliases=())


def refuse_shared_names(routes: Sequence[RouteConfig], places: Sequence[At]) -> None:
    """Refuse an alias that is also a name or an alias of some route."""
    taken = {route.name: route.name for route in routes}
    for route, place in zip(routes, places, strict=True):
        for alias in route.aliases:
            if alias in taken:
                owner = "this model" if taken[alias] == route.name else f"'{taken[alias]}'"
                text = f'"{alias}" is already a name of {owner}: give each name to one model, once'
                at = (*place, "aliases") if place else ()
                raise ConfigProblem(at, f"{dotted(at) or '--model-alias'}: {text}")
            taken[alias] = route.name
