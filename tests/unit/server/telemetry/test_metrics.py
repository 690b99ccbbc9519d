import re
import subprocess
import sys
import time

import pytest

from toolwire.server.telemetry.metrics import BOUNDS, MOST_VALUES, Metrics


def values(metrics: Metrics) -> dict[str, float]:
    lines = metrics.render().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("toolwire_"))
    return {name: float(value) for name, value in pairs}


def test_a_request_is_counted_under_its_route_status_and_kind() -> None:
    metrics = Metrics(["m", "*"])
    metrics.request_done("m", 200, True, 0.3)
    metrics.request_done("m", 200, True, 700.0)
    metrics.request_done("*", 502, False, 0.05)
    seen = values(metrics)
    assert seen['toolwire_requests_total{route="m",status="200",stream="true"}'] == 2
    assert seen['toolwire_requests_total{route="*",status="502",stream="false"}'] == 1
    prefix = 'toolwire_request_seconds_bucket{le="%s",route="m",stream="true"}'
    assert [seen[prefix % le] for le in ("0.25", "0.5", "600.0", "+Inf")] == [0, 1, 1, 2]
    assert seen['toolwire_request_seconds_count{route="m",stream="true"}'] == 2
    assert seen['toolwire_request_seconds_sum{route="m",stream="true"}'] == pytest.approx(700.3)


def test_a_duration_on_a_bound_belongs_below_it() -> None:
    metrics = Metrics(backends=["b"])
    for bound in BOUNDS:
        metrics.first_token("b", bound)
    seen = values(metrics)
    for number, bound in enumerate(BOUNDS, start=1):
        assert seen[f'toolwire_first_token_seconds_bucket{{backend="b",le="{bound}"}}'] == number


def test_everything_else_is_counted() -> None:
    metrics = Metrics(backends=["a", "b"])
    metrics.tokens(10, 3)
    metrics.tokens(5, 4)
    metrics.call_count += 2
    metrics.attempted("b")
    metrics.retried("b", "connect")
    metrics.repaired("null_arguments")
    metrics.backend_error("a", "timeout")
    metrics.backend_error("b", "timeout")
    metrics.backend_error("b", "timeout")
    metrics.client_gone("mid_stream")
    metrics.in_flight.value += 1
    metrics.in_flight.value += 1
    metrics.in_flight.value -= 1
    seen = values(metrics)
    assert seen['toolwire_tokens_total{kind="prompt"}'] == 15
    assert seen['toolwire_tokens_total{kind="completion"}'] == 7
    assert seen["toolwire_tool_calls_total"] == 2
    assert seen['toolwire_backend_attempts_total{backend="b"}'] == 1
    assert seen['toolwire_retries_total{backend="b",reason="connect"}'] == 1
    assert seen['toolwire_repairs_total{rule="null_arguments"}'] == 1
    assert seen['toolwire_backend_errors_total{backend="a",kind="timeout"}'] == 1
    assert seen['toolwire_backend_errors_total{backend="b",kind="timeout"}'] == 2
    assert seen['toolwire_clients_gone_total{moment="mid_stream"}'] == 1
    assert seen["toolwire_requests_in_flight"] == 1


def test_a_model_that_is_not_configured_is_counted_as_other() -> None:
    metrics = Metrics(["m"])
    for number in range(10_000):
        metrics.request_done(f"made-up-{number}", 404, False, 0.01)
    seen = values(metrics)
    assert seen['toolwire_requests_total{route="other",status="404",stream="false"}'] == 10_000
    assert not [name for name in seen if "made-up" in name]


def test_labels_stay_few_whatever_is_counted() -> None:
    metrics = Metrics()
    for number in range(10_000):
        metrics.retried(f"backend-{number}", f"reason-{number}")
        metrics.request_done("m", number, False, 0.01)
    seen = values(metrics)
    retries = {name: count for name, count in seen.items() if "retries" in name}
    assert len(retries) == MOST_VALUES + 1
    assert sum(retries.values()) == 10_000
    assert len([name for name in seen if name.startswith("toolwire_requests_total")]) == 501


def test_every_backend_of_the_configuration_has_its_own_numbers() -> None:
    names = [f"gpu-{number}" for number in range(3 * MOST_VALUES)]
    metrics = Metrics(backends=names)
    for name in names:
        metrics.attempted(name)
    seen = values(metrics)
    assert all(seen[f'toolwire_backend_attempts_total{{backend="{name}"}}'] == 1 for name in names)


def test_two_servers_in_one_process_do_not_share_numbers() -> None:
    first, second = Metrics(), Metrics()
    first.call_count += 1
    assert values(second)["toolwire_tool_calls_total"] == 0


def test_memory_and_files_of_the_process_are_there() -> None:
    text = Metrics().render().decode()
    assert re.search(r"^process_resident_memory_bytes \d", text, re.MULTILINE)
    assert re.search(r"^process_open_fds \d", text, re.MULTILINE)


@pytest.mark.timed
def test_a_request_costs_little() -> None:
    metrics = Metrics(["m"], ["b"])

    def request() -> None:
        metrics.in_flight.value += 1
        metrics.first_token("b", 0.2)
        metrics.tokens(1000, 100)
        metrics.call_count += 1
        metrics.request_done("m", 200, True, 1.0)
        metrics.in_flight.value -= 1

    def cost() -> float:
        started = time.process_time()
        for _ in range(2000):
            request()
        return (time.process_time() - started) / 2000

    assert min(cost() for _ in range(10)) < 10e-6  # about 2 us on a quiet machine


@pytest.mark.process
def test_the_library_is_only_loaded_when_somebody_asks() -> None:
    code = (
        "import sys; from toolwire.server.telemetry.metrics import Metrics;"
        "m = Metrics(); m.call_count += 1;"
        "assert 'prometheus_client' not in sys.modules; m.render();"
        "assert 'prometheus_client' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
