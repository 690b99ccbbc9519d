"""What is passed on, and what is not (R25): nothing but the list reaches a backend, and never
under a model that no route serves."""

import json
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import HTTP

import pytest
from tests.e2e.gateway.passing import BODIES, FORM, JSON, LISTED, METHODS, PATHS, Body, form
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import Reply, ask, connected, read_to_end, statuses
from tests.scripted import ScriptedServer
from tests.scripted.record import Recorded

SERVED = """
[retries]
backoff = 0.01

[[keys]]
name = "me"
sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

[[models]]
name = "small"
backend = {{ url = "{url}", key_env = "BACKEND_KEY", model = "org/small-v1" }}
"""
BIG = """
[[models]]
name = "big"
backend = {{ url = "{url}", key_env = "BACKEND_KEY" }}
"""
RIGHT = {"authorization": "Bearer foo"}
KEYS = {"none": {}, "wrong": {"authorization": "Bearer fop"}}
ENV = {"BACKEND_KEY": "sk-backend"}
MODEL_NAMES = {"org/small-v1", "big"}


@pytest.fixture(scope="module")
def two(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that serves two models."""
    with running(config=(SERVED + BIG).format(url=backend.url), env=ENV) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def one(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that serves one."""
    with running(config=SERVED.format(url=backend.url), env=ENV) as process:
        yield process


@pytest.fixture(params=["two", "one"])
def served(request: pytest.FixtureRequest) -> Gateway:
    """Either of them."""
    gateway: Gateway = request.getfixturevalue(request.param)
    return gateway


@pytest.fixture(autouse=True)
def _new_record(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


def post(
    gateway: Gateway, path: str, body: Body, key: dict[str, str] = RIGHT, method: str = "POST"
) -> Reply:
    headers = {**key, **body.headers, "content-type": body.kind}
    return ask(gateway.port, body.data, path=f"/v1/{path}", method=method, headers=headers)


GOOD = Body("good", b'{"model": "small", "prompt": "x", "input": "x"}')


def test_there_are_enough_ways_to_try() -> None:
    assert len(PATHS) + len(METHODS) + len(BODIES) >= 60


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_is_not_in_the_list_is_not_found(
    served: Gateway, backend: ScriptedServer, path: str
) -> None:
    for method in ("POST", "GET", "DELETE", "TRACE", "PURGE"):
        reply = post(served, path, GOOD, method=method)
        assert (reply.status, reply.error["code"]) == (404, "not_found"), method
    assert backend.requests == []


@pytest.mark.parametrize("method", METHODS)
def test_another_method_is_not_allowed(
    served: Gateway, backend: ScriptedServer, method: str
) -> None:
    for path in LISTED:
        target = f"/v1/{path}"
        with connected(served.port) as sock:
            lines = [f"{method} {target} HTTP/1.1", "host: 127.0.0.1", "connection: close"]
            lines += [f"authorization: {RIGHT['authorization']}", "content-length: 0", "", ""]
            sock.sendall("\r\n".join(lines).encode())
            answer = read_to_end(sock)
        # A target of CONNECT is no path, and what is no method at all is no request.
        wanted = (405, 400) if method in ("CONNECT", "NOTIFY", "SEARCH", "LINK") else (405,)
        assert statuses(answer)[0] in wanted, answer
        if statuses(answer) == [405]:
            assert b"allow: POST\r\n" in answer
    assert backend.requests == []


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.name)
def test_a_body_that_hides_another_model_is_refused(
    two: Gateway, backend: ScriptedServer, body: Body
) -> None:
    for path in ("completions", "embeddings", "audio/transcriptions", "images/edits"):
        reply = post(two, path, body)
        assert reply.status == body.status, reply.body
        assert reply.error["type"] == "invalid_request_error"
        assert reply.error["code"] == "model_not_found" or body.status == 400
    assert backend.requests == []


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.name)
def test_where_one_model_is_served_nothing_goes_under_another_name(
    one: Gateway, backend: ScriptedServer, body: Body
) -> None:
    post(one, "completions", body)
    for asked in backend.requests:
        assert set(models_of(asked)) == {"org/small-v1"}, asked.body


def models_of(asked: Recorded) -> list[str]:
    """Every name of a model in a body that reached the backend."""
    kind = asked.headers["content-type"]
    if kind == JSON:
        pairs = json.loads(asked.body, object_pairs_hook=list)
        return [value for name, value in pairs if name.casefold() == "model"]
    return [value for name, value in fields_of(asked) if name.casefold() == "model"]


def fields_of(asked: Recorded) -> list[tuple[str, str]]:
    """The fields of a form, as Python's own reader has them."""
    head = f"content-type: {asked.headers['content-type']}\r\n\r\n".encode()
    read = message_from_bytes(head + asked.body, policy=HTTP)
    return [
        (
            str(part.get_param("name", header="content-disposition")),
            part.get_payload(decode=True).decode(),
        )
        for part in read.iter_parts()
    ]


@pytest.mark.parametrize("key", KEYS)
def test_without_a_right_key_nothing_is_looked_at(
    served: Gateway, backend: ScriptedServer, key: str
) -> None:
    for body in (GOOD, *BODIES):
        assert post(served, "completions", body, KEYS[key]).status == 401
    for path in (*PATHS, *LISTED):
        assert post(served, path, GOOD, KEYS[key]).status == 401
    assert backend.requests == []


@pytest.mark.parametrize("path", LISTED)
@pytest.mark.parametrize("name", ["small", "big"])
def test_what_is_in_the_list_goes_to_the_model_that_it_names(
    two: Gateway, backend: ScriptedServer, path: str, name: str
) -> None:
    for kind in (JSON, "text/plain", "", "application/json; charset=utf-16"):
        data = json.dumps({"prompt": "x", "model": name, "input": "x"}).encode()
        post(two, path, Body("", data, kind))
    own = {"small": "org/small-v1", "big": "big"}[name]
    assert [asked.path for asked in backend.requests] == [f"/v1/{path}"] * 4
    assert [models_of(asked) for asked in backend.requests] == [[own]] * 4
    for asked in backend.requests:
        assert asked.headers["content-type"] == JSON
        assert asked.headers["authorization"] == "Bearer sk-backend"


def test_no_other_member_of_a_body_is_changed(two: Gateway, backend: ScriptedServer) -> None:
    data = b' {"input" : [1.0,\n2e0], "of": {"model": "a"}, "model"\n:\t"small" } '
    post(two, "embeddings", Body("", data))
    assert backend.requests[0].body == data.replace(b'"small"', b'"org/small-v1"')


def test_a_form_goes_to_the_model_that_it_names(two: Gateway, backend: ScriptedServer) -> None:
    audio = 'name="file"; filename="so \u00fc.mp3"\r\nContent-Type: audio/mpeg'
    fields = ('name="language"', "en"), ('name="model"', "small"), (audio, "ID3\r\n--c\0\r\n\r\n")
    data = form(*fields, boundary="c d")
    reply = post(two, "audio/transcriptions", Body("", data, 'multipart/form-data; boundary="c d"'))
    (asked,) = backend.requests
    assert reply.status == 400  # this backend takes no forms
    assert fields_of(asked) == [
        ("language", "en"),
        ("model", "org/small-v1"),
        ("file", "ID3\r\n--c\0\r\n\r\n"),
    ]
    assert b'filename="so \xc3\xbc.mp3"\r\nContent-Type: audio/mpeg\r\n' in asked.body
    assert "c d" not in asked.headers["content-type"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"{}", JSON),
        (b'{"prompt": "x"}', JSON),
        (b'{"model": null}', JSON),
        (form(('name="language"', "en")), FORM),
        (form(), FORM),
    ],
)
def test_where_one_model_is_served_its_name_is_put_in(
    one: Gateway, backend: ScriptedServer, data: bytes, kind: str
) -> None:
    post(one, "audio/transcriptions", Body("", data, kind))
    (asked,) = backend.requests
    assert models_of(asked) == ["org/small-v1"]


def test_where_any_name_goes_a_body_is_passed_on_as_it_is(backend: ScriptedServer) -> None:
    named = b'{"model": "expensive", "models": ["a"], "prompt": "x"}'
    with running("--upstream", backend.url) as gateway:
        for data in (named, b'{"prompt": "x"}'):
            assert ask(gateway.port, data, path="/v1/completions").status == 200
        refusable = (b"api_base", b"Model", b"chat_template", b"extra_body", b"extra_headers")
        for extra in (b'"%b": "x"' % name for name in refusable):
            refused = b'{"model": "m", %b}' % extra
            assert ask(gateway.port, refused, path="/v1/completions").status == 400
    assert [asked.body for asked in backend.requests] == [named, b'{"prompt": "x"}']


def test_a_query_is_not_passed_on_but_named(two: Gateway, backend: ScriptedServer) -> None:
    reply = post(two, "completions?model=expensive&api-version=1&x", GOOD)
    assert reply.status == 200
    assert reply.headers["toolwire-ignored-params"] == "%3Fmodel, %3Fapi-version, %3Fx"
    assert backend.requests[0].path == "/v1/completions"


def test_the_list_is_the_operators(backend: ScriptedServer) -> None:
    listed = 'passthrough = ["embeddings", "GET files", "GET files/*", "DELETE files/*"]\n'
    with running("--upstream", backend.url, config=listed) as gateway:
        for method, path, status in (
            ("POST", "embeddings", 200),
            ("POST", "completions", 404),
            ("POST", "files", 405),
            ("POST", "files/1", 405),
            ("GET", "files/1/content", 404),
            ("GET", "files/..", 404),
            ("GET", "files?limit=2", None),
            ("GET", "files/f-1", None),
            ("DELETE", "files/f-1", None),
        ):
            data = b'{"model": "m", "input": "x"}' if method == "POST" else None
            reply = ask(gateway.port, data, path=f"/v1/{path}", method=method)
            assert status is None or reply.status == status, (method, path)
    reached = [(asked.method, asked.path) for asked in backend.requests]
    assert reached == [
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/files?limit=2"),
        ("GET", "/v1/files/f-1"),
        ("DELETE", "/v1/files/f-1"),
    ]


def test_an_empty_list_passes_nothing_on(backend: ScriptedServer) -> None:
    with running("--upstream", backend.url, config="passthrough = []\n") as gateway:
        for path in LISTED:
            assert post(gateway, path, GOOD).status == 404
    assert backend.requests == []


# Failover.


@pytest.mark.parametrize("variant", ["err500", "err503:2", "html502:2", "refuse", "err429"])
def test_a_failure_before_the_first_byte_is_healed(
    two: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant)
    reply = post(two, "completions", GOOD)
    assert reply.status == 200
    assert 2 <= len(backend.requests) <= 4


def test_there_are_never_more_attempts_than_configured(
    two: Gateway, backend: ScriptedServer
) -> None:
    backend.use("err500_always")
    assert post(two, "completions", GOOD).status == 502
    assert len(backend.requests) == 3


def test_a_refusal_is_not_tried_again(two: Gateway, backend: ScriptedServer) -> None:
    reply = post(two, "rerank", GOOD)
    assert (reply.status, len(backend.requests)) == (404, 1)


@pytest.mark.parametrize("variant", ["err500_always", "err429_always", "refuse:always"])
def test_another_backend_of_the_model_answers(backend: ScriptedServer, variant: str) -> None:
    backend.use(variant)
    with ScriptedServer() as other:
        config = (
            "[retries]\nbackoff = 60\n[[models]]\nname = 'm'\n"
            f"[[models.backends]]\nname = 'first'\nurl = '{backend.url}'\n"
            f"[[models.backends]]\nname = 'second'\nurl = '{other.url}'\nmodel = 'own'\n"
        )
        with running(config=config) as gateway:
            replies = [
                ask(gateway.port, {"model": "m", "prompt": "x"}, path="/v1/completions")
                for _ in range(3)
            ]
            metrics = ask(gateway.port, path="/metrics").body
        assert [reply.status for reply in replies] == [200] * 3
        assert {reply.headers["toolwire-backend"] for reply in replies} == {"second"}
        assert [asked.json["model"] for asked in other.requests] == ["own"] * 3
        # It failed once, so that others are preferred for a while.
        assert len(backend.requests) in (1, 2)
        assert b"toolwire_retries_total" in metrics
