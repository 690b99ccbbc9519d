"""When a turn is late, and when a client is told that we are still here: nobody waits for it."""

import pytest

from toolwire.backends.base import BackendTimeouts
from toolwire.gateway.deadline import Deadline
from toolwire.gateway.retry import TurnLimits

LIMITS = TurnLimits(total=100.0, keepalive=15.0)
TIMEOUTS = BackendTimeouts(first_token=20.0, idle=10.0)
START = 1000.0


def begun() -> Deadline:
    deadline = Deadline(LIMITS, START)
    deadline.begin(TIMEOUTS, START)
    return deadline


def test_a_backend_that_says_nothing_is_late_after_the_time_for_a_first_token() -> None:
    deadline = begun()
    assert deadline.look(START + 19.9) != "end"
    assert not deadline.expired
    assert deadline.look(START + 20) == "end"
    assert deadline.expired
    assert deadline.too_slow("b") == "The backend 'b' gave no answer within 20 s."


def test_a_backend_that_falls_silent_is_late_after_the_time_for_silence() -> None:
    deadline = begun()
    deadline.news = True
    assert deadline.look(START + 5) == "nothing"
    assert deadline.look(START + 14.9) == "nothing"
    assert deadline.look(START + 15) == "end"
    assert deadline.too_slow("b") == "The backend 'b' was silent for 10 s within its answer."


def test_a_turn_is_late_however_much_the_backend_says() -> None:
    deadline = begun()
    for seconds in range(0, 100, 5):
        deadline.news = deadline.told = True
        assert deadline.look(START + seconds) == "nothing"
    assert deadline.look(START + 100) == "end"
    assert deadline.too_slow("b") == "The backend 'b' did not finish within 100 s."


def test_each_attempt_has_its_own_time_for_a_first_token() -> None:
    deadline = begun()
    deadline.news = True
    deadline.look(START + 1)
    deadline.begin(TIMEOUTS, START + 8)
    assert deadline.look(START + 27) != "end"
    assert deadline.look(START + 28) == "end"
    assert "gave no answer" in deadline.too_slow("b")


def test_what_an_earlier_attempt_said_is_none_of_the_next_one() -> None:
    deadline = begun()
    deadline.news = True
    deadline.begin(TIMEOUTS, START + 1)
    assert deadline.look(START + 12) == "nothing", "the limit is that of a first token"


def test_no_silence_counts_while_nobody_is_asked_but_the_whole_turn_does() -> None:
    deadline = begun()
    deadline.news = True
    deadline.look(START + 1)
    deadline.rest()
    assert deadline.look(START + 99) != "end"
    assert deadline.look(START + 100) == "end"


def test_a_client_hears_of_us_while_all_that_a_backend_says_is_held() -> None:
    deadline = begun()
    looks = []
    for seconds in range(0, 40, 5):
        deadline.news = True
        looks.append(deadline.look(START + seconds))
    assert [5 * n for n, look in enumerate(looks) if look == "keepalive"] == [15, 30]


@pytest.mark.parametrize("resting", [False, True])
def test_a_client_hears_of_us_once_in_a_while(resting: bool) -> None:
    deadline = begun()
    if resting:
        deadline.rest()
    looks = [deadline.look(START + seconds) for seconds in (14, 15, 16, 19)]
    assert looks == ["nothing", "keepalive", "nothing", "nothing"]


def test_a_client_that_hears_the_model_needs_no_keepalive() -> None:
    deadline = begun()
    for seconds in (6, 12, 18):
        deadline.news = deadline.told = True
        assert deadline.look(START + seconds) == "nothing"
    assert deadline.since_start(START + 18) == 18
