"""`toolwire serve`: start the gateway."""

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolwire import __version__
from toolwire.backends.base import Capabilities
from toolwire.cli.configuration import load_configuration, with_configuration
from toolwire.cli.loading import uncollected
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.later import Later
from toolwire.server.config.loader import Config, Listen, RouteConfig, secrets_of

if TYPE_CHECKING:
    from toolwire.backends.embedded.engine import EmbeddedEngine

_EMBEDDED_ENGINE: "Later[Callable[[Config], AbstractContextManager[EmbeddedEngine | None]]]" = (
    Later("toolwire.cli.embedded", "embedded_engine")
)
_CAPABILITIES_OF: "Later[Callable[[EmbeddedEngine], Capabilities]]" = Later(
    "toolwire.backends.embedded.backend", "capabilities_of"
)


@click.command("serve")
@with_configuration
@click.option("--host", metavar="ADDRESS", help="Address to listen on. [default: 127.0.0.1]")
@click.option(
    "--port", metavar="N", type=int, help="Port; 0 lets the system choose. [default: 8181]"
)
@click.option("--public", is_flag=True, default=None, help="Allow other machines without keys.")
@click.option(
    "--log-level",
    metavar="LEVEL",
    help="debug, info, warning or error.",
    shell_complete=lambda _c, _p, begun: [
        level for level in ("debug", "info", "warning", "error") if level.startswith(begun)
    ],
)
@click.option(
    "--log-format",
    metavar="FORMAT",
    help="text or json.",
    shell_complete=lambda _c, _p, begun: [
        form for form in ("text", "json") if form.startswith(begun)
    ],
)
@click.option(
    "--trace-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write a trace of each request here.",
)
@click.option(
    "--trace-bodies",
    is_flag=True,
    default=None,
    help="Record in traces what clients and models wrote, for `toolwire replay`.",
)
@click.option(
    "--sessions",
    metavar="STORE",
    help="Where conversations are stored: sqlite:PATH, redis://..., memory or off.",
)
def command(path: Path | None, **flags: Any) -> None:
    """Start the gateway.

    \b
    toolwire serve                                       the embedded model, to try it out
    toolwire serve --upstream http://localhost:8000/v1   all models of a server
    toolwire serve --gguf qwen3-8b.gguf                  a model file, inside Toolwire
    toolwire serve -c toolwire.toml                      several models, keys, limits

    \b
    OPENROUTER_API_KEY=... toolwire serve --upstream https://openrouter.ai/api/v1 \\
      --upstream-key-env OPENROUTER_API_KEY

    `toolwire init` writes a configuration file, `toolwire check` tries it, and `toolwire doctor`
    finds out why a model does not call tools.
    """
    config = load_configuration(path, flags)

    # Only here: --help and errors stay quick.
    with uncollected():
        from toolwire.server.process.event_loop import NoUvloop, loop_kind, run_on_loop  # noqa: PLC0415
        from toolwire.server.serve import serve as run  # noqa: PLC0415
        from toolwire.server.telemetry.logs import setup  # noqa: PLC0415

    try:
        loop_kind(config.listen.loop)
    except NoUvloop as error:
        raise click.ClickException(str(error)) from None
    logs = setup(config.log.level, config.log.format, secrets=secrets_of(config))
    try:
        _try_port(config.listen)
        with _EMBEDDED_ENGINE()(config) if config.serves_embedded else nullcontext() as engine:
            work = run(
                config,
                logs,
                lambda url: click.echo(_welcome(config, url, engine)),
                engine,
                say=click.echo,
            )
            run_on_loop(work, config.listen.loop)
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {config.listen.host} port {config.listen.port}: "
            f"{_why(error)}. Choose another with --port or --host."
        ) from None
    except RuntimeError as error:
        # A second Ctrl-C stops the loop under the running server.
        if "Event loop stopped" not in str(error):
            raise
        sys.exit(130)


def _why(error: OSError) -> str:
    """The system's words; asyncio repeats the address behind them."""
    if error.errno is not None and error.errno > 0:  # those of a name lookup are negative
        return os.strerror(error.errno)
    return str(error.strerror or error)


def _try_port(listen: Listen) -> None:
    """Raise `OSError` before a model is loaded if the address cannot be used."""
    if listen.port:
        family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
        socket.create_server((listen.host, listen.port), family=family).close()


def _welcome(config: Config, url: str, engine: "EmbeddedEngine | None") -> str:
    own = engine.name if engine else ""
    lines = [f"Toolwire {__version__} listens on {url}", ""]
    for model in config.models:
        name = "any model name" if model.name == "*" else model.name
        backends = [
            f"{own}, the embedded model" if b.is_embedded else b.url for b in model.backends
        ]
        lines.append(f"  {name:<24} -> {', '.join(backends)}")
        if model.aliases:
            lines.append(f"  {'':<27} also as {', '.join(model.aliases)}")
        lines += dict.fromkeys(_formats(model, engine))
    named = next((model.name for model in config.models if model.name != "*"), own or "MODEL")
    key = "one of your client keys" if config.keys else "anything (no client keys are configured)"
    lines += [
        "",
        "  Point Cline here: provider 'OpenAI Compatible',",
        f"    base URL  {url}/v1",
        f"    API key   {key}",
        f"    model     {named}",
        *([f"  See what happens: {url}/inspector"] if config.has_inspector else []),
        "",
    ]
    return "\n".join(lines)


def _formats(route: RouteConfig, engine: "EmbeddedEngine | None") -> Iterator[str]:
    """The format of the embedded model, and why; of servers, see `introduction`."""
    for backend in route.backends:
        if backend.is_embedded and engine is not None:
            facts = _CAPABILITIES_OF()(engine)
            found = StrategySelector(route.mode, route.format).format_of(route.name, facts)
            yield f"  {'':<27} tool calls as '{found.format}': {found.reason}"
