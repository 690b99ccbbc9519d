"""Live requests: each as a timeline, filtered, opened in the parser, and replayed."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.inspector.scenes import CONFIG, HOSTILE, WRITTEN, send
from tests.scripted import ScriptedServer

ROWS = ".turn"


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """One that nobody else sends requests to."""
    with running(config=CONFIG.format(url=backend.url)) as process:
        yield process


@pytest.fixture(scope="module")
def live(page: Page, gateway: Gateway) -> Iterator[Page]:
    """The view, with three requests that were made while it was open, and without an earlier."""
    send(gateway, "What is the weather in Bern?")
    with page.expect_response(re.compile("api/turns")):
        page.click("#tab-live")
    send(gateway, "What is the weather in Bern?")
    send(gateway, "What is the weather in Bern?", model="weather-small")
    send(gateway, "Say something hostile.")
    expect(page.locator(ROWS)).to_have_count(3)
    return page


def choose(live: Page, words: str) -> None:
    """Show the newest request that holds these words."""
    live.locator(ROWS, has_text=words).first.click()
    live.wait_for_selector(".timeline")


def test_a_request_is_a_timeline_from_the_client_to_the_client(live: Page) -> None:
    choose(live, "weather-small")
    titles = live.locator(".step h3")
    expect(titles.first).to_have_text("The client sent a request")
    expect(titles.last).to_have_text("The client got the answer")
    expect(live.locator(".step.model .painted")).to_have_text(WRITTEN)
    expect(live.locator(".step.mended")).to_contain_text("Repair")
    expect(live.locator(".step").last).to_contain_text('"days": 3')


def test_the_difference_shows_what_the_backend_was_sent(live: Page) -> None:
    choose(live, "weather-small")
    added = live.locator(".diff .added")
    expect(added.filter(has_text="You can call the following tools")).to_have_count(1)
    expect(live.locator(".diff .removed").filter(has_text="tools: [")).to_have_count(1)
    fold = live.locator(".diff .fold").first
    before = live.locator(".diff .same").count()
    fold.click()
    assert live.locator(".diff .same").count() > before


def test_a_native_call_is_shown_as_the_backend_wrote_it(live: Page) -> None:
    live.locator(ROWS).last.click()  # the oldest
    call = live.locator(".step.model .told li")
    expect(call).to_have_text('get_weather {"city": "Bern", "days": 3}')
    expect(live.locator(".step.backend")).to_contain_text("What changed")


def test_requests_are_filtered_by_model_and_outcome(live: Page) -> None:
    live.select_option("#by-model", "=weather-small")
    expect(live.locator(ROWS)).to_have_count(1)
    live.select_option("#by-outcome", label="Repaired")
    expect(live.locator(ROWS)).to_have_count(1)
    live.select_option("#by-model", "")
    live.select_option("#by-outcome", "")
    expect(live.locator(ROWS)).to_have_count(3)


def test_a_request_is_replayed_through_the_current_code(live: Page) -> None:
    choose(live, "weather-small")
    live.click("text=Replay through today's code")
    expect(live.locator(".note")).to_have_text("Replayed: the same as then.")


def test_the_text_of_a_request_can_be_opened_in_the_parser(live: Page) -> None:
    choose(live, "weather-small")
    live.click("text=Open in Parse")
    expect(live.locator("#text")).to_have_value(WRITTEN)
    expect(live.locator("#tools-count")).to_have_text("1")
    expect(live.locator("#format")).to_have_value("hermes")
    live.click("#tab-live")
    expect(live.locator(ROWS)).to_have_count(3)


def test_what_a_model_wrote_is_never_html(live: Page) -> None:
    live.locator(ROWS).first.click()  # the newest
    expect(live.locator(".step.model .painted")).to_have_text(HOSTILE)
    assert live.locator("main script, main img, main svg, main a").count() == 0
    assert live.evaluate("window.pwned") is None
