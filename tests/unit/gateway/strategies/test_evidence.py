"""What is observed counts at once for whoever saw it, and for others with more of the same."""

from toolwire.gateway.strategies.evidence import COUNTED, REMEMBERED, Evidence

HERE, THERE = ("b", "m"), ("b", "n")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def evidence() -> tuple[Evidence[str], Clock]:
    clock = Clock()
    return Evidence(clock), clock


def test_an_observation_counts_for_whoever_made_it() -> None:
    seen, _ = evidence()
    seen.observe(HERE, "x", "a")
    assert seen.counting(HERE, "a") == ["x"]
    assert seen.counting(HERE, "b") == []
    assert seen.counting(THERE, "a") == []


def test_two_keys_make_it_count_for_everybody() -> None:
    seen, _ = evidence()
    seen.observe(HERE, "x", "a")
    seen.observe(HERE, "x", "b")
    assert seen.counting(HERE, "c") == ["x"]


def test_three_observations_of_one_key_make_it_count_for_everybody() -> None:
    seen, _ = evidence()
    for expected in ([], [], ["x"]):
        seen.observe(HERE, "x", "a")
        assert seen.counting(HERE, "b") == expected


def test_without_a_key_weak_evidence_counts_once_it_is_repeated() -> None:
    seen: Evidence[str] = Evidence(Clock(), keyless=2)
    for expected in ([], ["x"]):
        seen.observe(HERE, "x", "")
        assert seen.counting(HERE, "") == expected
    assert seen.counting(HERE, "a") == []
    seen.observe(THERE, "x", "a")
    assert seen.counting(THERE, "a") == ["x"]


def test_an_observation_can_be_forgotten() -> None:
    seen, _ = evidence()
    seen.observe(HERE, "x", "a")
    seen.observe(HERE, "y", "a")
    seen.forget(HERE, "x")
    seen.forget(THERE, "x")
    assert seen.counting(HERE, "a") == ["y"]


def test_two_keys_that_see_different_things_prove_nothing() -> None:
    seen, _ = evidence()
    seen.observe(HERE, "x", "a")
    seen.observe(HERE, "y", "b")
    assert seen.counting(HERE, "c") == []


def test_it_counts_for_a_while() -> None:
    seen, clock = evidence()
    seen.observe(HERE, "x", "a")
    clock.now = REMEMBERED - 1
    assert seen.counting(HERE, "a") == ["x"]
    clock.now = REMEMBERED
    assert seen.counting(HERE, "a") == []


def test_observations_are_counted_together_within_an_hour() -> None:
    seen, clock = evidence()
    seen.observe(HERE, "x", "a")
    clock.now = COUNTED
    seen.observe(HERE, "x", "b")
    assert seen.counting(HERE, "c") == ["x"]
    clock.now += COUNTED + 1
    seen.observe(HERE, "x", "d")
    assert seen.counting(HERE, "c") == []


def test_the_latest_comes_last() -> None:
    seen, clock = evidence()
    for clock.now, what in ((1.0, "x"), (2.0, "y"), (3.0, "x")):
        seen.observe(HERE, what, "a")
    assert seen.counting(HERE, "a") == ["y", "x"]


def test_only_so_much_is_kept() -> None:
    seen, _ = evidence()
    for number in range(3000):
        seen.observe(("b", f"{number}"), "x", "a")
        seen.observe(HERE, "x", f"{number}")
    assert len(seen.places) <= 1024
