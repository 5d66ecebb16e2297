"""Insights and templates: real figures, drawn; patterns found, looked at, kept and thrown away."""

import pytest

from sojourn.testing.model_script import Say
from tests.browser.conftest import say, visiting
from tests.browser.histories import fill
from tests.e2e.http_server import Serving

FIGURES = "/api/plugins/dashboard/insights"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("figures") / ".sojourn"
    fill(home, 40, calls=5)
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as made:
        yield made


@pytest.fixture
def history(chromium, server):
    yield from visiting(chromium, server)


def test_insights_show_the_figures_of_the_store_and_draw_them(history):
    page = history.open("/insights")
    page.get_by_label("Time range").select_option("3660")
    page.locator(".stat-tiles dd").first.wait_for()
    figures = history.server.client.get(f"{FIGURES}?days=3660").json()
    totals = figures["totals"]
    page.wait_for_function("() => document.querySelectorAll('.u-over').length === 2")  # both charts are there
    shown = [one.split("\n")[0] for one in page.locator(".stat-tiles dd").all_inner_texts()]
    assert shown[:2] == [f"{totals['sessions']:,}", f"{totals['messages']:,}"]
    assert shown[3] == f"${totals['cost_usd']:.2f}"
    assert "known for 20 of 40 sessions" in page.locator(".stat-tiles").inner_text()
    painted = "(one) => one.getContext('2d').getImageData(0, 0, one.width, one.height).data.some((n) => n > 0)"
    assert [one.evaluate(painted) for one in page.locator(".chart canvas").all()] == [True, True]
    assert page.locator(".heatmap rect[data-level='1'], .heatmap rect[data-level='4']").count() > 0
    rates = page.locator("tr", has_text="terminal").inner_text()
    assert "%" in rates
    page.get_by_role("table").last.get_by_role("link").first.click()
    page.wait_for_url("**/sessions/copy-*")


def test_a_pattern_is_found_approved_looked_at_and_deleted(history):
    page = history.open("/templates")
    page.get_by_text("No templates yet.").wait_for()
    page.get_by_role("button", name="Find patterns").click()
    page.get_by_role("heading", name="Suggestions").wait_for(timeout=60_000)
    [first, *_] = history.server.client.get("/api/plugins/templates/suggestions").json()["suggestions"]
    links = page.locator(".proof").first.get_by_role("link").evaluate_all("(all) => all.map((one) => one.pathname)")
    assert links == [f"/sessions/{one['session']}" for one in first["evidence"]]
    page.get_by_role("button", name="Approve").first.click()
    page.get_by_role("button", name="Preview what is sent").wait_for()
    page.get_by_text("used 0 times").wait_for()
    page.get_by_role("button", name="Preview what is sent").click()
    dialog = page.get_by_role("dialog")
    assert len(dialog.locator("pre").inner_text()) > 20
    assert "tokens" in dialog.inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    kept = history.server.client.get("/api/plugins/templates/templates").json()["templates"]
    assert len(kept) == 1
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("No templates yet.").wait_for()
    assert history.server.client.get("/api/plugins/templates/templates").json()["templates"] == []


def test_the_memory_page_says_why_something_was_recalled(talking, model):
    talking.server.client.post("/api/plugins/memory/facts", json={"text": "The greenhouse is heated by straw."})
    model.play([Say("By straw.")])
    page = talking.open("/chat")
    say(page, "how is the greenhouse heated?")
    page.locator(".turn-usage").wait_for()
    session = page.url.rpartition("/")[2]
    page.goto(talking.server.address + "/memory")
    turn = page.locator("[data-turn-context]")
    turn.wait_for()
    used = talking.server.client.get(f"/api/plugins/memory/used/{session}").json()
    assert used[0]["pieces"]
    for piece in used[0]["pieces"]:
        assert piece["title"] in turn.inner_text()
        assert piece["reason"] in turn.inner_text()
