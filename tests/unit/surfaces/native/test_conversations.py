"""Lists, views and deletions of conversations."""

import pytest
from tests.unit.surfaces.native.speaking import WEATHER, Gateway, body

LONG = "limit=000000001" + "1" * 5000


def named(gateway: Gateway, *names: str, key: str | None = None) -> None:
    """Begin these conversations."""
    for name in names:
        assert gateway.ask(body(conversation_id=name), key=key).status == 200


def test_a_list_has_the_callers_own_conversations_page_by_page() -> None:
    gateway = Gateway()
    named(gateway, "b", "a", "c", key="mine")
    named(gateway, "d", key="other")
    page = gateway.kept("list", "?limit=2", key="mine").json
    assert [entry["id"] for entry in page["data"]] == ["a", "b"]
    assert (page["has_more"], page["last_id"]) == (True, "b")
    rest = gateway.kept("list", "?limit=2&after=b", key="mine").json
    assert [entry["id"] for entry in rest["data"]] == ["c"]
    assert not rest["has_more"]
    assert gateway.kept("list", key="nobody").json == {
        "object": "list", "data": [], "has_more": False, "last_id": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=0000000019999", LONG, "after=a/b"],
)
def test_a_wrong_page_is_refused(query: str) -> None:
    assert Gateway().kept("list", f"?{query}").status == 400


def test_a_view_has_what_was_said_and_the_tools() -> None:
    gateway = Gateway()
    named(gateway, "a")
    shown = gateway.kept("show", "/a").json
    assert shown["tools"] == [WEATHER]
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
    assert (shown["model"], shown["turns"]) == ("m", 1)
    assert shown["expires_at"] > shown["updated_at"] == shown["created_at"]


@pytest.mark.parametrize("name", ["no", "a%20b", "..", "a" * 200])
@pytest.mark.parametrize("method", ["show", "delete"])
def test_an_unknown_conversation_is_not_found(method: str, name: str) -> None:
    client = Gateway().kept(method, f"/{name}")
    assert (client.status, client.json["code"]) == (404, "conversation_not_found")


def test_a_deleted_conversation_is_gone_and_its_id_is_free() -> None:
    gateway = Gateway()
    named(gateway, "a")
    assert gateway.kept("delete", "/a").json == {
        "id": "a", "object": "conversation", "deleted": True,
    }  # fmt: skip
    assert gateway.kept("show", "/a").status == 404
    assert gateway.kept("delete", "/a").status == 404
    named(gateway, "a")
    assert len(gateway.kept("show", "/a").json["messages"]) == 2
