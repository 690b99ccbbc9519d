"""Who has a key: what is compared, and how (R8)."""

import hashlib
import hmac
import random
import string
import time

import pytest
from tests.e2e.gateway.sizes import FULL
from tests.hard.figures import note

from toolwire.errors import Unauthorized
from toolwire.server.access import auth
from toolwire.server.access.auth import Admission, Keyring, hash_key, new_key
from toolwire.server.config.loader import ClientKey

KEYS = {f"client-{i}": new_key() for i in range(5)}
RING = Keyring(ClientKey(name, hash_key(key)) for name, key in KEYS.items())


def test_each_key_is_known_by_its_name() -> None:
    for name, key in KEYS.items():
        assert RING.check(f"Bearer {key}") == name
        assert RING.check(f"Bearer {key}".encode()) == name


@pytest.mark.parametrize("form", ["bearer {}", "BEARER {}", "Bearer   {}", "  Bearer {}  "])
def test_the_scheme_is_written_in_any_case_and_spacing(form: str) -> None:
    assert RING.check(form.format(KEYS["client-3"])) == "client-3"


KEY = KEYS["client-0"]
REFUSED: list[bytes | str | None] = [
    None,
    "",
    "Bearer",
    "Bearer ",
    KEY,
    f"Basic {KEY}",
    f"Bearer{KEY}",
    f"Bearer {KEY[:-1]}",
    f"Bearer {KEY}x",
    f"Bearer {KEY} {KEY}",
    f"Bearer {KEY.upper()}",
    f"Bearer {hash_key(KEY)}",
    f'Bearer "{KEY}"',
    f"Bearer {KEY}\x00",
    f"Bearer {KEY}\u0131",
    "Bearer schlüssel",
    "Bearer \ud800",
    b"Bearer \xff\xfe",
    b"\xff" * 100,
    "Bearer ' OR '1'='1",
    "Bearer " + "a" * 1_000_000,
    b"Bearer " + KEY.encode() * 20_000,
]


@pytest.mark.parametrize("header", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_a_key_is_refused(header: bytes | str | None) -> None:
    assert RING.check(header) is None


def test_an_over_long_key_is_refused_even_if_its_hash_is_known() -> None:
    long = "x" * 600
    assert Keyring([ClientKey("long", hash_key(long))]).check(f"Bearer {long}") is None


def test_ten_thousand_wrong_keys_are_refused() -> None:
    rng = random.Random(8)
    alphabet = string.ascii_letters + string.digits + "-_'\"; %\\ü"
    for number in range(10_000):
        right = rng.choice(list(KEYS.values()))
        start = right[: number % len(right)]
        wrong = start + "".join(rng.choices(alphabet, k=rng.randint(1, 60)))
        assert wrong in KEYS.values() or RING.check(f"Bearer {wrong}") is None


def test_a_key_is_compared_with_every_configured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def record(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return hmac.compare_digest(left, right)

    class Spy:
        compare_digest = staticmethod(record)

    monkeypatch.setattr(auth, "hmac", Spy)
    digests = [hashlib.sha256(key.encode()).digest() for key in KEYS.values()]
    for presented in (KEYS["client-0"], KEYS["client-4"], "tw-wrong"):
        compared.clear()
        RING.check(f"Bearer {presented}")
        assert compared == [(hashlib.sha256(presented.encode()).digest(), d) for d in digests]


@pytest.mark.timed
def test_a_shared_prefix_makes_no_difference_in_time() -> None:
    near = f"Bearer {KEY[:-1]}!"
    far = "Bearer " + "!" * len(KEY)
    times: dict[str, list[float]] = {near: [], far: []}
    for _ in range(1000):
        for header, taken in times.items():
            started = time.perf_counter()
            for _ in range(10):
                RING.check(header)
            taken.append(time.perf_counter() - started)
    # The least of many short runs is the time without the rest of the machine in it.
    apart = abs(min(times[near]) / min(times[far]) - 1)
    note(f"{apart:.1%} between a right beginning and a wrong one")
    assert apart < (0.05 if FULL else 0.1)


def test_without_keys_the_door_is_open_and_still_nobody_is_known() -> None:
    assert Keyring([]).open
    assert not RING.open
    assert Keyring([]).check(f"Bearer {KEY}") is None


def test_new_keys_are_long_random_and_usable() -> None:
    keys = {new_key() for _ in range(1000)}
    assert len(keys) == 1000
    for key in keys:
        assert key.startswith("tw-")
        assert len(key) >= 46
        assert auth.is_usable(key)


def test_a_hash_is_plain_sha256_so_that_any_tool_can_make_it() -> None:
    assert hash_key("abc") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize("key", ["", "a b", "ü", "a\n", "x" * 600])
def test_a_key_that_no_client_could_present_is_not_usable(key: str) -> None:
    assert not auth.is_usable(key)


def admission(seen: list[str] | None = None) -> Admission:
    return Admission(RING, ([] if seen is None else seen).append)


def headers(bearer: str | None = None, own: str | None = None) -> dict[bytes, bytes]:
    given = {b"authorization": bearer and f"Bearer {bearer}", b"x-api-key": own}
    return {name: value.encode() for name, value in given.items() if value is not None}


def test_a_key_is_accepted_in_either_header() -> None:
    door = admission()
    for _ in range(2):  # the second time from the cache
        assert door.name(headers(KEYS["client-1"])) == "client-1"
        assert door.name(headers(own=KEYS["client-2"])) == "client-2"


def test_of_two_keys_the_bearer_decides_if_it_is_valid() -> None:
    door = admission()
    for _ in range(2):
        assert door.name(headers(KEYS["client-1"], KEYS["client-2"])) == "client-1"
        assert door.name(headers(KEYS["client-1"], "tw-wrong")) == "client-1"
        assert door.name(headers("tw-wrong", KEYS["client-2"])) == "client-2"
        assert door.name({b"authorization": b"Basic eA==", **headers(own=KEY)}) == "client-0"


NOT_OWN = [
    "",
    f"Bearer {KEY}",
    KEY[:-1],
    f"{KEY}, {KEY}",
    f'"{KEY}"',
    hash_key(KEY),
    "schlüssel",
    KEY * 20_000,
]


@pytest.mark.parametrize("own", NOT_OWN, ids=range(len(NOT_OWN)))
def test_what_is_not_a_key_is_refused_in_x_api_key_too(own: str) -> None:
    door = admission()
    assert door.name(headers(KEY)) == "client-0"  # now `Bearer KEY` is in the cache
    with pytest.raises(Unauthorized):
        door.name(headers(own=own))


def test_every_accepted_key_is_masked_from_then_on_and_no_other() -> None:
    seen: list[str] = []
    door = admission(seen)
    door.name(headers(KEYS["client-1"]))
    door.name(headers("tw-wrong", KEYS["client-2"]))
    assert seen == [KEYS["client-1"], KEYS["client-2"]]


def test_without_keys_nothing_is_asked_for() -> None:
    assert Admission(Keyring([]), lambda _: None).name({}) is None
