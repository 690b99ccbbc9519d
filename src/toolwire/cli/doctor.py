"""`toolwire doctor`: why does an agent not call tools on this server?"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from rich.console import Console

from toolwire.backends.templates.chat_template import ChatTemplate, NoTemplate, read_template
from toolwire.cli.options import with_options
from toolwire.cli.reports.doctor import DoctorReport
from toolwire.cli.usage_error import UsageError
from toolwire.conformance.endpoint import InvalidURL, LiveEndpoint, Unreachable
from toolwire.doctor import Diagnosis, Examination, ServerFacts, Setup, diagnose, examine, look_at
from toolwire.server.config.loader import Config, ConfigError, load

_SETUPS: dict[Setup, str] = {
    "server": "the server itself",
    "auto": "Toolwire, mode auto",
    "prompted": "Toolwire, mode prompted",
}


server_options = with_options(
    click.option(
        "--model", metavar="NAME", default="", help="The model to ask. [default: the first]"
    ),
    click.option("--key-env", metavar="VAR", default="", help="Environment variable with its key."),
    click.option(
        "--chat-template",
        "template",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The model's chat template or .gguf file, for its format or a server with only "
        "/completions.",
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(0.1),
        default=60,
        show_default=True,
        help="How long to wait for an answer.",
    ),
)
"""The options of a command that asks a server: see `run_doctor`."""


@click.command("doctor", short_help="Find out why an agent gets no tool calls.")
@click.argument("url")
@server_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(url: str, template: Path | None, *, as_json: bool, **options: Any) -> None:
    """Find out why an agent does not get tool calls from the server at URL.

    Asks the server what it is, then asks its model for calls: whole and streamed, required,
    parallel and nested, natively and with tools in the prompt. Prints what works, the cause of what
    does not, and the exact flags or toolwire.toml lines to use.

    toolwire doctor http://localhost:8000/v1

    The exit code is 0 if the server's own tool calling works, 1 if not, and 2 if the server cannot
    be asked.
    """
    report = DoctorReport(as_json=as_json)
    seen, diagnosis = run_doctor(url, template, report, **options)
    needed = str(template or "") if seen.lacks_chat else ""
    report.end(seen, diagnosis, key_env=options["key_env"], template=needed)
    sys.exit(0 if diagnosis.works else 1)


def run_doctor(
    url: str,
    template: Path | None,
    report: DoctorReport,
    *,
    model: str,
    key_env: str,
    timeout: float,
) -> tuple[Examination, Diagnosis]:
    """Look at a server, and ask it for calls. Complains if it cannot be asked."""
    own = _template(template)
    with _progress() as say:
        say("asking what the server is")
        endpoint, facts = _meet(url, model, _key(key_env), timeout, own)
        report.begin(facts)
        seen = Examination(facts)

        def configure(setup: Setup) -> Config:
            return _configuration(facts, setup, key_env, template if seen.lacks_chat else None)

        try:
            for observation in examine(
                facts, endpoint, configure, lambda setup, name: say(f"{_SETUPS[setup]}: {name}")
            ):
                seen.observations.append(observation)
                report.add(observation, _SETUPS[observation.setup])
        except Unreachable as error:
            raise UsageError(
                f"no answer to a short request: {error}. If the model is slow, or still being "
                f"loaded, wait for longer than {timeout:g} s with --timeout."
            ) from None
    return seen, diagnose(seen)


def _meet(
    url: str, model: str, key: str | None, timeout: float, template: ChatTemplate | None
) -> tuple[LiveEndpoint, ServerFacts]:
    """The server at this URL, or at its /v1, where most have their API."""
    try:
        endpoint = LiveEndpoint(url, model, key, timeout)
        if urlsplit(url).path in ("", "/") and endpoint.models().status == 404:
            below = LiveEndpoint(f"{endpoint.url}/v1", model, key, timeout)
            endpoint = below if below.models().status != 404 else endpoint
        facts = look_at(endpoint, template)
    except InvalidURL as error:
        raise UsageError(f"{error}.") from None
    except Unreachable as error:
        raise UsageError(
            f"nothing answers at {error}. Is the server running, and the URL right?"
        ) from None
    if not facts.model:
        raise UsageError(
            f"{facts.url} lists no models. Name one with --model, and check that the URL is the "
            "base URL of the API, which usually ends in /v1."
        )
    return endpoint, facts


def _configuration(facts: ServerFacts, setup: Setup, key_env: str, template: Path | None) -> Config:
    flags: dict[str, Any] = {
        "upstream": (facts.url,),
        "upstream_mode": setup,
        "upstream_key_env": key_env or None,
        "upstream_dialect": facts.kind or None,
        "chat_template": template,
    }
    try:
        return load(None, env={key_env: os.environ[key_env]} if key_env else {}, flags=flags)
    except ConfigError as error:
        raise UsageError(str(error)) from None


def _key(variable: str) -> str | None:
    if variable and not os.environ.get(variable):
        raise UsageError(f"the environment variable {variable} is not set; --key-env names it.")
    return os.environ[variable] if variable else None


def _template(path: Path | None) -> ChatTemplate | None:
    try:
        return read_template(path) if path is not None else None
    except NoTemplate as error:
        raise UsageError(f"--chat-template: {error}") from None


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is under way, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _text: None
        return
    with console.status("") as status:
        yield lambda text: status.update(f"{text} ...")
