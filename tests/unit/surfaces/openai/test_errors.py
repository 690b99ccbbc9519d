import json

import pytest

from toolwire import errors
from toolwire.surfaces.base import error_headers
from toolwire.surfaces.openai.errors import error_body, error_event
from toolwire.surfaces.openai_error import error_type

EVERY = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.GatewayError)
]


def made(kind: type[errors.GatewayError]) -> errors.GatewayError:
    if kind is errors.UpstreamRefused:
        return errors.UpstreamRefused("Why.", status=422)
    if kind is errors.HistoryError:
        place = errors.Place("id", message=1, call=0)
        return errors.HistoryError("repeated_call_id", "Why.", place, ("x",))
    return kind("Why.")


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_every_error_has_openais_form(kind: type[errors.GatewayError]) -> None:
    error = made(kind)
    fields = json.loads(error_body(error))["error"]
    assert list(fields) == ["message", "type", "param", "code"]
    assert fields["message"].endswith("Why.")
    assert fields["type"] == ("invalid_request_error" if error.status < 500 else "server_error")


def test_an_event_is_the_body_as_one_event() -> None:
    error = errors.UpstreamError("Two\nlines.")
    assert error_event(error) == b"data: " + error_body(error) + b"\n\n"
    assert error_event(error).count(b"\n") == 2


@pytest.mark.parametrize(("seconds", "said"), [(0.0, "0"), (0.2, "1"), (7.0, "7")])
def test_retry_after_is_rounded_up(seconds: float, said: str) -> None:
    headers = dict(error_headers(errors.UpstreamUnavailable("x", retry_after=seconds)))
    assert headers["retry-after"] == said


def test_without_a_retry_after_none_is_made_up() -> None:
    assert "retry-after" not in dict(error_headers(errors.UpstreamUnavailable("x")))


def test_a_rate_limit_has_openais_type() -> None:
    assert error_type(errors.UpstreamUnavailable("x", rate_limited=True)) == "requests"


def test_particulars_do_not_leak_into_the_class() -> None:
    errors.RequestError("x", code="one")
    errors.UpstreamUnavailable("x", rate_limited=True)
    assert errors.RequestError("x").code is None
    assert (errors.UpstreamUnavailable("x").status, errors.UpstreamUnavailable.status) == (503, 503)
