import importlib
import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import click
import pytest

import toolwire
from toolwire.cli import main
from toolwire.server.config import settings
from toolwire.server.config.fields import settings_of
from toolwire.server.config.loader import load
from toolwire.server.config.settings import Config

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(__file__).parents[2] / "src" / "toolwire"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", generator().PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == generator().PAGES[name](), "run `make docs`"


def test_the_example_of_the_configuration_page_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text(generator().EXAMPLE)
    env = {"OPENAI_API_KEY": "sk-a", "OPENROUTER_API_KEY": "sk-b"}
    config = load(path, env=env, flags={})
    assert [model.name for model in config.models] == ["qwen3-coder", "gpt-5", "*"]
    assert config.models[1].backends[1].timeouts is not None


def test_the_example_of_the_page_about_small_models_can_be_loaded(tmp_path: Path) -> None:
    text = (DOCS / "small-models.md").read_text(encoding="utf-8")
    path = tmp_path / "toolwire.toml"
    path.write_text(text.partition("```toml\n")[2].partition("```")[0])
    (route,) = load(path, env={}, flags={}).models
    assert route.tool_description_chars == 400
    assert route.tools_denied == ("mcp__*__delete_*",)


@pytest.mark.parametrize("name", ["API_EXAMPLE", "TOOLS_EXAMPLE"])
def test_the_examples_of_the_api_page_give_what_their_comments_say(name: str) -> None:
    known: dict[str, Any] = {}
    for line in getattr(generator(), name).split("\n\n"):
        exec(line, known)
        for expression, said in re.findall(
            r"^(\w\S*\(.*|\w\S*)  # ('.*?'|\{.*?\})", line, re.MULTILINE
        ):
            assert repr(eval(expression, known)) == said


def test_the_streaming_example_of_the_api_page_prints_what_the_page_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(generator().STREAM_EXAMPLE, {})
    assert capsys.readouterr().out == generator().STREAM_OUTPUT


def blocks(language: str, *folders: str) -> list[tuple[str, str]]:
    """The code in this language on the pages of these folders."""
    pages = [page for folder in folders for page in (DOCS / folder).glob("*.md")]
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(p.name, code) for p in pages for code in pattern.findall(p.read_text("utf-8"))]


@pytest.mark.parametrize(("page", "code"), blocks("python", "library"))
def test_the_examples_of_the_library_run(
    page: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(code, {})
    assert "refresh" in capsys.readouterr().out or page == "detect.md"


@pytest.mark.parametrize(("page", "code"), blocks("toml", "engines"))
def test_the_configurations_of_the_engines_can_be_loaded(
    page: str, code: str, tmp_path: Path
) -> None:
    path = tmp_path / "toolwire.toml"
    path.write_text(code)
    env = {"OPENAI_API_KEY": "sk-a", "OPENROUTER_API_KEY": "sk-b"}
    assert load(path, env=env, flags={}).models, page


def test_the_api_page_has_every_public_name() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    public = set(toolwire.__all__) - {"__version__"}
    assert [name for name in sorted(public) if f"### `{name}`" not in text] == []


def test_every_name_of_the_api_page_can_be_imported_from_where_it_says() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    entries = re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert entries
    for name, entry in entries:
        said = re.search(r"Import it from `([\w.]+)`", entry)
        module = importlib.import_module(said[1] if said else "toolwire")
        assert hasattr(module, name), name


def records_in(record: type[Any]) -> Iterator[type[Any]]:
    """The tables of the file that are in this one, however deep."""
    for setting in settings_of(record):
        for kind in (setting.kind, *get_args(setting.kind)):
            if isinstance(kind, type) and kind.__module__.startswith(settings.__name__):
                yield from (kind, *records_in(kind))


def test_every_key_of_the_file_is_on_the_configuration_page() -> None:
    assert set(records_in(Config)) == {record for _, record in generator().SECTIONS}
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    keys = [
        key
        for record in (Config, *records_in(Config))
        for s in settings_of(record)
        for key in s.keys
    ]
    assert [key for key in keys if not re.search(rf"`(\[+\w*\.?)?{key}(\]+)?`", text)] == []


def test_every_flag_of_serve_and_every_variable_is_on_the_configuration_page() -> None:
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    serve = main.get_command(click.Context(main), "serve")
    assert serve is not None
    flags = {flag for option in serve.params for flag in option.opts}
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    variables = set(re.findall(r"TOOLWIRE_[A-Z_]+", source))
    assert [name for name in sorted(flags | variables) if f"`{name}" not in text] == []


def test_every_response_header_is_on_the_page_of_errors() -> None:
    sent = {
        name
        for path in (*(SOURCE / "surfaces").rglob("*.py"), SOURCE / "gateway" / "context.py")
        for name in re.findall(r'"(toolwire-[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert sent == {name for name, _ in generator().HEADERS}


def test_every_repair_is_on_the_page_of_repairs() -> None:
    noted = re.compile(r"(?:repairs\.(?:add|append)|notes\.repair|_repaired)\(\s*f?\"([a-z_]+)")
    sources = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    named = {name for source in sources for name in noted.findall(source)}
    listed = {name.partition(":")[0] for name, _ in generator().OTHER_REPAIRS}
    assert len(named) > 15
    assert named <= listed


def test_every_page_is_reached_from_the_readme_and_no_link_is_dead() -> None:
    root = DOCS.parent
    linked = set()
    for page in (root / "README.md", root / "CONTRIBUTING.md", *DOCS.rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
            linked.add((page.parent / target).resolve())
    assert {page for page in DOCS.glob("*.md") if page.resolve() not in linked} == set()


def test_every_python_file_that_a_page_names_exists() -> None:
    root = DOCS.parent
    places = (root, SOURCE, root / "benchmarks", root / "tests")
    for page in (*root.glob("*.md"), *DOCS.rglob("*.md"), *root.glob("benchmarks/*.md")):
        for name in re.findall(r"[\w./-]+/\w+\.py\b", page.read_text(encoding="utf-8")):
            assert any((place / name).exists() for place in places), f"{page.name}: {name}"


READERS = {"json": json.loads, "toml": tomllib.loads}


@pytest.mark.parametrize("language", READERS)
def test_every_file_that_a_page_shows_can_be_read(language: str) -> None:
    found = blocks(language, "", "engines", "library")
    assert found
    for page, code in found:
        try:
            READERS[language](code)
        except ValueError as error:
            pytest.fail(f"{page}: {error}\n{code}")


def test_the_names_on_the_page_of_models_are_those_that_are_detected() -> None:
    rows = re.findall(r"^\| (`.*?) \| `([\w-]+)` \|", (DOCS / "models.md").read_text("utf-8"), re.M)
    assert len(rows) > 60
    for cell, name in rows:
        for called in re.findall(r"`([^`]+)`", cell):
            found = toolwire.detect_model(called.replace("…", "-"))
            assert found is not None, called
            assert found.format == name, called
