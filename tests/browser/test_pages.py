"""Every page: loads alone, complains of nothing, can be used by everyone, weighs little."""

import gzip

import pytest

from sojourn.dashboard.pages import STATIC
from tests.browser.conftest import open_site

PAGES = [
    "/",
    "/chat",
    "/sessions",
    "/achievements",
    "/insights",
    "/templates",
    "/memory",
    "/gateway",
    "/import",
    "/schedules",
    "/settings",
    "/settings/general",
    "/settings/tools",
    "/settings/security",
    "/settings/plugins",
    "/settings/health",
]

# Nothing fades: half a colour would have half the contrast.
SET_THEME = """async (theme) => {
    const still = new CSSStyleSheet();
    still.replaceSync("*, ::before, ::after { transition: none !important; animation: none !important; }");
    document.adoptedStyleSheets = [still];
    document.documentElement.dataset.theme = theme;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""


WIDEST = "Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth)"


@pytest.fixture(scope="module")
def samples(offline_server):
    offline_server.client.post("/api/plugins/dashboard/samples")
    offline_server.client.post("/api/sessions", json={"source": "web", "title": "A title that is long " * 4})
    offline_server.client.post("/api/plugins/hermes-achievements/rescan?wait=true")
    offline_server.client.post("/api/plugins/memory/facts", json={"text": "Prefers tabs <b>not</b> spaces"})
    return offline_server


@pytest.fixture
def filled(chromium, samples):
    yield from open_site(chromium, samples)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_axe_finds_nothing_serious_on_any_page_and_nothing_sticks_out(filled, find_violations, language):
    """Every page wide and narrow, light and dark, in both languages; each pair of the three occurs. No other host is
    asked, which the fixture checks."""
    page = filled.open_browser()
    page.evaluate("one => localStorage.setItem('sojourn.language', one)", language)
    found = {}
    for path in PAGES:
        page.goto(filled.address + path)
        page.locator("main h1, main h2").first.wait_for()
        for width, theme in ((1280, "light"), (390, "dark")) if language == "en" else ((1280, "dark"), (390, "light")):
            page.set_viewport_size({"width": width, "height": 860})
            page.evaluate(SET_THEME, theme)
            page.wait_for_timeout(300)  # data arrives
            if wrong := find_violations(page):
                found[path, width, theme] = wrong
            assert page.evaluate(WIDEST) <= width, path
    assert found == {}
    assert filled.console_errors == []


def test_a_wheel_scrolls_to_the_end_of_a_page_and_no_further(filled):
    page = filled.open("/insights", viewport={"width": 1280, "height": 420})
    page.locator("main h1, main h2").first.wait_for()
    page.wait_for_timeout(500)  # data arrives
    page.locator("main").hover()
    for _ in range(12):
        page.mouse.wheel(0, 1500)
    page.wait_for_timeout(400)
    assert page.evaluate("document.scrollingElement.scrollTop") == 0
    assert page.evaluate("document.scrollingElement.scrollHeight") <= 420
    assert page.evaluate("document.querySelector('main').scrollTop") > 0
    end = page.evaluate("document.querySelector('main .page').getBoundingClientRect().bottom")
    assert abs(end - 420) < 2


def test_on_a_phone_labelled_tabs_stand_at_the_bottom(filled, find_violations):
    page = filled.open_browser(viewport={"width": 390, "height": 844})
    tabs = page.get_by_role("navigation", name="Pages").locator("a, button")
    assert tabs.all_inner_texts() == ["Chat", "Sessions", "Achievements", "More"]
    for one in tabs.all():
        box = one.bounding_box()
        assert box["height"] >= 44
        assert box["width"] >= 44
        assert box["y"] > 760
    page.get_by_role("button", name="More").click()
    page.get_by_role("dialog", name="More").get_by_role("link", name="Insights").click()
    page.wait_for_url("**/insights")
    page.get_by_role("heading", name="Insights").wait_for()
    page.get_by_role("dialog").wait_for(state="detached")
    assert page.get_by_role("navigation", name="Pages").locator("[aria-current]").inner_text() == "Insights"
    assert find_violations(page) == []


def test_the_palette_the_help_and_the_search_need_no_mouse(filled):
    page = filled.open_browser()
    page.keyboard.press("Control+k")
    page.keyboard.type("insi")
    page.keyboard.press("Enter")
    page.wait_for_url("**/insights")
    page.get_by_role("heading", name="Insights").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    page.keyboard.press("/")
    page.wait_for_url("**/sessions")
    page.locator("[data-search]:focus").wait_for()


def test_a_key_that_follows_the_closing_of_a_dialog_at_once_is_heard(filled):
    """Until the next frame the focus is still in the dialog that was closed: a quick key goes there."""
    page = filled.open("/insights")
    page.get_by_role("heading", name="Insights").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").wait_for()
    was_inside = page.evaluate(
        """() => {
            const dialog = document.querySelector("dialog");
            dialog.close();
            const at = document.activeElement;
            at.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true, cancelable: true}));
            return dialog.contains(at);
        }"""
    )
    assert was_inside
    page.wait_for_url("**/sessions")


def test_chinese_and_dark_are_chosen_and_kept(filled):
    page = filled.open_browser()
    page.get_by_label("Language").select_option("zh")
    page.get_by_role("link", name="成就").first.wait_for()
    page.get_by_role("button", name="深色").click()
    page.reload()
    page.get_by_role("link", name="会话").first.wait_for()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.get_by_role("link", name="成就").first.click()
    badge = page.locator("[data-badge=let_him_cook]")
    badge.get_by_role("heading", name="放手让它干").wait_for()
    badge.locator("summary").click()
    assert badge.locator("details p").inner_text().startswith("单次会话的工具调用数：青铜 200，白银 500")
    secret = page.locator("[data-state=secret]").first
    assert secret.get_by_role("heading").inner_text() == "???"
    page.goto(filled.address + "/settings/general")
    page.locator("[data-setting='server.port']").get_by_text("监听端口", exact=True).wait_for()


def test_the_first_paint_is_quick(filled):
    page = filled.open_browser()
    paints = []
    for _ in range(3):
        page.goto(filled.address + "/achievements")
        page.locator("[data-badge]").first.wait_for()
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(paints) < 1000


def test_the_first_page_loads_little_script(filled):
    page = filled.open_browser()
    page.locator("main h1").wait_for()
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)")
    scripts = {path.rpartition("/")[2] for path in loaded if path.endswith(".js")}
    assert scripts
    weight = sum(len(gzip.compress((STATIC / "assets" / name).read_bytes())) for name in scripts)
    assert weight <= 95_000


def test_settings_show_where_a_value_came_from_and_no_secret(filled):
    page = filled.open("/settings/general")
    row = page.locator("[data-setting='agent.runtime']")
    row.get_by_text("environment", exact=True).wait_for()
    assert filled.server.token not in page.content()
    page.goto(filled.address + "/settings/health")
    page.get_by_text("healthy").wait_for()


def test_it_can_be_installed(filled):
    page = filled.open_browser()
    page.locator("main h1").wait_for()
    errors = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")
    assert {one["errorId"] for one in errors["installabilityErrors"]} <= {"in-incognito"}  # as every test's browser is


def test_a_page_that_throws_leaves_the_rest_standing(filled):
    page = filled.open_browser()
    page.route("**/api/plugins/dashboard/insights*", lambda route: route.fulfill(json={"totals": None}))
    page.goto(filled.address + "/insights")
    page.get_by_text("This page ran into an error").wait_for()
    page.get_by_role("link", name="Sessions").first.click()
    page.locator(".session-row").first.wait_for()
