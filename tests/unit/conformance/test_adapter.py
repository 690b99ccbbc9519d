import sys
from pathlib import Path

import pytest
from tests.unit.conformance.faulty import Toy

from toolwire.conformance import AdapterError
from toolwire.conformance.adapter import adapter_for, load_factory

MODULE = __name__
TOY = Toy()
NUMBER = 5


def toys_only(format_name: str) -> Toy | None:
    return TOY if format_name == "toy" else None


def wrong(format_name: str) -> object:
    return object()


def test_an_adapter_is_taken_for_any_format() -> None:
    assert adapter_for(load_factory(f"{MODULE}:TOY"), "whatever") is TOY


def test_a_function_is_asked_for_a_format() -> None:
    factory = load_factory(f"{MODULE}:toys_only")
    assert adapter_for(factory, "toy") is TOY
    assert adapter_for(factory, "hermes") is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_colon", "write it as my.module:adapter"),
        (":x", "write it as my.module:adapter"),
        ("no.such.module:x", "cannot import no.such.module"),
        (f"{MODULE}:nothing", "has no 'nothing'"),
        (f"{MODULE}:NUMBER", "neither an adapter"),
    ],
)
def test_what_is_no_adapter_is_refused_with_advice(path: str, message: str) -> None:
    with pytest.raises(AdapterError, match=message):
        load_factory(path)


def test_a_function_that_gives_something_else_is_refused() -> None:
    with pytest.raises(AdapterError, match="a object without extract and stream"):
        adapter_for(load_factory(f"{MODULE}:wrong"), "hermes")


def test_a_module_of_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "right_here_adapter.py").write_text("def adapter(name): return None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert load_factory("right_here_adapter:adapter")("x") is None
