import pytest
from tests.contract.wire import READER, USER, asked, body, call, result, tool

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound, RequestError
from toolwire.gateway.estimate import estimate
from toolwire.gateway.plan import Plan, make_plan
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.prompted import Constrained
from toolwire.protocol.content import TextPart
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall


def plan(raw: bytes, *, repair: bool = False, custom: bool = False) -> Plan:
    return make_plan(READER.read(raw), repair_history=repair, custom_tools=custom)


def test_the_backend_is_sent_the_checked_history() -> None:
    messages = [USER, asked(call("a"), call("b")), result("b"), result("a")]
    sent = plan(body(messages=messages)).outgoing.messages
    assert [message.call_id for message in sent] == ["", "", "a", "b"]


def test_what_is_wrong_with_a_history_is_said_before_anything_is_sent() -> None:
    with pytest.raises(RequestError):
        plan(body(messages=[result("a")]))


def test_what_was_mended_is_all_in_one_list() -> None:
    dangling = {"type": "object", "properties": {"a": {"$ref": "#/x"}}}
    made = plan(body(messages=[USER, result("a")], tools=[tool("f", dangling)]), repair=True)
    assert made.repairs == ("dangling_ref:f:#/x", "orphan_result:a")


CUSTOM = {"type": "custom", "custom": {"name": "sh"}}


def test_custom_tools_are_for_backends_that_take_them() -> None:
    raw = body(tools=[tool(), CUSTOM])
    assert list(plan(raw, custom=True).outgoing.tools.tools) == ["f", "sh"]
    with pytest.raises(RequestError) as caught:
        plan(raw)
    assert caught.value.code == "unsupported_value"


def test_a_custom_tool_that_is_not_allowed_anyway_is_no_reason_to_refuse() -> None:
    chosen = {"type": "allowed_tools", "allowed_tools": {"tools": [{"function": {"name": "f"}}]}}
    assert list(plan(body(tools=[CUSTOM, tool()], tool_choice=chosen)).outgoing.tools.tools) == [
        "f"
    ]


def test_each_choice_has_a_policy_of_its_own() -> None:
    made = plan(body(tools=[tool()]))
    assert made.policy(final=True) is not made.policy(final=True)


class TestRoutes:
    def served(self, *names: str) -> Routes:
        return Routes([ServedModel(name, BackendPool([], lambda: 0.0)) for name in names])

    def test_a_model_is_found_by_its_name(self) -> None:
        assert self.served("a", "b").find("b").name == "b"

    def test_a_star_stands_for_every_other_name(self) -> None:
        routes = self.served("a", "*")
        assert (routes.find("a").name, routes.find("x").name) == ("a", "*")
        assert routes.names == ["a"]

    def test_a_name_that_nobody_has_is_refused_with_those_there_are(self) -> None:
        with pytest.raises(ModelNotFound, match="This server has: 'a', 'b'") as caught:
            self.served("a", "b").find("x" * 500)
        assert len(caught.value.message) < 250

    def test_a_request_without_a_model_goes_to_the_star_or_the_first(self) -> None:
        assert self.served("a", "*").default().name == "*"
        assert self.served("a", "b").default().name == "a"


class TestEstimate:
    def test_it_counts_text_parts_calls_and_tools(self) -> None:
        text = ChatMessage("user", "x" * 400)
        parts = ChatMessage("user", (TextPart("x" * 400),))
        made = ChatMessage("assistant", None, (AssistantCall("a", "n" * 100, "x" * 300),))
        for message in (text, parts, made):
            assert estimate([message], 0, 0).prompt_tokens == 104
        assert estimate([text], 400, 0).prompt_tokens == 204

    @pytest.mark.parametrize(("characters", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (400, 100)])
    def test_what_was_said_is_never_rounded_to_nothing(self, characters: int, tokens: int) -> None:
        assert estimate([], 0, characters).completion_tokens == tokens


def test_a_way_of_one_call_asks_for_one_whatever_the_client_allows() -> None:
    made = plan(body(tools=[tool()], parallel_tool_calls=True))
    for one_call in (True, False):
        sent = Constrained(one_call=one_call).outgoing(made)
        assert ("at most one call" in str(sent.messages[0].content)) is one_call
        assert sent.constraint is not None
        assert (b'"maxItems":1' in sent.constraint.schema) is one_call


def test_examples_are_for_calling_and_not_for_choosing_whether_to() -> None:
    strategy = Constrained(examples=2)
    free = strategy.outgoing(plan(body(tools=[tool()])))
    assert free.constraint is not None
    assert len(free.constraint.messages) == len(free.messages) + 8
    demanded = strategy.outgoing(plan(body(tools=[tool()], tool_choice="required")))
    assert demanded.constraint is not None
    assert demanded.constraint.messages == ()
    assert len(demanded.messages) == len(free.constraint.messages)
