"""Who may see the inspector, and how it is used with a keyboard, a screen reader, and in the
dark."""

import hashlib

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask
from tests.e2e.inspector.conftest import address
from tests.e2e.inspector.scenes import CONFIG, WRITTEN, paste
from tests.scripted import ScriptedServer

KEY = "tw-the-key-of-a-laptop"
HASH = hashlib.sha256(KEY.encode()).hexdigest()
KEYS = f'[[keys]]\nname = "laptop"\nsha256 = "{HASH}"\n'
CONTRAST = """() => {
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (el) => { for (; el; el = el.parentElement) {
    const color = parse(getComputedStyle(el).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color } };
  const worst = {};
  const judge = (el, pseudo) => {
    const style = getComputedStyle(el, pseudo);
    const [ink, paper, part] = [parse(style.color), ground(el), Number(style.opacity)];
    const seen = paper.slice(0, 3).map((v, i) => ink[i] * part + v * (1 - part));
    const [a, b] = [light(seen), light(paper)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) worst[(el.className || el.tagName) + (pseudo ?? '')] = ratio;
  };
  for (const el of document.querySelectorAll('main *, header *')) {
    if (!el.checkVisibility() || el.disabled || el.closest('option')) continue;
    if (el.placeholder) judge(el, '::placeholder');
    if (el.textContent.trim() && !el.children.length) judge(el);
  }
  return worst;
}"""
TWICE = """() => [...document.querySelectorAll('#view-try select, #view-try [role=log]')]
  .map(el => el.getAttribute('aria-label'))
  .filter((name, i, all) => name && all.indexOf(name) !== i)"""
UNNAMED = """() => [...document.querySelectorAll('button, input, select, textarea, [tabindex="0"]')]
  .filter(el => !(el.labels?.length || el.getAttribute('aria-label') || el.textContent.trim()))
  .map(el => el.outerHTML.slice(0, 80))"""


def test_with_client_keys_the_page_asks_for_one_and_keeps_it_in_the_tab(
    context: BrowserContext, backend: ScriptedServer
) -> None:
    with running(config=CONFIG.format(url=backend.url) + KEYS) as gateway:
        assert ask(gateway.port, path="/inspector").status == 200
        assert ask(gateway.port, path="/inspector/api/info").status == 401
        page = context.new_page()
        page.goto(address(gateway))
        page.locator("#key").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#key-error")).to_contain_text("does not know this key")
        page.locator("#key").fill(KEY)
        page.keyboard.press("Enter")
        page.wait_for_selector("body[data-ready]")
        assert page.evaluate("sessionStorage.getItem('toolwire-key')") == KEY
        assert page.evaluate("localStorage.length + document.cookie.length") == 0
        page.close()


def test_everything_can_be_reached_with_the_keyboard(page: Page) -> None:
    page.locator("#tab-parse").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#view-live")).to_be_visible()
    expect(page.locator("#tab-live")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#view-parse")).to_be_visible()
    page.keyboard.press("Tab")
    seen = []
    for _ in range(18):
        seen.append(page.evaluate("document.activeElement.id"))
        page.keyboard.press("Tab")
    wanted = ["theme", "format", "sample", "text", "size", "compare", "slider", "log", "save-case"]
    assert [name for name in wanted if name not in seen] == []


def test_every_control_has_a_name_for_a_screen_reader(page: Page) -> None:
    for view in ("parse", "live", "try"):
        page.click(f"#tab-{view}")
        assert page.evaluate(UNNAMED) == []
    assert page.evaluate(TWICE) == [], "the two chats cannot be told apart"
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_the_light_and_in_the_dark(page: Page, scheme: str) -> None:
    page.select_option("#theme", scheme)
    page.click("#tab-parse")
    assert page.evaluate(CONTRAST) == {}
    page.click("#tab-try")
    assert page.evaluate(CONTRAST) == {}


def test_the_colours_follow_the_system_until_one_chooses(
    browser: Browser, gateway: Gateway
) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(address(gateway))
    page.wait_for_selector("body[data-ready]")
    dark = page.evaluate(ground)
    page.select_option("#theme", "light")
    light = page.evaluate(ground)
    page.reload()
    assert dark != light
    assert page.evaluate(ground) == light
    context.close()


def test_on_a_telephone_nothing_is_cut_off_and_nothing_covers_the_page(
    browser: Browser, gateway: Gateway
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(address(gateway))
    page.wait_for_selector("#readings[data-drawn]")
    paste(page, WRITTEN)
    tops = [page.locator(f"#{name}").bounding_box() for name in ("step-back", "play", "step-on")]
    assert len({box["y"] for box in tops if box}) == 1, "the three belong on one line"
    for view in ("parse", "live", "try"):
        page.click(f"#tab-{view}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.click("#tab-try")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert page.evaluate("document.querySelector('header').getBoundingClientRect().bottom") <= 0
    context.close()
