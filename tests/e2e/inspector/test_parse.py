"""Paste or pick: what each character became, chunk by chunk, and under another format."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Error, Page, expect
from tests.e2e.gateway.process import Gateway
from tests.e2e.inspector.conftest import address
from tests.e2e.inspector.scenes import HOSTILE, WRITTEN, paste, roles

from toolwire.conformance import State, read_cases, run_cases
from toolwire.conformance.adapters import ours

LONGEST_TASK = 500.0
"""Milliseconds. None takes 50, from where on they are told, unless the machine is very busy."""


def test_a_text_is_coloured_by_what_its_characters_became(page: Page) -> None:
    paste(page, WRITTEN)
    assert roles(page, "name") == ["get_weather"]
    assert roles(page, "arguments") == ['{"city": "Bern", "days": "3"}']
    assert roles(page, "reasoning") == ["The user asks about Bern. One call will do."]
    assert page.locator(".painted").inner_text() == WRITTEN
    expect(page.locator(".reading .badge").first).to_have_text("1 call")


def test_the_slider_says_which_event_each_chunk_made_certain(page: Page) -> None:
    paste(
        page, 'Yes. <tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}}</tool_call>'
    )
    slider = page.locator("#slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator("#now")).to_have_text("Nothing has been read yet.")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#now")).to_contain_text("TextDelta")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#now")).to_contain_text("held back")
    page.locator("#log .line", has_text="CallStart").click()
    expect(page.locator("#now")).to_contain_text("get_weather")
    assert page.evaluate("CSS.highlights.get('chunk').size") == 1


def test_another_format_reads_the_same_text_beside_it(page: Page) -> None:
    paste(page, WRITTEN)
    page.select_option("#compare", "mistral")
    expect(page.locator(".reading h2")).to_have_text(["hermes", "mistral"])
    expect(page.locator(".reading").nth(1).locator(".badge").first).to_have_text("No call")
    expect(page.locator(".reading").nth(1).locator(".reasons")).to_contain_text(
        "'mistral' finds no call, but 'hermes' reads the text as calls of get_weather"
    )


def test_the_reasons_are_given_when_nothing_was_read(page: Page) -> None:
    paste(page, '<tool_call>{"name": "no_such_tool", "arguments": oops</tool_call>', tools=[])
    expect(page.locator(".reasons")).to_contain_text("Why there is no call")
    expect(page.locator(".reasons li").first).to_contain_text("hermes")


def test_an_example_of_a_format_can_be_picked(page: Page) -> None:
    page.select_option("#format", "qwen3_coder")
    expect(page.locator("#sample")).to_contain_text("of qwen3_coder")
    page.select_option("#sample", label="one call · 1 call")
    expect(page.locator(".reading h2")).to_have_text("qwen3_coder")
    expect(page.locator(".painted")).to_have_text(page.locator("#text").input_value())
    assert roles(page, "arguments") == ["city", "Tokyo"]
    expect(page.locator(".reading .badge").first).to_have_text("1 call")


def test_a_saved_case_is_one_that_the_conformance_kit_runs(page: Page, tmp_path: Path) -> None:
    paste(page, WRITTEN)
    page.fill("#case-name", "Weather in Bern")
    with page.expect_download() as download:
        page.click("#save-case")
    assert download.value.suggested_filename == "hermes_weather_in_bern.json"
    download.value.save_as(tmp_path / "case.json")
    cases = read_cases(tmp_path / "case.json")
    adapter = ours("hermes")
    assert adapter is not None
    outcomes = list(run_cases(adapter, cases))
    assert [outcome.case.state for outcome in outcomes] == [State.PASSED, State.PASSED]
    assert cases[0].expected_tool_calls[0].function.name == "get_weather"


def test_a_text_that_is_html_is_shown_as_text(page: Page) -> None:
    call = json.dumps({"name": "get_weather", "arguments": {"city": HOSTILE}})
    paste(page, f"{HOSTILE}<tool_call>{call}</tool_call>")
    page.locator("#slider").focus()
    page.keyboard.press("ArrowLeft")
    assert HOSTILE in page.locator(".painted").inner_text()
    expect(page.locator(".parts")).to_contain_text("onerror")
    assert page.locator("main script, main img, main svg, main a").count() == 0
    assert page.evaluate("window.pwned") is None


def test_the_page_cannot_make_html_of_a_string_even_if_it_wanted_to(
    context: BrowserContext, gateway: Gateway
) -> None:
    page = context.new_page()
    page.goto(address(gateway))
    with pytest.raises(Error, match="TrustedHTML"):
        page.evaluate("document.createElement('p').innerHTML = '<b>x</b>'")


def test_ten_thousand_chunks_do_not_stall_the_page(page: Page) -> None:
    page.evaluate(
        """() => { window.tasks = [0]; new PerformanceObserver(list => {
        for (const entry of list.getEntries()) window.tasks.push(entry.duration) })
        .observe({type: 'longtask'}) }"""
    )
    one = '<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}}</tool_call>\nA.\n'
    paste(page, one * (10_000 // len(one) + 1), size=1)
    expect(page.locator("#chunk-label")).to_contain_text("of 100")
    page.locator("#slider").focus()
    for key in ("Home", *["PageUp"] * 5, *["ArrowRight"] * 20, "End"):
        page.keyboard.press(key)
    page.wait_for_timeout(100)
    assert page.locator("#log .line").count() < 60
    assert max(page.evaluate("window.tasks")) < LONGEST_TASK


def test_characters_outside_the_basic_plane_are_counted_as_the_browser_does(page: Page) -> None:
    text = '😀 <tool_call>{"name": "get_weather", "arguments": {"city": "𝔅ern 😀"}}</tool_call> 😀'
    paste(page, text)
    assert roles(page, "arguments") == ['{"city": "𝔅ern 😀"}']
    assert page.locator(".painted").inner_text() == text
