"""A body that is passed on has the backend's own name for the model, and is otherwise the same."""

import pytest

from toolwire.backends.model_name import named_model, with_model


@pytest.mark.parametrize(
    ("body", "renamed"),
    [
        (b'{"model":"a","input":"x"}', b'{"model":"own/b","input":"x"}'),
        (b' {"input" : [1.0,\n2e0], "model":\t"a" } ', b'{"input":[1.0,\n2e0],"model":"own/b"}'),
        (b'{"model": "a", "of": {"model": "c"}}', b'{"model":"own/b","of":{"model": "c"}}'),
        (b'{"the \\"model": "a", "model": "a"}', b'{"the \\"model":"a","model":"own/b"}'),
        (b'{"model": "first", "model": "a"}', b'{"model":"own/b"}'),
        ('{"x": "é", "model": "é"}'.encode(), '{"x":"é","model":"own/b"}'.encode()),
    ],
)
def test_only_the_name_is_changed_and_every_other_value_is_as_it_was(
    body: bytes, renamed: bytes
) -> None:
    assert with_model(body, "own/b") == renamed


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b'{"model": "a"',
        b'["model", "a"]',
        b'{"input": "x"}',
        b'{"model": null}',
        b'{"model": 5}',
        b'{"model": ""}',
        b'{"of": {"model": "a"}}',
        b'{"model": "own"}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_names_no_model_or_the_same_is_passed_on_as_it_is(body: bytes) -> None:
    assert with_model(body, "own") == body


def test_the_name_is_written_as_json() -> None:
    name = 'a"b\\c é'
    assert named_model(with_model(b'{"model": "a"}', name)) == name
