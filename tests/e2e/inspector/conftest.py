"""A Chromium, and a Toolwire with a scripted model behind it. Whatever a page complains about in
its console fails the test."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.inspector.chromium import find_chromium
from tests.e2e.inspector.scenes import CONFIG, weather_model
from tests.scripted import ScriptedServer

SIZE = {"width": 1440, "height": 900}


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this folder. Playwright's loop runs in this thread as long, and
    tests elsewhere need one of their own."""
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        path = find_chromium()
        browser = playwright.chromium.launch(executable_path=path, args=args)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def backend() -> Iterator[ScriptedServer]:
    """The model."""
    with ScriptedServer(script=weather_model) as server:
        yield server


@pytest.fixture(scope="package")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that needs no key, and may record bodies, in memory."""
    with running(config=CONFIG.format(url=backend.url)) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window without a past."""
    context = browser.new_context(viewport=SIZE, reduced_motion="reduce")
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext, gateway: Gateway) -> Iterator[Page]:
    """The inspector, ready: one for all tests of a module, as opening it takes the longest."""
    page = context.new_page()
    errors = watch(page)
    page.goto(address(gateway))
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("#readings[data-drawn]")
    yield page
    assert errors == []


def address(gateway: Gateway, view: str = "") -> str:
    """Where the inspector is."""
    return f"http://127.0.0.1:{gateway.port}/inspector{view and '#' + view}"


def watch(page: Page) -> list[str]:
    """What goes wrong in a page, as it comes: exceptions, and what the policy forbids. An answer
    that is an error is the page's own affair."""
    errors: list[str] = []

    def hear(line: ConsoleMessage) -> None:
        if line.type == "error" and not line.text.startswith("Failed to load resource"):
            errors.append(line.text)

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", hear)
    return errors
