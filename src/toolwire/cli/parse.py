"""`toolwire parse`: what a model's text contains, and why."""

import sys
from pathlib import Path

import click

from toolwire.cli.completion import complete_format
from toolwire.cli.tools_file import read_tools
from toolwire.cli.usage_error import UsageError, known_format
from toolwire.formats import AUTO


@click.command("parse", short_help="Show what a model's text contains, and why.")
@click.argument("file", required=False, type=click.Path(allow_dash=True, dir_okay=False))
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    default=AUTO,
    show_default=True,
    help="The format, or auto to detect it.",
    shell_complete=complete_format,
)
@click.option(
    "--tools",
    "tools_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The tools of the request, as JSON.",
)
@click.option(
    "--stream",
    "size",
    metavar="N",
    type=click.IntRange(1),
    help="Feed N characters at a time, and show the events of each piece.",
)
@click.option(
    "--jsonl",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help='Parse a file (- is standard input) of lines {"text": ...}: a line in, a line out.',
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1),
    help="Processes for --jsonl. [default: all cores]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: str | None,
    format_name: str,
    tools_path: Path | None,
    size: int | None,
    *,
    jsonl: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Parse a model's text from FILE or standard input: content, reasoning, calls, and why.

    With --jsonl, content, reasoning and calls are added to each line. A line may have its own
    "format" and "tools". An invalid line becomes an object with "error" and "input".
    """
    tools = read_tools(tools_path)
    if format_name != AUTO:
        known_format(format_name)
    if jsonl:
        from toolwire.cli.bulk import parse_file  # noqa: PLC0415 - one text needs no processes

        sys.exit(parse_file(jsonl, format_name, tools, jobs))

    from toolwire.cli.reports.parse import ParseReport  # noqa: PLC0415

    name = AUTO if format_name == AUTO else known_format(format_name).name
    ParseReport.of(name, _input(file), tools).show(size, as_json=as_json)


def _input(file: str | None) -> str:
    """The text in the file, or on standard input."""
    where = "standard input" if file in (None, "-") else str(file)
    if file is None and sys.stdin.isatty():
        raise UsageError(
            "there is no text. Name a file (toolwire parse answer.txt), or give the text on "
            "standard input."
        )
    try:
        raw = sys.stdin.buffer.read() if file in (None, "-") else Path(str(file)).read_bytes()
        text = raw.decode()
    except OSError as error:
        raise UsageError(f"cannot read {where}: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} is not UTF-8 text: {error}.") from None
    if not text:
        raise UsageError(f"{where} is empty. Give it the text of a model.")
    return text
