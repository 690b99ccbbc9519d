"""Any sequence of turns, results, failures, expiries and deletions gives the history that a plain
model of it gives, for each key."""

import asyncio
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.unit.surfaces.native.speaking import ASKED, TEXT, WEATHER, Gateway, calling

from toolwire.errors import UpstreamRefused
from toolwire.protocol.fragments import Fragment
from toolwire.sessions.base import Store
from toolwire.sessions.memory import MemoryStore
from toolwire.sessions.sqlite import SqliteStore
from toolwire.surfaces.native.session_turn import SessionRules

TTL = 1000.0
NAMES = st.sampled_from(["a", "b"])
KEYS = st.sampled_from(["mine", "yours"])
CONTENTS = st.sampled_from(["text", {"any": ["json", None]}, 7, None, "error: no"])


@dataclass
class Expected:
    """What a conversation should be."""

    messages: list[Any] = field(default_factory=list)
    instructions: Any = None
    tools: list[Any] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """Calls without results."""
    until: float = 0.0
    provider_ids: dict[str, str] = field(default_factory=dict)


class Conversations(RuleBasedStateMachine):
    """Two keys, each with up to two conversations."""

    def opened(self) -> Store:
        """The store that conversations are kept in."""
        return MemoryStore(clock=lambda: self.now)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.gateway.store.aclose())
            self.runner.close()

    @initialize()
    def begin(self) -> None:
        self.now = 0.0
        store = self.opened()
        rules = SessionRules(ttl=TTL, lease=30.0)
        self.gateway = Gateway(TEXT, store=store, rules=rules, now=lambda: self.now)
        self.runner = asyncio.Runner()
        self.gateway.run = self.runner.run
        self.expected: dict[tuple[str, str], Expected] = {}
        self.number = 0
        self.every_id: list[str] = []

    def living(self, key: str, name: str) -> Expected:
        """The conversation, or a new one."""
        found = self.expected.get((key, name))
        if found is None or found.until <= self.now:
            return Expected()
        return found

    def turn(self, key: str, name: str, stream: bool, sent: dict[str, Any], calls: int = 0) -> None:
        """A turn that should succeed."""
        before = self.living(key, name)
        made = []
        for _ in range(calls):
            self.number += 1
            made.append((f"p{self.number % 5}", "get_weather", '{"city": "Paris"}'))
        self.gateway.say(calling(*made) if made else TEXT)
        body = {"model": "m", "conversation_id": name, "stream": stream, **sent}
        client = self.gateway.ask(body, key=key)
        assert client.status == 200, client.written
        assert b'"error"' not in client.written
        shown = self.gateway.kept("show", f"/{name}", key=key).json
        answer = shown["messages"][-1]
        messages = list(sent.get("messages", []))
        if messages and messages[0]["role"] == "system":
            before.instructions = messages.pop(0)
        results = [{"role": "tool", **result} for result in sent.get("tool_results", [])]
        before.messages = [*before.messages, *results, *messages, answer]
        before.tools = sent.get("tools", before.tools)
        before.open = [call["id"] for call in answer.get("tool_calls", [])]
        self.every_id += before.open
        assert len(before.open) == calls
        before.until = self.now + TTL
        self.expected[key, name] = before
        self.check_sent(before)

    def check_sent(self, kept: Expected) -> None:
        """The backend was sent the history, and its own ids for calls where they are unique."""
        sent = self.gateway.asked[-1].messages
        roles = [m["role"] for m in kept.messages[:-1]]
        lead = ["system"] if kept.instructions else []
        assert [m.role for m in sent] == lead + roles
        ids = [call.provider_id for m in sent for call in m.calls]
        assert len(set(ids)) == len(ids)

    @rule(
        key=KEYS,
        name=NAMES,
        stream=st.booleans(),
        calls=st.integers(0, 2),
        tools=st.booleans(),
        system=st.booleans(),
    )
    def ask(
        self, *, key: str, name: str, stream: bool, calls: int, tools: bool, system: bool
    ) -> None:
        kept = self.living(key, name)
        if kept.open:
            return
        self.number += 1
        messages: list[Any] = [{**ASKED, "content": f"question {self.number}"}]
        if system:
            messages.insert(0, {"role": "system", "content": f"instruction {self.number}"})
        sent: dict[str, Any] = {"messages": messages}
        if tools or not kept.tools:
            sent["tools"] = [WEATHER]
        self.turn(key, name, stream, sent, calls)

    @rule(key=KEYS, name=NAMES, stream=st.booleans(), content=CONTENTS, failed=st.booleans())
    def send_results(self, key: str, name: str, stream: bool, content: Any, failed: bool) -> None:
        kept = self.living(key, name)
        results = [{"tool_call_id": call_id, "content": content} for call_id in kept.open]
        if failed:
            results = [{**result, "is_error": True} for result in results]
        if results:
            self.turn(key, name, stream, {"tool_results": results})

    @rule(key=KEYS, name=NAMES, stream=st.booleans(), how=st.sampled_from(["refuse", "cut", "bad"]))
    def fail(self, key: str, name: str, stream: bool, how: str) -> None:
        if self.living(key, name).open:
            return
        answers: dict[str, Any] = {
            "refuse": UpstreamRefused("No.", status=400),
            "cut": (Fragment(text="half an"),),
            "bad": calling(("x", "no_such_tool", "{}")),
        }
        self.gateway.say(answers[how])
        self.gateway.backend.done = how != "cut"
        sent = {"model": "m", "messages": [ASKED], "tools": [WEATHER]}
        client = self.gateway.ask({**sent, "conversation_id": name, "stream": stream}, key=key)
        self.gateway.backend.done = True
        assert b'"error"' in client.written

    @rule(key=KEYS, name=NAMES, data=st.data())
    def answer_a_call_of_others(self, key: str, name: str, data: st.DataObject) -> None:
        kept = self.living(key, name)
        known = json.dumps(kept.messages)
        foreign = [each for each in [*self.every_id, "call_x"] if each not in known]
        call_id = data.draw(st.sampled_from(foreign))
        asked = len(self.gateway.asked)
        results = [{"tool_call_id": call_id, "content": "x"}]
        client = self.gateway.ask(
            {"model": "m", "conversation_id": name, "tool_results": results}, key=key
        )
        assert (client.status, client.json["error"]["code"]) == (400, "unknown_tool_call_id")
        assert len(self.gateway.asked) == asked

    @rule(key=KEYS, name=NAMES)
    def delete(self, key: str, name: str) -> None:
        there = self.living(key, name).until > self.now
        client = self.gateway.kept("delete", f"/{name}", key=key)
        assert client.status == (200 if there else 404)
        self.expected.pop((key, name), None)

    @rule(seconds=st.sampled_from([1.0, 400.0, 1001.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(key=KEYS, name=NAMES, stream=st.booleans())
    def leave(self, key: str, name: str, stream: bool) -> None:
        """The client leaves while the backend is asked."""
        if self.living(key, name).open:
            return

        async def left() -> None:
            reached = asyncio.Event()

            async def forever() -> None:
                reached.set()
                await asyncio.sleep(60)

            self.gateway.backend.before = forever
            sent = {"model": "m", "conversation_id": name, "messages": [ASKED], "stream": stream}
            task = asyncio.create_task(self.gateway.asking(sent, key=key))
            await reached.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.gateway.backend.before = None

        self.gateway.run(left())

    @precondition(lambda self: self.expected)
    @rule(key=KEYS, name=NAMES, stream=st.booleans())
    def repeat(self, key: str, name: str, stream: bool) -> None:
        """A request that is sent twice is one turn."""
        if self.living(key, name).open:
            return
        self.number += 1
        sent = {"messages": [{**ASKED, "content": f"question {self.number}"}], "tools": [WEATHER]}
        self.turn(key, name, stream, sent)
        # The turn again, under a key, twice.
        body = {"model": "m", "conversation_id": name, **sent}
        first = self.gateway.ask(body, key=key, idempotency_key=f"k{self.number}")
        asked = len(self.gateway.asked)
        again = self.gateway.ask(body, key=key, idempotency_key=f"k{self.number}")
        assert again.written == first.written
        assert len(self.gateway.asked) == asked
        kept = self.expected[key, name]
        kept.messages = [*kept.messages, *sent["messages"], kept.messages[-1]]

    @invariant()
    def histories_are_as_expected(self) -> None:
        if not hasattr(self, "expected"):
            return
        for key in ("mine", "yours"):
            alive = {}
            for name in ("a", "b"):
                kept = self.living(key, name)
                client = self.gateway.kept("show", f"/{name}", key=key)
                if kept.until <= self.now:
                    assert client.status == 404
                    continue
                alive[name] = kept
                lead = [kept.instructions] if kept.instructions else []
                assert client.json["messages"] == lead + kept.messages
                assert client.json["tools"] == kept.tools
            listed = self.gateway.kept("list", key=key).json["data"]
            assert [entry["id"] for entry in listed] == sorted(alive)


class StoredConversations(Conversations):
    """The same in a file."""

    def opened(self) -> Store:
        self.folder = Path(tempfile.mkdtemp())
        return SqliteStore(self.folder / "sessions.db", clock=lambda: self.now)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder)


TestConversations = Conversations.TestCase
TestConversations.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestStoredConversations = StoredConversations.TestCase
TestStoredConversations.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)
