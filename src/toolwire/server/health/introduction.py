"""Describes each backend, for the output at start.

For each model: how it is given tools, in which format its calls are expected, and why.
"""

from collections.abc import Iterator

import msgspec

from toolwire.backends.base import Backend
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.server.config.settings import BackendConfig, Config, RouteConfig

MOST_MODELS = 12

_UNTOLD = {"auto": "it could not be identified: dialect openai"}
_MODES = {
    "native": "the server's own tools",
    "hybrid": "the server's own tools, and calls in its text",
    "prompted": "written into the prompt",
}


class ServedBackend(msgspec.Struct, frozen=True):
    """A backend of a model: its configuration and the object."""

    route: RouteConfig
    config: BackendConfig
    model: ServedModel
    backend: Backend

    @property
    def wanted(self) -> str | None:
        """The one model that the backend is asked for; None: the client's choice."""
        return self.config.model or self.route.fixed_name


def served_backends(config: Config, routes: Routes) -> Iterator[ServedBackend]:
    """Yield every backend of every model."""
    for route, model in zip(config.models, routes.models, strict=True):
        for settings, backend in zip(route.backends, model.pool.backends, strict=True):
            yield ServedBackend(route, settings, model, backend)


def introduce(served: ServedBackend, names: list[str], about: str) -> str:
    """Return the lines about a backend that answered; `names` are its models."""
    config, wanted = served.config, served.wanted
    kind = about or _UNTOLD.get(config.dialect, f"dialect {config.dialect}, as configured")
    lines = [f"  {config.url} answers ({kind})"]
    if wanted is not None and names and wanted not in names:
        lines.append(f"    it lists no model '{wanted}', only: {_listed(names)}")
    shown = [wanted] if wanted is not None else names[:MOST_MODELS]
    for name in shown:
        lines += _model(served.model, served.backend, name)
    if not shown:
        lines.append("    it lists no models: clients have to know their names")
    if wanted is None and len(names) > MOST_MODELS:
        lines.append(f"    and {len(names) - MOST_MODELS} more models")
    return "\n".join(lines)


def missing(config: BackendConfig, reason: str) -> str:
    """Return the line about a backend that did not answer."""
    return (
        f"  Nothing usable answers at {config.url}: {reason}\n"
        "    Toolwire tries it again, at each request and every few seconds."
    )


def _model(model: ServedModel, backend: Backend, name: str) -> Iterator[str]:
    strategies = model.strategies
    mode, why = strategies.mode_of(backend, name)
    yield f"    {name}"
    yield f"      tools: {_MODES[mode]} (mode {mode}: {why})"
    if mode != "native":
        found = strategies.format_of(name, backend.capabilities)
        yield f"      calls: as '{found.format}' ({found.reason})"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST_MODELS]) + (", ..." if len(names) > MOST_MODELS else "")
