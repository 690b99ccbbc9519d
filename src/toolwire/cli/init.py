"""`toolwire init`: write a commented toolwire.toml for the server that is there."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from toolwire.cli.doctor import run_doctor, server_options
from toolwire.cli.reports.doctor import DoctorReport
from toolwire.cli.usage_error import UsageError
from toolwire.conformance.endpoint import LiveEndpoint, Unreachable
from toolwire.doctor.prescription import file_for
from toolwire.server.config.loader import load

_USUAL = {
    8000: "vLLM",
    11434: "Ollama",
    8080: "llama.cpp",
    1234: "LM Studio",
    30000: "SGLang",
}
"""The ports that model servers choose if nobody says otherwise."""


@click.command("init", short_help="Write a toolwire.toml for a server.")
@click.argument("url", required=False)
@server_options
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("toolwire.toml"),
    help="The file to write; - is standard output. [default: toolwire.toml]",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def command(
    url: str | None, template: Path | None, output: Path, *, force: bool, **options: Any
) -> None:
    """Write a commented toolwire.toml from what `toolwire doctor` finds at URL.

    Without a URL, the usual ports of this machine are tried (vLLM, Ollama, llama.cpp, LM Studio,
    SGLang); if nothing is there, the embedded model is configured.
    """
    if str(output) != "-" and output.exists() and not force:
        raise UsageError(f"{output} is there already. --force overwrites it.")
    found = url or next(_running(), None)
    if found is None:
        click.echo("No model server was found on this machine.", err=True)
        text = file_for(None, None)
    else:
        click.echo(f"Asking {found} ...", err=True)
        seen, diagnosis = run_doctor(found, template, DoctorReport(quiet=True), **options)
        click.echo(diagnosis.cause, err=True)
        path = str(template.resolve()) if template and seen.lacks_chat else ""
        text = file_for(seen.facts, diagnosis, key_env=options["key_env"], template=path)
    _write(output, text)


def _write(output: Path, text: str) -> None:
    if str(output) == "-":
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror or error}.") from None
    load(output, env=os.environ, flags={})  # what we write can be read
    click.echo(f"Wrote {output}. Start with: toolwire serve -c {output}", err=True)


def _running() -> Iterator[str]:
    """The base URLs of model servers on this machine, at the usual ports."""
    for port, name in _USUAL.items():
        url = f"http://127.0.0.1:{port}/v1"
        if _has_models(url):
            click.echo(f"A server answers where {name} would: {url}", err=True)
            yield url


def _has_models(url: str) -> bool:
    try:
        reply = LiveEndpoint(url, "", timeout=2).models()
    except Unreachable:
        return False
    return isinstance(reply.body, dict) and "data" in reply.body
