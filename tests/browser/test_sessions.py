"""Finding, reading and looking after sessions."""

import gzip
import re
from pathlib import Path

import pytest

from tests.browser.conftest import Site
from tests.browser.histories import fill
from tests.e2e.http_server import Serving

BAD = "<img src=x onerror=window.hurt=1>"


@pytest.fixture
def filled(chromium, home):
    fill(home, 60, calls=3)
    with Serving(home) as server:
        site = Site(chromium, server)
        yield site
        site.close()
        assert site.outside == []


def test_reading_jumping_to_a_tool_and_continuing(filled):
    page = filled.open("/sessions")
    page.get_by_role("link", name=re.compile("Copy 0000")).first.click()
    page.locator(".turn .tool").first.wait_for()
    page.get_by_label("Jump to a tool call").wait_for()
    assert page.locator(".bubble").first.inner_text().startswith("Why does the build fail?")
    page.get_by_role("link", name="Continue this session").click()
    page.wait_for_url("**/chat/copy-*")


def test_rename_tag_pin_archive_and_delete(filled):
    page = filled.open("/sessions/copy-000007")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Rename").fill(f"garden {BAD}")
    page.get_by_role("button", name="Save").click()
    page.locator("h1", has_text="garden").wait_for()
    page.get_by_role("button", name="Tags").click()
    page.get_by_role("textbox", name="Tags").fill("home, water")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("#water").first.wait_for()
    page.get_by_role("button", name="Pin").click()
    page.locator("button[aria-pressed=true]").wait_for()
    page.get_by_role("button", name="Archive").click()
    page.wait_for_timeout(300)
    kept = filled.server.client.get("/api/sessions/copy-000007").json()
    assert (kept["title"], kept["tags"], kept["pinned"], kept["archived"]) == (
        f"garden {BAD}",
        ["home", "water"],
        True,
        True,
    )
    assert page.evaluate("window.hurt") is None
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url("**/sessions")
    assert filled.server.client.get("/api/sessions/copy-000007").status_code == 404


def test_search_marks_what_was_found_and_leads_there(site):
    site.server.client.post("/api/plugins/dashboard/samples")
    page = site.open("/sessions")
    page.get_by_label("Search everything").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("flaky")
    page.locator(".hits mark").first.wait_for()
    assert {one.lower() for one in page.locator(".hits mark").all_inner_texts()} == {"flaky"}
    page.locator(".hits a").first.click()
    page.locator(".turn").first.wait_for()
    page.get_by_label("Search everything").fill("zzzunheardof")
    page.get_by_text("Nothing says “zzzunheardof”.").wait_for()


def test_filters_narrow_the_list(filled):
    page = filled.open("/sessions")
    page.locator(".session-row").first.wait_for()
    page.get_by_label("Source").select_option("hermes")
    page.wait_for_function(
        """() => [...document.querySelectorAll(".session-row .pill:first-child")]
                   .every((one) => one.textContent === "hermes")"""
    )
    assert page.locator(".session-row").count() > 3


def test_an_export_is_the_transcript(filled):
    page = filled.open("/sessions/copy-000001")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as Markdown").click()
    assert "Port 8080 was taken" in download.value.path().read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_hundred_thousand_sessions_scroll_without_a_long_task(chromium, home):
    fill(home, 100_000)
    with Serving(home) as server:
        site = Site(chromium, server)
        page = site.open("/sessions")
        page.locator(".session-row").first.wait_for()
        page.evaluate(
            """() => {
                window.long = [];
                const note = (list) => window.long.push(...list.getEntries().map((one) => one.duration));
                new PerformanceObserver(note).observe({type: "longtask"});
            }"""
        )
        box = page.locator(".virtual")
        for _ in range(60):
            box.evaluate("(one) => { one.scrollTop = Math.min(one.scrollHeight, one.scrollTop + 40000); }")
            page.wait_for_timeout(60)
        assert page.locator(".session-row").count() < 60
        assert int(page.locator(".virtual-row").first.get_attribute("aria-posinset")) > 2000
        assert max(page.evaluate("window.long"), default=0) < 100
        site.close()


def test_a_golden_history_is_found_and_brought_in(site, home):
    golden = Path(__file__).parents[1] / "fixtures" / "sources" / "hermes" / "0.19.0" / ".hermes" / "state.db.gz"
    (home.parent / ".hermes").mkdir()
    (home.parent / ".hermes" / "state.db").write_bytes(gzip.decompress(golden.read_bytes()))
    page = site.open("/import")
    page.get_by_role("button", name="Import").click()
    page.get_by_text("Imported from hermes").wait_for(timeout=60_000)
    page.get_by_role("main").get_by_role("link", name="Sessions").click()
    page.locator(".session-row").first.wait_for()
    assert site.complaints == []
