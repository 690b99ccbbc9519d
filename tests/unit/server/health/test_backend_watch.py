import logging

import pytest

from toolwire.errors import (
    InvalidToolArguments,
    KeyRefused,
    ToolChoiceUnmet,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolwire.server.health.backend_watch import BackendWatch
from toolwire.server.telemetry.metrics import Metrics

AWAY = UpstreamUnavailable("The backend at gpu:8000 cannot be reached: Connection refused.")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock, caplog: pytest.LogCaptureFixture) -> BackendWatch:
    logging.getLogger("toolwire").propagate = True
    caplog.set_level(logging.INFO, "toolwire")
    return BackendWatch(["gpu", "cpu"], Metrics(backends=["gpu", "cpu"]), clock)


def test_a_failed_attempt_is_a_warning_with_backend_and_reason(
    watch: BackendWatch, caplog: pytest.LogCaptureFixture
) -> None:
    watch.failed("gpu", KeyRefused("The backend 'gpu' refused Toolwire's key (401)."))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage() == (
        "backend gpu failed (upstream_key_refused, 401): "
        "The backend 'gpu' refused Toolwire's key (401)."
    )


def test_the_same_failure_again_and_again_is_one_line_a_minute(
    watch: BackendWatch, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(1000):
        watch.failed("gpu", AWAY)
    assert len(caplog.records) == 1
    clock.now = 61
    watch.failed("gpu", AWAY)
    assert caplog.messages[-1].endswith("(and 999 times more since the last such line)")


def test_another_kind_of_failure_is_told_at_once(
    watch: BackendWatch, caplog: pytest.LogCaptureFixture
) -> None:
    watch.failed("gpu", AWAY)
    watch.failed("gpu", UpstreamTimeout("The backend 'gpu' was silent for 300 s."))
    watch.failed("cpu", AWAY)
    assert len(caplog.records) == 3


@pytest.mark.parametrize(
    "error",
    [
        UpstreamRefused("the prompt 'my secret plan' is too long", status=400),
        InvalidToolArguments("'my secret plan' is not a number"),
        ToolChoiceUnmet("the model said my secret plan"),
    ],
)
def test_words_that_may_quote_the_client_are_not_logged(
    watch: BackendWatch, caplog: pytest.LogCaptureFixture, error: UpstreamError
) -> None:
    watch.failed("gpu", error)
    assert "secret" not in caplog.text
    assert f"({error.code}, {error.status})" in caplog.text


def test_a_backend_that_comes_back_is_told_once(
    watch: BackendWatch, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    watch.failed("gpu", AWAY)
    watch.failed("gpu", AWAY)
    clock.now = 30
    watch.answered("gpu")
    watch.answered("gpu")
    assert caplog.messages[1:] == ["backend gpu answers again, after 30 s and 2 failures"]


def test_what_was_learned_is_told_once(
    watch: BackendWatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        watch.learned("gpu", "qwen", "tools")
        watch.learned("gpu", "qwen", "format", "hermes")
    refused, found = caplog.messages
    assert refused.startswith("backend gpu does not support tools for the model 'qwen'")
    assert found.endswith("which writes its calls as hermes: set format = 'hermes' for its route")


def test_a_backend_is_live_once_it_has_answered(watch: BackendWatch) -> None:
    assert (watch.live, watch.total) == (0, 2)
    watch.answered("gpu")
    assert (watch.live, watch.is_live("gpu"), watch.is_live("cpu")) == (1, True, None)
    watch.failed("gpu", AWAY)
    assert watch.live == 0


@pytest.mark.parametrize(
    "error",
    [
        UpstreamRefused("no such model", status=404),
        UpstreamUnavailable("slow down", rate_limited=True),
        ToolChoiceUnmet("no call"),
        UpstreamError("The backend 'gpu' answered 500."),
    ],
)
def test_a_request_that_fails_does_not_make_its_backend_dead(
    watch: BackendWatch, error: UpstreamError
) -> None:
    watch.answered("gpu")
    watch.failed("gpu", error)
    assert watch.is_live("gpu")


@pytest.mark.parametrize("error", [AWAY, KeyRefused("wrong"), UpstreamError("answered 500")])
def test_a_probe_that_fails_does(watch: BackendWatch, error: UpstreamError) -> None:
    watch.probed("gpu", error)
    assert watch.is_live("gpu") is False


def test_a_server_without_a_list_of_models_is_live(
    watch: BackendWatch, caplog: pytest.LogCaptureFixture
) -> None:
    watch.probed("gpu", UpstreamRefused("not found", status=404))
    assert watch.is_live("gpu")
    assert caplog.records == []
