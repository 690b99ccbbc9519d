"""Turns of a conversation: what is kept, what is not, and who may have it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.chatting import Client
from tests.unit.surfaces.native.speaking import (
    ASKED,
    TEXT,
    WEATHER,
    Gateway,
    body,
    call_of,
    calling,
    events,
    weather_call,
)

from toolwire.errors import StoreUnavailable, UpstreamRefused
from toolwire.protocol.fragments import Fragment
from toolwire.sessions.base import Claim
from toolwire.sessions.memory import MemoryStore
from toolwire.surfaces.native.session_turn import SessionRules

BOTH = pytest.mark.parametrize("stream", [False, True])
MORE = {"conversation_id": "c", "messages": [{"role": "user", "content": "And in Rome?"}]}


def begun(*answers: Any, **settings: Any) -> Gateway:
    """A gateway with the conversation `c`, in which one turn was made."""
    gateway = Gateway(*(answers or [TEXT]), **settings)
    assert gateway.ask(body(conversation_id="c")).status == 200
    return gateway


def history(gateway: Gateway, key: str | None = None) -> Any:
    """What is stored of the conversation."""
    shown = gateway.kept("show", "/c", key=key)
    return shown.json if shown.status == 200 else None


def said(gateway: Gateway) -> list[tuple[str, Any]]:
    """The roles and texts that the backend was sent last."""
    return [(message.role, message.content) for message in gateway.asked[-1].messages]


def result(call: Any, content: Any = "rain", **more: Any) -> dict[str, Any]:
    """The result of a call."""
    return {"tool_call_id": call["id"], "content": content, **more}


def test_a_client_sends_only_what_is_new() -> None:
    gateway = begun()
    client = gateway.ask(MORE)
    assert (client.status, client.json["conversation_id"], client.json["model"]) == (200, "c", "m")
    assert said(gateway) == [
        ("user", ASKED["content"]), ("assistant", "It rains."), ("user", "And in Rome?"),
    ]  # fmt: skip
    assert list(gateway.asked[-1].tools.tools) == ["get_weather"]
    assert history(gateway)["turns"] == 2
    assert gateway.asked[-1].request.affinity == "c"  # the same backend, if there are several


def test_a_turn_may_replace_the_tools_and_the_model() -> None:
    gateway = begun()
    other = json.loads(json.dumps(WEATHER).replace("get_weather", "get_time"))
    gateway.ask({**MORE, "tools": [other], "model": "m2"})
    gateway.ask(MORE)
    assert list(gateway.asked[-1].tools.tools) == ["get_time"]
    assert gateway.asked[-1].request.model == "m2"
    gateway.ask({**MORE, "tools": []})
    gateway.ask(MORE)
    assert not gateway.asked[-1].tools.tools


def test_instructions_are_kept_until_others_come() -> None:
    gateway = Gateway()
    gateway.ask(body({"role": "system", "content": "Be brief."}, ASKED, conversation_id="c"))
    gateway.ask(MORE)
    assert said(gateway)[0] == ("system", "Be brief.")
    changed = [{"role": "developer", "content": "Be long."}, *MORE["messages"]]
    gateway.ask({**MORE, "messages": changed})
    assert [text for role, text in said(gateway) if role != "user"] == [
        "Be long.", "It rains.", "It rains.",
    ]  # fmt: skip
    gateway.ask(MORE)
    assert [role for role, _ in said(gateway)].count("developer") == 1
    assert history(gateway)["messages"][0] == {"role": "developer", "content": "Be long."}


@BOTH
def test_results_find_their_calls_by_our_ids(stream: bool) -> None:
    gateway = begun(weather_call("p1"), TEXT)
    call = call_of_history(gateway)
    sent = {"conversation_id": "c", "tool_results": [result(call, {"sky": "rain"})]}
    assert gateway.ask({**sent, "stream": stream}).status == 200
    made, answer = gateway.asked[-1].messages[-2:]
    assert made.calls[0].provider_id == "p1"
    assert (answer.call_id, answer.content) == (call["id"], '{"sky":"rain"}')
    assert history(gateway)["messages"][2]["content"] == {"sky": "rain"}


def call_of_history(gateway: Gateway) -> Any:
    """The last call of the conversation."""
    return history(gateway)["messages"][-1]["tool_calls"][-1]


def test_results_come_before_what_the_user_says_next() -> None:
    gateway = begun(weather_call(), TEXT)
    sent = {**MORE, "tool_results": [result(call_of_history(gateway))]}
    assert gateway.ask(sent).status == 200
    roles = ["user", "assistant", "tool", "user"]
    assert [role for role, _ in said(gateway)] == roles
    assert [m["role"] for m in history(gateway)["messages"]] == [*roles, "assistant"]


def test_ids_of_providers_that_are_not_unique_do_no_harm() -> None:
    gateway = begun(weather_call("0"))
    gateway.ask({"conversation_id": "c", "tool_results": [result(call_of_history(gateway))]})
    gateway.ask({"conversation_id": "c", "tool_results": [result(call_of_history(gateway))]})
    ids = [call.provider_id for m in gateway.asked[-1].messages for call in m.calls]
    assert ids == ["0", "call_2"]


def refused(gateway: Gateway, call_id: str, key: str | None = None, name: str = "c") -> Client:
    """A result for a call that there is not."""
    sent = body(conversation_id=name, tool_results=[{"tool_call_id": call_id, "content": "x"}])
    return gateway.ask({**sent, "messages": []}, key=key)


def test_unknown_expired_and_foreign_ids_are_refused_in_the_same_words() -> None:
    now = [0.0]
    gateway = Gateway(weather_call(), store=MemoryStore(clock=lambda: now[0]))
    mine = call_of(gateway.ask(body(conversation_id="c"), key="mine"))
    gateway.ask(body(conversation_id="d"), key="mine")
    asked = len(gateway.asked)
    wrong = [
        refused(gateway, "call_of_nobody", "mine"),  # unknown
        refused(gateway, mine["id"], "other"),  # of another key
        refused(gateway, mine["id"], "mine", "d"),  # of another conversation
        refused(gateway, mine["id"], "mine", "never"),  # of none
    ]
    now[0] = 1e9
    wrong.append(refused(gateway, mine["id"], "mine"))  # expired
    assert {client.status for client in wrong} == {400}
    assert len({client.written for client in wrong}) == 1
    assert wrong[0].json["error"]["code"] == "unknown_tool_call_id"
    assert len(gateway.asked) == asked


def test_a_refused_request_leaves_the_conversation_as_it_was() -> None:
    gateway = begun(weather_call(), TEXT)
    before = history(gateway)
    assert refused(gateway, "call_x").status == 400
    assert gateway.ask(MORE).status == 400, "the call has no result"
    assert gateway.ask({**MORE, "tools": [7]}).status == 400
    assert history(gateway) == before
    results = [result(call_of_history(gateway))]
    assert gateway.ask({"conversation_id": "c", "tool_results": results}).status == 200


@BOTH
@pytest.mark.parametrize(
    "failure",
    [UpstreamRefused("No.", status=400), calling(("a", "no_such_tool", "{}"), text="Hm.")],
    ids=["backend", "model"],
)
def test_a_turn_that_fails_changes_nothing(failure: Any, stream: bool) -> None:
    gateway = begun()
    before = history(gateway)
    gateway.say(failure)
    failed = gateway.ask({**MORE, "stream": stream})
    assert b'"error"' in failed.written
    assert history(gateway) == before
    gateway.say(TEXT)
    assert gateway.ask({**MORE, "stream": stream}).status == 200
    assert history(gateway)["turns"] == 2


def test_a_stream_that_breaks_off_changes_nothing() -> None:
    gateway = begun()
    before = history(gateway)
    gateway.say((Fragment(text="It"),))
    gateway.backend.done = False
    assert [e["type"] for e in events(gateway.ask({**MORE, "stream": True}))][-1] == "error"
    assert history(gateway) == before


def meanwhile(gateway: Gateway, other: Callable[[], Awaitable[None]]) -> Client:
    """A turn, during which something else happens."""

    async def during() -> None:
        gateway.backend.before = None
        await other()

    gateway.backend.before = during
    return gateway.ask(MORE)


def test_a_second_turn_at_the_same_time_is_refused() -> None:
    gateway, second = begun(), []

    async def other() -> None:
        second.append(await gateway.asking(MORE))

    assert meanwhile(gateway, other).status == 200
    (client,) = second
    assert (client.status, client.json["error"]["code"]) == (409, "conversation_busy")
    assert client.headers["retry-after"] == "1"
    assert history(gateway)["turns"] == 2


def test_a_second_turn_waits_if_it_asked_to() -> None:
    gateway, second = begun(), []
    tasks: list[asyncio.Task[Client]] = []

    async def both() -> None:
        async def other() -> None:
            tasks.append(asyncio.create_task(gateway.asking({**MORE, "wait": 5})))
            await asyncio.sleep(0.05)

        async def during() -> None:
            gateway.backend.before = None
            await other()

        gateway.backend.before = during
        first = await gateway.asking(MORE)
        second.extend([first, await tasks[0]])

    asyncio.run(both())
    assert [client.status for client in second] == [200, 200]
    assert history(gateway)["turns"] == 3
    assert [role for role, _ in said(gateway)] == [
        "user", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


def test_a_client_that_waits_is_refused_when_its_time_is_over() -> None:
    gateway, second = begun(), []

    async def other() -> None:
        second.append(await gateway.asking({**MORE, "wait": 0.05}))

    meanwhile(gateway, other)
    assert second[0].status == 409


def test_other_keys_have_other_conversations_of_the_same_id() -> None:
    gateway = Gateway()
    gateway.ask(body(conversation_id="c"), key="a")
    gateway.ask(body({"role": "user", "content": "secret"}, conversation_id="c"), key="b")
    assert "secret" not in json.dumps(history(gateway, "a"))
    assert "secret" in json.dumps(history(gateway, "b"))
    assert history(gateway) is None
    assert gateway.kept("delete", "/c", key="x").status == 404
    assert gateway.kept("delete", "/c", key="a").status == 200
    assert history(gateway, "b") is not None


@BOTH
def test_a_client_that_leaves_changes_nothing(stream: bool) -> None:
    gateway = begun()
    before = history(gateway)

    async def leave() -> None:
        reached = asyncio.Event()

        async def forever() -> None:
            reached.set()
            await asyncio.sleep(60)

        gateway.backend.before = forever
        task = asyncio.create_task(gateway.asking({**MORE, "stream": stream}))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    gateway.backend.before = None
    assert history(gateway) == before
    assert gateway.ask(MORE).status == 200, "the conversation is free again"


class SlowCommit(MemoryStore):
    """A store whose commits take a while, and can be waited for."""

    committing: asyncio.Event

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        self.committing.set()
        await asyncio.sleep(0.05)
        await super().commit(claim, value, ttl)


def test_a_commit_that_has_begun_is_finished_when_the_client_leaves() -> None:
    store = SlowCommit()
    gateway = Gateway(store=store)

    async def leave() -> None:
        store.committing = asyncio.Event()
        task = asyncio.create_task(gateway.asking(body(conversation_id="c")))
        await store.committing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await store.get(gateway.sessions.key("", "c")) is not None
        store.committing = asyncio.Event()
        assert (await gateway.asking(MORE)).status == 200

    asyncio.run(leave())


# Requests that are sent again.


@BOTH
def test_the_same_request_is_answered_once(stream: bool) -> None:
    gateway = Gateway(calling(("p", "get_weather", '{"city": "Paris"}'), text="Let me see."))
    sent = body(conversation_id="c", stream=stream)
    first = gateway.ask(sent, idempotency_key="k")
    again = gateway.ask(sent, idempotency_key="k")
    assert again.headers["toolwire-replayed"] == "true"
    assert again.written == first.written
    assert len(gateway.asked) == 1
    assert history(gateway)["turns"] == 1


def test_an_answer_is_still_known_after_other_turns() -> None:
    gateway = begun()
    first = gateway.ask(MORE, idempotency_key="k")
    gateway.ask(MORE, idempotency_key="l")
    gateway.ask(MORE)
    assert gateway.ask(MORE, idempotency_key="k").written == first.written
    assert history(gateway)["turns"] == 4


def test_a_key_cannot_be_used_for_another_request() -> None:
    gateway = begun()
    gateway.ask(MORE, idempotency_key="k")
    client = gateway.ask({**MORE, "temperature": 1}, idempotency_key="k")
    assert (client.status, client.json["error"]["code"]) == (422, "idempotency_key_reused")
    assert gateway.ask(MORE, idempotency_key="x" * 256).status == 400


def test_a_failed_turn_is_made_again_under_the_same_key() -> None:
    gateway = begun()
    gateway.say(UpstreamRefused("No.", status=400))
    assert gateway.ask(MORE, idempotency_key="k").status == 400
    gateway.say(TEXT)
    assert gateway.ask(MORE, idempotency_key="k").status == 200
    assert history(gateway)["turns"] == 2


def test_a_new_conversation_that_is_asked_for_again_is_the_same() -> None:
    gateway = Gateway()
    first = gateway.ask(body(conversation_id="new"), idempotency_key="k").json
    again = gateway.ask(body(conversation_id="new"), idempotency_key="k").json
    other = gateway.ask(body(conversation_id="new"), idempotency_key="k", key="other").json
    assert first == again
    assert other["conversation_id"] != first["conversation_id"]
    assert gateway.ask(body(conversation_id="new")).json["conversation_id"].startswith("conv_")


# Bounds.


def full(gateway: Gateway, sent: Any) -> str:
    """Why a conversation takes no more."""
    asked = len(gateway.asked)
    client = gateway.ask(sent)
    assert (client.status, client.json["error"]["code"]) == (413, "conversation_full")
    assert len(gateway.asked) == asked, "the model was not asked"
    return str(client.json["error"]["message"])


def test_a_conversation_has_a_bounded_number_of_turns() -> None:
    gateway = begun(rules=SessionRules(max_turns=2))
    assert gateway.ask(MORE).status == 200
    assert "2 turns" in full(gateway, MORE)


def test_a_conversation_has_a_bounded_size() -> None:
    gateway = begun(rules=SessionRules(max_bytes=2000))
    long = {**MORE, "messages": [{"role": "user", "content": "x" * 2000}]}
    assert "2000" in full(gateway, long)
    assert gateway.ask(MORE).status == 200


def test_a_key_has_a_bounded_number_of_conversations() -> None:
    gateway = begun(rules=SessionRules(max_conversations=1))
    full(gateway, body(conversation_id="d"))
    assert gateway.ask(MORE).status == 200
    assert gateway.ask(body(conversation_id="d"), key="other").status == 200


# The store.


class Broken(MemoryStore):
    """A store that does not answer."""

    async def claim(self, *_: Any) -> Claim:
        raise StoreUnavailable("The session store does not answer.")


def test_without_the_store_only_conversations_fail() -> None:
    gateway = Gateway(store=Broken())
    client = gateway.ask(body(conversation_id="c"))
    assert (client.status, client.json["error"]["code"]) == (503, "session_store_unavailable")
    assert gateway.ask(body()).status == 200


class NoCommit(MemoryStore):
    """A store that fails when a turn is to be kept."""

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        raise StoreUnavailable("The session store does not answer.")


@BOTH
def test_an_answer_that_cannot_be_kept_is_an_error_and_no_call_is_delivered(stream: bool) -> None:
    gateway = Gateway(weather_call(), store=NoCommit())
    client = gateway.ask(body(conversation_id="c", stream=stream))
    assert b"session_store_unavailable" in client.written
    assert b'"tool_call"' not in client.written
    assert b"get_weather" not in client.written


def test_a_claim_is_renewed_while_a_turn_goes_on() -> None:
    gateway = Gateway(rules=SessionRules(lease=0.3))

    async def slowly() -> int:
        async def wait() -> None:
            await asyncio.sleep(0.8)

        gateway.backend.before = wait
        return (await gateway.asking(body(conversation_id="c"))).status

    assert asyncio.run(slowly()) == 200


def test_a_turn_whose_claim_was_lost_keeps_nothing() -> None:
    now = [0.0]
    gateway = begun(store=MemoryStore(clock=lambda: now[0]))

    async def other() -> None:
        now[0] += 100.0

    client = meanwhile(gateway, other)
    assert (client.status, client.json["error"]["code"]) == (409, "conversation_changed")
    assert history(gateway)["turns"] == 1


def test_a_server_without_sessions_says_so() -> None:
    gateway = Gateway()
    gateway.sessions = type(gateway.sessions)(
        None, SessionRules(), gateway.sessions.now, gateway.sessions.read_tools
    )
    client = gateway.ask(body(conversation_id="c"))
    assert (client.status, client.json["error"]["code"]) == (400, "sessions_off")
    assert gateway.ask(body()).status == 200


@pytest.mark.parametrize("document", [b"nonsense", b'{"version": 2, "created": 1}'])
def test_what_another_version_stored_is_an_error_and_stays_as_it_is(document: bytes) -> None:
    gateway = Gateway()
    key = gateway.sessions.key("", "c")
    asyncio.run(gateway.store.put({key: document}, 100.0))
    client = gateway.ask(MORE)
    assert (client.status, client.json["error"]["code"]) == (500, "internal_error")
    assert asyncio.run(gateway.store.get(key)) == document


def test_a_large_conversation_is_read_and_written_beside_the_loop() -> None:
    gateway = begun()
    long = {**MORE, "messages": [{"role": "user", "content": "x" * 200_000}]}
    assert gateway.ask(long).status == 200
    assert gateway.ask(MORE).status == 200
    assert history(gateway)["turns"] == 3
    assert refused(gateway, "call_x").status == 400
