"""`toolwire parse`: what a model's text contains, and why."""

import sys
from pathlib import Path

import click

from toolwire.cli.tools_file import read_tools
from toolwire.cli.usage_error import Complaint, known_format
from toolwire.formats import detect_output
from toolwire.protocol.tools import Tool

AUTO = "auto"


@click.command("parse")
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    default=AUTO,
    show_default=True,
    help="The format, or auto to detect it.",
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
    format_name: str,
    tools_path: Path | None,
    size: int | None,
    jsonl: str | None,
    jobs: int | None,
    *,
    as_json: bool,
) -> None:
    """Parse a model's text from standard input: content, reasoning, calls, and why.

    With --jsonl, content, reasoning and calls are added to each line. A line may have its own
    "format" and "tools". An invalid line becomes an object with "error" and "input".
    """
    tools = read_tools(tools_path)
    if format_name != AUTO:
        known_format(format_name)
    if jsonl:
        from toolwire.cli.bulk import parse_file  # noqa: PLC0415 - one text needs no processes

        sys.exit(parse_file(jsonl, format_name, tools, jobs))

    from toolwire.cli.parse_report import Account  # noqa: PLC0415

    text = _input()
    name, why = _choose(format_name, text, tools)
    account = Account.of(name, text, tools, chosen=why)
    account.show(size, as_json=as_json)


def _input() -> str:
    """The text on standard input."""
    if sys.stdin.isatty():
        raise Complaint(
            "there is no text. Give it on standard input: toolwire parse --format hermes < text"
        )
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise Complaint(f"standard input is not UTF-8 text: {error}.") from None
    if not text:
        raise Complaint("standard input is empty. Give it the text of a model.")
    return text


def _choose(name: str, text: str, tools: tuple[Tool, ...]) -> tuple[str, str]:
    """The format, and why it was chosen."""
    if name != AUTO:
        return known_format(name).name, ""
    found = detect_output(text, tools)
    if found is None:
        return "hermes", "no format reads a call in it; hermes is as good as any"
    return found.format, found.reason
