from toolwire.server.telemetry.throttle import Throttle


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_first_of_each_kind_gets_through() -> None:
    throttle = Throttle(Clock())
    assert throttle.admit("a") == 0
    assert throttle.admit("b") == 0


def test_repeated_ones_are_held_back_and_counted() -> None:
    clock = Clock()
    throttle = Throttle(clock, period=60)
    throttle.admit("a")
    for second in range(1, 60):
        clock.now = second
        assert throttle.admit("a") is None
    clock.now = 60
    assert throttle.admit("a") == 59
    assert throttle.admit("a") is None


def test_it_forgets_rather_than_grows() -> None:
    throttle = Throttle(Clock())
    for number in range(10_000):
        throttle.admit(number)
    assert len(throttle._seen) <= 256
