"""Screenshots of the three views, light and dark, for docs/inspector.md.

They are taken in every run, so that they can be; with TOOLWIRE_SCREENSHOTS=1 (`make screenshots`)
those that docs/inspector.md shows replace the ones in docs/images.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.gateway.process import Gateway
from tests.e2e.inspector.conftest import SIZE, address
from tests.e2e.inspector.scenes import paste, send

PAGE = Path(__file__).parents[3] / "docs" / "inspector.md"
IMAGES = PAGE.parent / "images"
WRITTEN = """\
<think>
The user wants the weather in two cities. I need a call for each.
</think>
I will look both of them up.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Bern", "days": 3}}
</tool_call>
<tool_call>
{"name": "get_weather", "arguments": {"city": "Geneva", "days": 3}}
</tool_call>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the pictures go, and at the end those that the page shows, if they are wanted."""
    folder = tmp_path_factory.mktemp("images")
    yield folder
    if os.environ.get("TOOLWIRE_SCREENSHOTS"):
        for name in re.findall(r"\(images/(inspector[\w-]*\.png)\)", PAGE.read_text()):
            shutil.copy(folder / name, IMAGES)


@pytest.fixture(scope="module", params=["light", "dark"])
def window(request: pytest.FixtureRequest, browser: Browser, gateway: Gateway) -> Iterator[Page]:
    """A window in one of the two sets of colours."""
    context = browser.new_context(
        viewport=SIZE, color_scheme=request.param, device_scale_factor=1.5, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(address(gateway))
    page.wait_for_selector("#readings[data-drawn]")
    yield page
    context.close()


def shoot(page: Page, folder: Path, name: str) -> None:
    """Take the picture."""
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    path = folder / f"inspector-{name}{'-dark' if dark else ''}.png"
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=path)
    assert path.stat().st_size > 20_000


def test_parse(window: Page, folder: Path) -> None:
    paste(window, WRITTEN)
    window.locator("#slider").fill("52")
    shoot(window, folder, "parse")


def test_live_requests(window: Page, gateway: Gateway, folder: Path) -> None:
    window.click("#tab-live")
    window.wait_for_selector("#live-note:not(:empty)")
    send(gateway, "What is the weather in Bern?")
    send(gateway, "What is the weather in Bern?", model="weather-small")
    send(gateway, "Fail, please.")
    send(gateway, "What is the weather in Berne?", model="weather-small")
    window.locator(".turn", has_text="Asked again").first.click()
    window.get_by_text("Replay through today's code").click()
    expect(window.locator(".note")).to_be_visible()
    shoot(window, folder, "live")


def test_try(window: Page, folder: Path) -> None:
    window.click("#tab-try")
    expect(window.locator("#try-model")).to_have_value("weather")
    window.fill("#try-message", "What is the weather in Bern?")
    window.keyboard.press("Control+Enter")
    expect(window.get_by_text("Send result")).to_have_count(2)
    shoot(window, folder, "try")
