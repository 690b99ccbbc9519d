"""A backend of an unknown kind is asked what it is, before the first request that needs it."""

from tests.e2e.gateway.process import running
from tests.e2e.gateway.scenes import TOOLS
from tests.e2e.gateway.wire import ask, chat_body
from tests.scripted import ScriptedServer

AUTO = ("--upstream-dialect", "auto")


def posts(backend: ScriptedServer) -> list[str]:
    return [request.path for request in backend.requests if request.method == "POST"]


def gets(backend: ScriptedServer) -> list[str]:
    return [request.path for request in backend.requests if request.method == "GET"]


def test_it_is_asked_once_and_only_when_it_matters() -> None:
    with (
        ScriptedServer(script=["hello"]) as backend,
        running("--upstream", backend.url, *AUTO) as gateway,
    ):
        assert ask(gateway.port, chat_body()).status == 200
        assert gets(backend) == []
        for _ in range(3):
            assert ask(gateway.port, chat_body(tools=TOOLS)).status == 200
        assert gets(backend)[0] == "/v1/models"
        assert len(gets(backend)) == len(set(gets(backend)))
        assert len(posts(backend)) == 4
        gateway.wait_for_log("could not be identified")


def test_what_is_not_sent_is_named_and_logged_once() -> None:
    with (
        ScriptedServer(script=["hello"]) as backend,
        running("--upstream", backend.url, *AUTO) as gateway,
    ):
        for _ in range(3):
            reply = ask(gateway.port, chat_body(top_k=20))
            assert reply.headers["toolwire-ignored-params"] == "top_k"
        gateway.wait_for_log("is not sent 'top_k'")
        assert gateway.log.count("is not sent 'top_k'") == 1
