"""What every store does, whichever it is."""

import asyncio

import pytest
from tests.contract.sessions.stores import LEASE, SHORT, TTL, Bench, key, on_a_store

from toolwire.errors import ClaimLost, ConversationBusy
from toolwire.sessions.base import Claim, Store

# Claims.


@on_a_store
async def test_a_document_that_nobody_wrote_is_claimed_empty(store: Store, bench: Bench) -> None:
    claim = await store.claim(key(), LEASE)
    assert (claim.key, claim.value) == (key(), None)


@on_a_store
async def test_what_was_committed_is_claimed_next(store: Store, bench: Bench) -> None:
    await store.commit(await store.claim(key(), LEASE), b"\x00\xffone", TTL)
    assert (await store.claim(key(), LEASE)).value == b"\x00\xffone"


@on_a_store
async def test_a_claimed_document_is_busy(store: Store, bench: Bench) -> None:
    await store.claim(key(), LEASE)
    with pytest.raises(ConversationBusy):
        await store.claim(key(), LEASE)


@on_a_store
async def test_a_claim_keeps_others_of_the_same_documents_out(store: Store, bench: Bench) -> None:
    await store.claim(key(), LEASE)
    with pytest.raises(ConversationBusy):
        await bench.store().claim(key(), LEASE)


@on_a_store
async def test_a_claim_keeps_nobody_from_other_documents(store: Store, bench: Bench) -> None:
    await store.claim(key(), LEASE)
    for other in (key("conv_2"), key(owner="bob"), key(kind="response"), key(owner="")):
        assert (await store.claim(other, LEASE)).value is None


@on_a_store
async def test_a_released_document_is_unchanged(store: Store, bench: Bench) -> None:
    await store.commit(await store.claim(key(), LEASE), b"one", TTL)
    await store.release(await store.claim(key(), LEASE))
    assert (await store.claim(key(), LEASE)).value == b"one"


@on_a_store
async def test_a_claim_expires(store: Store, bench: Bench) -> None:
    old = await store.claim(key(), 0.05)
    await bench.wait(0.06)
    new = await store.claim(key(), LEASE)
    assert new.fence > old.fence


@on_a_store
async def test_fences_grow(store: Store, bench: Bench) -> None:
    fences = []
    for _ in range(20):
        claim = await store.claim(key(), LEASE)
        fences.append(claim.fence)
        await store.commit(claim, b"one", TTL)
    assert fences == sorted(set(fences))


@on_a_store
async def test_an_expired_claim_can_not_be_committed(store: Store, bench: Bench) -> None:
    old = await store.claim(key(), 0.05)
    await bench.wait(0.06)
    with pytest.raises(ClaimLost):
        await store.commit(old, b"late", TTL)
    assert await store.get(key()) is None


@on_a_store
async def test_a_claim_that_another_one_followed_changes_nothing(
    store: Store, bench: Bench
) -> None:
    old = await store.claim(key(), 0.05)
    await bench.wait(0.06)
    new = await store.claim(key(), LEASE)
    with pytest.raises(ClaimLost):
        await store.commit(old, b"late", TTL)
    with pytest.raises(ClaimLost):
        await store.renew(old, LEASE)
    await store.release(old)
    with pytest.raises(ConversationBusy):
        await store.claim(key(), LEASE)
    await store.commit(new, b"in time", TTL)
    assert await store.get(key()) == b"in time"


@on_a_store
async def test_a_claim_is_committed_once(store: Store, bench: Bench) -> None:
    claim = await store.claim(key(), LEASE)
    await store.commit(claim, b"one", TTL)
    with pytest.raises(ClaimLost):
        await store.commit(claim, b"two", TTL)
    assert await store.get(key()) == b"one"


@on_a_store
async def test_a_renewed_claim_holds(store: Store, bench: Bench) -> None:
    claim = await store.claim(key(), SHORT)
    await store.renew(claim, LEASE)
    await bench.wait(SHORT * 1.1)
    with pytest.raises(ConversationBusy):
        await store.claim(key(), LEASE)
    await store.commit(claim, b"one", TTL)
    assert await store.get(key()) == b"one"


@on_a_store
async def test_of_many_claims_at_once_one_succeeds(store: Store, bench: Bench) -> None:
    doors = [store, bench.store(), bench.store()]
    claims = [door.claim(key(), LEASE) for door in doors for _ in range(10)]
    ends = await asyncio.gather(*claims, return_exceptions=True)
    (won,) = [end for end in ends if not isinstance(end, ConversationBusy)]
    assert isinstance(won, Claim), won


# How long documents live.


@on_a_store
async def test_a_document_expires(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, 0.05)
    await bench.wait(0.06)
    assert await store.get(key()) is None
    assert await store.list("conversation", "alice", "", 10) == []
    assert await store.count("conversation", "alice") == 0
    assert not await store.delete(key())
    assert (await store.claim(key(), LEASE)).value is None


@on_a_store
async def test_a_commit_extends_the_life_of_a_document(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, SHORT)
    await store.commit(await store.claim(key(), LEASE), b"two", TTL)
    await bench.wait(SHORT * 1.1)
    assert await store.get(key()) == b"two"
    assert await store.count("conversation", "alice") == 1


@on_a_store
async def test_a_claimed_document_does_not_expire(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, SHORT)
    claim = await store.claim(key(), LEASE)
    await bench.wait(SHORT * 1.1)
    assert await store.get(key()) == b"one"
    await store.commit(claim, b"two", TTL)
    assert await store.get(key()) == b"two"


@on_a_store
async def test_a_released_document_lives_no_longer_than_before(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, 0.2)
    claim = await store.claim(key(), LEASE)
    await bench.wait(0.25)
    await store.release(claim)
    assert await store.get(key()) is None


@on_a_store
async def test_a_document_that_expired_begins_anew(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, SHORT)
    (before,) = await store.list("conversation", "alice", "", 10)
    await bench.wait(SHORT * 1.1)
    await store.put({key(): b"two"}, TTL)
    (after,) = await store.list("conversation", "alice", "", 10)
    assert after.created > before.created


# Reading and writing without a claim.


@on_a_store
async def test_several_documents_are_put_at_once(store: Store, bench: Bench) -> None:
    values = {key(f"conv_{n}", owner): b"%d" % n for n in range(5) for owner in ("alice", "bob")}
    await store.put(values, TTL)
    assert {each: await store.get(each) for each in values} == values


@on_a_store
async def test_of_documents_that_are_put_together_a_claimed_one_refuses_all(
    store: Store, bench: Bench
) -> None:
    await store.claim(key("conv_2"), LEASE)
    with pytest.raises(ConversationBusy):
        await store.put({key("conv_1"): b"one", key("conv_2"): b"two"}, TTL)
    assert await store.get(key("conv_1")) is None


@on_a_store
async def test_nothing_is_put_where_nothing_is_given(store: Store, bench: Bench) -> None:
    await store.put({}, TTL)
    assert await store.count("conversation", "alice") == 0


@on_a_store
async def test_a_claimed_document_can_be_read(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, TTL)
    await store.claim(key(), LEASE)
    assert await store.get(key()) == b"one"


@on_a_store
async def test_a_deleted_document_is_gone(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, TTL)
    assert await store.delete(key())
    assert not await store.delete(key())
    assert await store.get(key()) is None
    assert await store.list("conversation", "alice", "", 10) == []
    assert (await store.claim(key(), LEASE)).value is None


@on_a_store
async def test_a_claimed_document_can_not_be_deleted(store: Store, bench: Bench) -> None:
    await store.put({key(): b"one"}, TTL)
    claim = await store.claim(key(), LEASE)
    with pytest.raises(ConversationBusy):
        await store.delete(key())
    await store.release(claim)
    assert await store.delete(key())


@on_a_store
async def test_what_one_wrote_another_reads(store: Store, bench: Bench) -> None:
    await store.commit(await store.claim(key(), LEASE), b"one", TTL)
    other = bench.store()
    assert await other.get(key()) == b"one"
    assert [entry.id for entry in await other.list("conversation", "alice", "", 10)] == ["conv_1"]


@on_a_store
async def test_a_large_document_comes_back_whole(store: Store, bench: Bench) -> None:
    large = bytes(range(256)) * 16_384
    await store.commit(await store.claim(key(), LEASE), large, TTL)
    assert await store.get(key()) == large


# Owners.


@on_a_store
async def test_a_document_is_seen_by_nobody_but_its_owner(store: Store, bench: Bench) -> None:
    await store.put({key(owner="alice"): b"one"}, TTL)
    for owner in ("bob", "", "Alice", "alice ", "al", "*", "alice:conv_1"):
        assert await store.get(key(owner=owner)) is None
        assert await store.list("conversation", owner, "", 10) == []
        assert await store.count("conversation", owner) == 0
        assert not await store.delete(key(owner=owner))
    assert await store.get(key(owner="alice")) == b"one"


@on_a_store
async def test_names_that_look_alike_are_not_confused(store: Store, bench: Bench) -> None:
    names = [
        "a",
        "b",
        "a:b",
        "a%3Ab",
        "{a}",
        "a}",
        "b:c",
        "",
        " ",
        "ä",
        "%",
        "_",
        "a/b",
        "*",
        "a\x00b",
    ]
    pairs = [(name, owner) for owner in names for name in names if name]
    keys = [key(*pair, kind) for kind in ("k", "k:a") for pair in pairs]
    await store.put({each: repr(each).encode() for each in keys}, TTL)
    assert [each for each in keys if await store.get(each) != repr(each).encode()] == []
    for owner in names:
        listed = [entry.id for entry in await store.list("k", owner, "", 100)]
        assert listed == sorted(name for name in names if name)


# Lists.


@on_a_store
async def test_a_list_is_in_the_order_of_ids_and_paged(store: Store, bench: Bench) -> None:
    ids = [f"conv_{n}" for n in range(25)]
    await store.put({key(each): b"one" for each in ids}, TTL)
    paged, after = [], ""
    while page := await store.list("conversation", "alice", after, 10):
        assert len(page) <= 10
        paged += [entry.id for entry in page]
        after = paged[-1]
    assert paged == sorted(ids)
    assert await store.count("conversation", "alice") == 25


@on_a_store
async def test_a_list_says_when_a_document_was_made_and_how_large_it_is(
    store: Store, bench: Bench
) -> None:
    await store.commit(await store.claim(key(), LEASE), b"one", TTL)
    (made,) = await store.list("conversation", "alice", "", 10)
    await bench.wait(0.01)
    await store.commit(await store.claim(key(), LEASE), b"three", TTL)
    (changed,) = await store.list("conversation", "alice", "", 10)
    assert made.created == made.updated == changed.created < changed.updated
    assert (made.size, changed.size) == (3, 5)


@on_a_store
async def test_a_claim_alone_is_not_listed(store: Store, bench: Bench) -> None:
    await store.claim(key(), LEASE)
    assert await store.list("conversation", "alice", "", 10) == []
    assert await store.count("conversation", "alice") == 0


@on_a_store
async def test_a_store_that_answers_says_so(store: Store, bench: Bench) -> None:
    await store.ping()
