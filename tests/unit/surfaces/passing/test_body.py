"""A body that is passed on has the backend's own name for the model, and is otherwise the same."""

import json
from email import message_from_bytes
from email.policy import HTTP
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.backends.named_body import NamedBody
from toolwire.errors import RequestError
from toolwire.surfaces.passing.body import read_json, read_named_form
from toolwire.surfaces.passing.multipart import Field, is_form, read_form, write_form


def under(body: NamedBody, name: str | None = "own/b") -> bytes:
    return b"".join(body.under(name))


def renamed(body: bytes, name: str | None = "own/b") -> bytes:
    return under(read_json(body, 1000), name)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"model":"a","input":"x"}', b'{"model":"own/b","input":"x"}'),
        (b' {"input" : [1.0,\n2e0], "model"\n:\t"a" } ', None),
        (b'{"of": {"model": "a"}, "all": ["model", "a"], "model": "a"}', None),
        (b'{"model": "a", "of": {"model": "c"}}', b'{"model": "own/b", "of": {"model": "c"}}'),
        (b'{"the \\"model": "a", "model": "a"}', None),
        (b'{"say": "\\"model\\": \\"a\\"", "model": "a"}', None),
        (b'{"\\u006dodel": "a"}', None),
        (b'{"model": "a\\"\\u00e9", "x": 1}', b'{"model": "own/b", "x": 1}'),
        ('{"x": "é", "model": "é"}'.encode(), '{"x": "é", "model": "own/b"}'.encode()),
        (b'{"model": null, "x": 1}', b'{"model": "own/b", "x": 1}'),
        (b'{"x": 1}', b'{"model":"own/b","x": 1}'),
        (b" { } ", b' {"model":"own/b" } '),
    ],
)
def test_only_the_name_is_changed(body: bytes, wanted: bytes | None) -> None:
    if wanted is None:  # the last one in it is the model's name
        before, _, after = body.rpartition(b'"a"')
        wanted = before + b'"own/b"' + after
    assert renamed(body) == wanted
    assert json.loads(wanted)["model"] == "own/b"


def test_the_name_is_written_as_json() -> None:
    name = 'a"b\\c é\x00'
    assert read_json(renamed(b'{"model": "a"}', name), 1000).model == name


def test_without_a_name_the_body_is_as_it_was() -> None:
    assert renamed(b' {"x": 1}', None) == b' {"x": 1}'


@pytest.mark.parametrize("name", ["a", "model", "x"])
@pytest.mark.parametrize("other", ["1", '"m"', "[1, 2]"])
def test_a_member_that_is_there_twice_is_named(name: str, other: str) -> None:
    body = f'{{"first": 1, "{name}": "m", "between": 2, "{name}": {other}}}'
    with pytest.raises(RequestError) as error:
        read_json(body.encode(), 1000)
    assert (error.value.param, "more than once" in error.value.message) == (name, True)


def test_texts_of_thousands_are_refused_and_numbers_of_thousands_are_not() -> None:
    numbers = json.dumps({"model": "a", "input": list(range(5000))}).encode()
    assert read_json(numbers, 1000).model == "a"
    texts = json.dumps({"model": "a", "input": ["x"] * 5000}).encode()
    with pytest.raises(RequestError, match="too many values"):
        read_json(texts, 1000)
    quotes = json.dumps({"model": "a", "input": '"' * 5000}).encode()
    assert read_json(quotes, 1000).model == "a"


# Whatever is accepted has one model, for every reader.

PIECES = (
    "{", "}", "[", "]", ",", ":", '"', '"model"', '"Model"', '"\\u006dodel"', '"a"', '"x"', "1",
    "null", " ", "\\", "\n", '"model":"a"', '"x":{"model":"b"}', '"mod\\u0065l":"b"', "\0",
)  # fmt: skip


def jsons() -> st.SearchStrategy[str]:
    """Objects that are nearly right, and some that are."""
    names = st.sampled_from(['"model"', '"Model"', '"\\u006dodel"', '"x"', '"y"', '"model "'])
    values = st.sampled_from(['"a"', "1", "null", '{"model": "b"}', '"\\"model\\":"', '[",", "}"]'])
    gaps = st.sampled_from(["", " ", "\n\t"])
    member = st.builds(lambda n, a, b, v: n + a + ":" + b + v, names, gaps, gaps, values)
    whole = st.lists(member, max_size=4).map(lambda members: "{" + ", ".join(members) + "}")
    return whole | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(jsons())
def test_json_that_is_accepted_has_one_model_for_every_reader(text: str) -> None:
    try:
        body = read_json(text.encode(), 1000)
    except RequestError:
        return
    sent = under(body)
    pairs = json.loads(sent, object_pairs_hook=list)
    assert [value for name, value in pairs if name.casefold() == "model"] == ["own/b"]
    others = [pair for pair in json.loads(text, object_pairs_hook=list) if pair[0] != "model"]
    assert [pair for pair in pairs if pair[0] != "model"] == others


HEADS = (
    'name="model"', "name=model", 'name="Model"', 'name="model[]"', 'name="x"; filename="y"',
    'name="x"; name="model"', 'filename="y"; name="model"', "name*=utf-8''model", 'name="mo\\del"',
    'name="x"; filename="\\"; name="model"', 'name="x"\r\nContent-Type: text/plain',
    'name="x"\r\nX: y', 'name="x";\r\n name="model"', 'name="x"; filename="a"b"', 'name="x"\n',
)  # fmt: skip
VALUES = (
    "a",
    "",
    "\r\n",
    "--b",
    "\r\n--b",
    "\r\n--b\r\n",
    "\n--b--",
    "x\r\n\r\ny",
    "\r\n--b--\r\n",
)


@given(st.lists(st.tuples(st.sampled_from(HEADS), st.sampled_from(VALUES)), max_size=4))
def test_a_form_that_is_accepted_has_one_model_for_every_reader(
    fields: list[tuple[str, str]],
) -> None:
    parts = [f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{v}\r\n" for head, v in fields]
    data = ("".join(parts) + "--b--\r\n").encode()
    try:
        body = read_named_form("multipart/form-data; boundary=b", data, "new")
    except RequestError:
        return
    read = message_from_bytes(f"content-type: {body.kind}\r\n\r\n".encode() + under(body))
    names = [part.get_param("name", header="content-disposition") for part in read.get_payload()]
    models = [str(name) for name in names if str(name).casefold().startswith("model")]
    assert models == ["model"]
    assert b'name="model"\r\n\r\nown/b\r\n' in under(body)


# Forms as HTTP libraries make them.


def field(head: str, value: bytes = b"x") -> bytes:
    lines = f"--b\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode()
    return lines + value + b"\r\n--b--\r\n"


@pytest.mark.parametrize(
    ("head", "name", "filename", "media"),
    [
        ('name="file"; filename="a b.mp3"', "file", "a b.mp3", ""),
        ("name=file; filename=a.mp3", "file", "a.mp3", ""),
        ('name="image[]"; filename="a;b=.png"\r\nContent-Type: image/png', "image[]", "a;b=.png",
         "image/png"),
        ("name=\"file\"; filename*=utf-8''%C3%BC%22.mp3", "file", "ü_.mp3", ""),
        ('name="file"; filename="ü.mp3"', "file", "ü.mp3", ""),
        ('name="file"; filename="blob"\r\nContent-Type: text/plain;charset=UTF-8\r\n'
         "Content-Length: 1", "file", "blob", "text/plain;charset=UTF-8"),
        ('name="language"', "language", None, ""),
    ],
)  # fmt: skip
def test_a_field_is_read_as_it_was_meant(
    head: str, name: str, filename: str | None, media: str
) -> None:
    (read,) = read_form("multipart/form-data; boundary=b", field(head))
    assert read == Field(name, b"x", filename, media)


@pytest.mark.parametrize("boundary", ["b", '"b"', "b; charset=utf-8"])
@pytest.mark.parametrize(
    "start", ["multipart/form-data; boundary=", "Multipart/Form-Data;BOUNDARY="]
)
def test_a_boundary_is_found_however_it_is_written(start: str, boundary: str) -> None:
    assert is_form(start + boundary)
    assert len(read_form(start + boundary, field('name="x"'))) == 1


def test_what_is_written_is_what_was_read() -> None:
    fields = [Field("a", b"\r\n--b\r\n"), Field("f", bytes(range(256)), "ü.mp3", "audio/mpeg")]
    pieces = write_form(fields, "new")
    assert read_form("multipart/form-data; boundary=new", b"".join(pieces)) == fields
    read = message_from_bytes(
        b"content-type: multipart/form-data; boundary=new\r\n\r\n" + b"".join(pieces), policy=HTTP
    )
    assert next(read.iter_parts()).get_payload(decode=True) == fields[0].value


def test_what_is_nearly_a_boundary_belongs_to_the_value() -> None:
    """What is nearly a boundary is part of the value."""
    value = b"\r\n--a" * 200_000
    (read,) = read_form("multipart/form-data; boundary=ab", _framed(value))
    assert read.value == value


def _framed(value: bytes) -> bytes:
    return b'--ab\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + value + b"\r\n--ab--"


def test_fields_stand_in_their_order() -> None:
    names = [f"f{number}" for number in range(10)]
    data = b"".join(write_form([Field(name, b"v") for name in names], "b"))
    read = read_form("multipart/form-data; boundary=b", data)
    assert all(a.name < b.name for a, b in pairwise(read))
