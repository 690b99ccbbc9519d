"""`toolwire formats`: list all formats, or find the format of a model."""

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from toolwire.cli.reports.columns import in_columns, is_piped
from toolwire.cli.usage_error import UsageError
from toolwire.formats import Detection, Format, detect_model, detect_template, get, names


@click.command("formats", short_help="List the formats of tool calls.")
@click.option("--model", metavar="NAME", help="Show only the format of this model.")
@click.option(
    "--template",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Show only the format of this chat template.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(model: str | None, template: Path | None, *, as_json: bool) -> None:
    """List every format: its names, its family and the models that write it."""
    if model or template:
        _show_detection(_detect(model, template), as_json=as_json)
        return
    records = [get(name) for name in sorted(names())]
    if as_json:
        click.echo(json.dumps([_facts(record) for record in records], indent=2))
    elif is_piped():
        for line in in_columns([_HEADS, *map(_row, records)]):
            click.echo(line)
    else:
        Console().print(_table(records))


def _detect(model: str | None, template: Path | None) -> Detection:
    if template:
        try:
            found = detect_template(template.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {template}: {error}. Is it a chat template?") from None
        what = f"the template {template}"
    else:
        found = detect_model(model or "")
        what = f"the model {model!r}"
    if found is None:
        raise UsageError(
            f"no format is known for {what}. Try what it writes: `toolwire parse --format auto`."
        )
    return found


def _show_detection(found: Detection, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"format": found.format, "reason": found.reason}))
    else:
        click.echo(f"{found.format}: {found.reason}")


def _facts(record: Format) -> dict[str, object]:
    return {
        "name": record.name,
        "aliases": list(record.aliases),
        "family": record.family,
        "models": list(record.models),
        "special_tokens": list(record.special_tokens),
        "ids": record.ids,
        "note": record.note,
    }


def _table(records: list[Format]) -> Table:
    table = Table(title=f"{len(records)} formats", title_justify="left")
    for head in _HEADS:
        table.add_column(head, no_wrap=head in ("name", "family"))
    for record in records:
        table.add_row(*map(_literally, _row(record)))
    return table


def _row(record: Format) -> tuple[str, ...]:
    models = "  ".join(record.models) or record.note
    return record.name, " ".join(record.aliases), record.family, models


_HEADS = ("name", "aliases", "family", "models (patterns of their names)")


def _literally(text: str) -> str:
    """Escape brackets in a pattern, which rich would read as markup."""
    return text.replace("[", r"\[")
