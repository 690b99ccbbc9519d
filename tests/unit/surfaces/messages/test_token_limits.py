"""What a backend has said about its context is known for the next requests."""

from dataclasses import dataclass

from tests.contract.messaging import asked

from toolwire.errors import UpstreamRefused
from toolwire.surfaces.messages.token_limits import TokenLimits

WORDS = (
    "This model's maximum context length is {window} tokens. However, you requested 42000 tokens "
    "({prompt} in the messages, 32000 in the completion)."
)
ASKED = asked(max_tokens=32000, system="x" * 36_000).request
"""Its prompt is estimated at about 10000 tokens."""


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def refused(prompt: int, window: int) -> UpstreamRefused:
    return UpstreamRefused(WORDS.format(prompt=prompt, window=window), status=400)


def learned(prompt: int, window: int, clock: Clock | None = None) -> TokenLimits:
    limits = TokenLimits(clock or Clock())
    limits.learn(ASKED, refused(prompt, window))
    return limits


def test_the_next_request_leaves_room_for_its_prompt() -> None:
    lowered = learned(8000, 20000).applied(ASKED)
    assert lowered.sampling.max_tokens == 20000 - int(8000 * 1.02)
    assert lowered.adjusted == ("max_tokens",)


def test_a_request_that_fits_is_left_alone() -> None:
    short = asked(max_tokens=500, system="x" * 3_600).request
    assert learned(8000, 20000).applied(short) is short


def test_another_model_is_left_alone() -> None:
    other = asked(model="other", max_tokens=32000).request
    assert learned(8000, 20000).applied(other) is other


def test_a_prompt_that_seems_too_long_is_left_to_the_backend() -> None:
    long = asked(max_tokens=32000, system="x" * 100_000).request
    assert learned(8000, 20000).applied(long) is long


def test_what_was_said_is_forgotten_after_a_while() -> None:
    clock = Clock()
    limits = learned(8000, 20000, clock)
    clock.now = 601.0
    assert limits.applied(ASKED) is ASKED


def test_nothing_is_learned_from_a_prompt_that_does_not_fit_or_from_other_words() -> None:
    assert learned(21000, 20000).applied(ASKED) is ASKED
    limits = TokenLimits(Clock())
    limits.learn(ASKED, UpstreamRefused("no", status=400))
    assert limits.applied(ASKED) is ASKED
