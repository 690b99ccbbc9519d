"""Try: one message, two ways of giving the model its tools, side by side."""

from playwright.sync_api import Locator, Page, expect
from tests.e2e.inspector.scenes import HOSTILE


def columns(page: Page) -> tuple[Locator, Locator]:
    """Native on the left, prompted on the right."""
    return page.locator(".column").nth(0), page.locator(".column").nth(1)


def say(page: Page, text: str) -> None:
    """Send a message to both."""
    page.fill("#try-message", text)
    page.keyboard.press("Control+Enter")


def test_native_and_prompted_tools_answer_side_by_side(page: Page) -> None:
    page.click("#tab-try")
    expect(page.locator("#try-model")).to_have_value("weather")
    say(page, "What is the weather in Bern?")
    for column, mode in zip(columns(page), ("native", "prompted:hermes"), strict=True):
        expect(column.locator(".call-card .name")).to_have_text("get_weather")
        expect(column.locator(".call-card .json")).to_contain_text('"days": 3')
        expect(column.locator(".foot")).to_contain_text(mode)
    expect(columns(page)[1].locator(".reasoning")).to_contain_text("One call will do")


def test_the_result_of_a_call_goes_back_to_the_model(page: Page) -> None:
    for column in columns(page):
        column.get_by_label("Result of get_weather").fill('{"weather": "18 degrees"}')
        column.get_by_text("Send result").click()
        expect(column.locator(".said.model").last).to_contain_text("sunny in Bern")


def test_the_request_of_an_answer_is_among_the_live_ones(page: Page) -> None:
    page.get_by_text("Show request").last.click()
    expect(page.locator("#tab-live")).to_have_attribute("aria-selected", "true")
    page.click("#tab-try")


def test_the_answers_of_a_hostile_model_are_text(page: Page) -> None:
    page.click("#try-clear")
    say(page, "Say something hostile.")
    for column in columns(page):
        expect(column.locator(".said.model")).to_have_text(HOSTILE)
    assert page.locator("main script, main img, main svg, main a").count() == 0
    assert page.evaluate("window.pwned") is None


def test_an_error_of_the_server_is_shown_where_the_answer_would_be(page: Page) -> None:
    page.click("#try-clear")
    page.fill("#try-tools", '[{"name": "bad name!"}]')
    say(page, "Hello")
    expect(columns(page)[0].locator(".note.bad")).to_contain_text("name")
    page.fill("#try-tools", "[oops")
    say(page, "Hello")
    expect(page.locator("#problem")).to_contain_text("The tools are not JSON")
