"""Finding, reading and looking after sessions."""

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.browser.conftest import XSS, open_site
from tests.browser.sample_sessions import create_sessions
from tests.e2e.http_server import Serving


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    home = tmp_path_factory.mktemp("history") / ".sojourn"
    create_sessions(home, 60, calls=3)
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        yield server


@pytest.fixture
def filled(chromium, history):
    yield from open_site(chromium, history)


def test_a_session_is_opened_to_read_and_to_continue(filled):
    page = filled.open("/sessions")
    page.get_by_role("link", name=re.compile("Copy 0000")).first.click()
    page.wait_for_url("**/chat/copy-*")
    page.locator(".turn .tool-call").first.wait_for()
    assert page.locator(".bubble").first.inner_text().startswith("Why does the build fail?")
    page.get_by_label("Write a message").wait_for()
    page.goto(filled.address + "/sessions/copy-000003?at=2")  # an address of before
    page.wait_for_url("**/chat/copy-000003?at=2")


def choose(page, name):
    page.get_by_role("button", name="More actions").first.click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def test_rename_tag_pin_archive_and_delete(filled):
    page = filled.open("/chat/copy-000007")
    page.get_by_role("heading", name="Copy 000007").get_by_role("button").click()
    page.get_by_role("textbox", name="Rename").fill(f"garden {XSS}")
    page.get_by_role("button", name="Save").click()
    page.locator("h1", has_text="garden").wait_for()
    choose(page, "Tags")
    page.get_by_role("textbox", name="Tags").fill("home, water")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("#water").first.wait_for()
    choose(page, "Pin")
    page.get_by_text("Pinned", exact=True).first.wait_for()
    choose(page, "Archive")
    page.get_by_text("Archived", exact=True).wait_for()
    kept = filled.server.client.get("/api/sessions/copy-000007").json()
    assert (kept["title"], kept["tags"], kept["pinned"], kept["archived"]) == (
        f"garden {XSS}",
        ["home", "water"],
        True,
        True,
    )
    assert page.evaluate("window.hurt") is None
    choose(page, "Delete")
    page.get_by_text("Moved to the trash").wait_for()
    page.goto(filled.address + "/sessions?view=trash")
    page.get_by_role("link", name=re.compile("garden")).wait_for()
    page.get_by_role("button", name="Restore").click()
    page.get_by_text("No matching sessions.").wait_for()


def test_pinned_sessions_have_a_view_and_archived_ones_are_counted(filled):
    for session, change in {"copy-000031": {"pinned": True}, "copy-000032": {"archived": True}}.items():
        assert filled.server.client.patch(f"/api/sessions/{session}", json=change).status_code == 200
    page = filled.open("/sessions")
    page.get_by_text(re.compile(r"^\d+ sessions · \d+ archived$")).wait_for()
    page.get_by_role("group", name="Show").get_by_role("button", name="Pinned").click()
    page.wait_for_url("**/sessions?view=pinned")
    page.get_by_role("link", name=re.compile("Copy 000031")).wait_for()
    page.get_by_text("1 session", exact=True).wait_for()
    page.reload()
    page.get_by_text("1 session", exact=True).wait_for()


@pytest.mark.parametrize("row", [0, -1])
def test_the_menu_of_any_row_is_whole(filled, row):
    page = filled.open("/sessions")
    page.locator(".session-row").first.wait_for()
    window = page.locator(".virtual-list").bounding_box()
    buttons = [one for one in page.get_by_role("button", name="More actions").all() if is_inside(one, window)]
    buttons[row].click()
    for entry in page.get_by_role("menuitem").all():
        assert is_inside(entry, window), entry.inner_text()


def is_inside(one, window):
    box = one.bounding_box()
    return window["y"] <= box["y"] and box["y"] + box["height"] <= window["y"] + window["height"]


def test_search_marks_what_was_found_and_leads_there(site):
    site.server.client.post("/api/plugins/dashboard/samples")
    page = site.open("/sessions")
    page.get_by_label("Search all messages and titles").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("flaky")
    page.locator(".search-results mark").first.wait_for()
    assert {one.lower() for one in page.locator(".search-results mark").all_inner_texts()} == {"flaky"}
    page.wait_for_url("**/sessions?q=flaky")
    page.reload()
    page.locator(".search-results mark").first.wait_for()
    page.locator(".search-results .hit").first.click()
    page.locator("[data-target]").wait_for()
    page.go_back()
    page.get_by_label("Search all messages and titles").fill("zzzunheardof")
    page.get_by_text("No results for “zzzunheardof”.").wait_for()


def test_facets_narrow_the_list_and_stand_in_the_address(filled):
    for session, tags in {"copy-000011": ["herbs"], "copy-000013": ["herbs", "salad"]}.items():
        assert filled.server.client.patch(f"/api/sessions/{session}", json={"tags": tags}).status_code == 200
    page = filled.open("/sessions")
    page.get_by_role("group", name="Tag").get_by_label("herbs").check()
    page.get_by_text("2 sessions").wait_for()
    page.wait_for_url("**/sessions?tag=herbs")
    page.get_by_role("group", name="Tag").get_by_label("salad").check()
    page.get_by_text("1 session", exact=True).wait_for()
    page.reload()
    page.get_by_text("1 session", exact=True).wait_for()
    page.get_by_label("Search all messages and titles").fill("log")
    page.locator(".search-results mark").first.wait_for()
    assert page.locator(".search-results strong").all_inner_texts() == ["Copy 000013"]
    page.get_by_label("Search all messages and titles").fill("zzzunheardof")
    page.get_by_text("No results for “zzzunheardof” with these filters.").wait_for()
    page.locator(".empty-state").get_by_role("button", name="Clear filters").click()
    page.get_by_text("No results for “zzzunheardof”.").wait_for()


def test_sessions_that_used_a_tool_are_a_facet(filled):
    page = filled.open("/sessions?tool=web_search")
    page.locator(".session-row").first.wait_for()
    total = filled.server.client.get("/api/sessions?tool=web_search&count=true&limit=1").json()["total"]
    page.get_by_text(f"{total} sessions").wait_for()
    assert page.get_by_role("group", name="Tool").get_by_label("web_search").is_checked()


def test_an_export_is_the_transcript(filled):
    page = filled.open("/chat/copy-000001")
    page.get_by_role("heading", name="Copy 000001").wait_for()
    with page.expect_download() as download:
        choose(page, "Export as Markdown")
    assert "Port 8080 was taken" in download.value.path().read_text("utf-8")


LONG_TASKS = """() => {
    window.long = [];
    const note = (list) => window.long.push(...list.getEntries().map((one) => one.duration));
    new PerformanceObserver(note).observe({type: "longtask"});
}"""


@pytest.fixture(scope="module")
def hundred_thousand(tmp_path_factory):
    home = tmp_path_factory.mktemp("crowd") / ".sojourn"
    create_sessions(home, 100_000)
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        yield server


@pytest.fixture
def crowd(chromium, hundred_thousand):
    yield from open_site(chromium, hundred_thousand)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_hundred_thousand_sessions_scroll_without_a_long_task(crowd):
    page = crowd.open("/sessions")
    page.locator(".session-row").first.wait_for()
    box = page.locator(".virtual-list")

    def scroll():
        box.evaluate("(one) => { one.scrollTop = 0; }")
        for _ in range(60):
            box.evaluate("(one) => { one.scrollTop = Math.min(one.scrollHeight, one.scrollTop + 40000); }")
            page.wait_for_timeout(50)

    assert longest_task(page, scroll) < 100
    assert page.locator(".virtual-list-row").count() < 60
    assert int(page.locator(".virtual-list-row").first.get_attribute("aria-posinset")) > 25_000
    page.locator(".session-row .session-title").first.wait_for()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_keys_and_the_scrollbar_reach_any_row_of_a_hundred_thousand(crowd):
    page = crowd.open("/sessions")
    page.get_by_text("100,000 sessions").wait_for()
    order = [one["id"] for one in crowd.server.client.get("/api/sessions?limit=1&skip=99999").json()["sessions"]]
    order += [one["id"] for one in crowd.server.client.get("/api/sessions?limit=1&skip=50000").json()["sessions"]]
    newest = crowd.server.client.get("/api/sessions?limit=1").json()["sessions"][0]["id"]

    def there_and_back():
        page.locator(".virtual-list").focus()
        page.keyboard.press("Home")
        focused(page, 0, newest)
        page.keyboard.press("End")
        focused(page, 99_999, order[0])

    assert longest_task(page, there_and_back) < 100
    step = page.locator(".virtual-list").evaluate("(one) => Math.floor(one.clientHeight / 76) - 1")
    assert step > 3
    pressing(page, {"PageDown": 99_999, "PageUp": 99_999 - step, "ArrowUp": 99_998 - step, "End": 99_999})
    pressing(page, {"Home": 0, "PageUp": 0, "PageDown": step, "ArrowDown": step + 1})
    for row in range(step + 1, 20 * step, step):
        pressing(page, {"PageDown": row + step})
    page.keyboard.press("Home")
    focused(page, 0, newest)
    page.locator(".virtual-list").evaluate("(one) => { one.scrollTop = 50000 * 76; }")  # as the scrollbar does
    page.locator(f"[data-row='50000'] a[href='/chat/{order[1]}']").wait_for()


def longest_task(page, work):
    """In milliseconds, on the best of three tries: a busy machine may hold a page up, but not each time."""
    page.evaluate(LONG_TASKS)
    found = []
    for _ in range(3):
        page.evaluate("window.long.length = 0")
        work()
        found.append(max(page.evaluate("window.long"), default=0))
        if found[-1] < 100:
            break
    return min(found)


def pressing(page, keys):
    """Each key leads to its row, which is in sight then."""
    for key, row in keys.items():
        page.keyboard.press(key)
        page.wait_for_function(
            """(row) => {
                const at = document.activeElement.closest("[data-row]")?.getBoundingClientRect();
                const box = document.querySelector(".virtual-list").getBoundingClientRect();
                return at && document.activeElement.closest("[data-row]").dataset.row === String(row)
                    && at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
            }""",
            arg=row,
        )


def focused(page, row, session):
    """The keys have reached that row, and it is the one the server has there."""
    page.wait_for_function(
        "([row, id]) => { const at = document.activeElement; return at.getAttribute('href') === `/chat/${id}`"
        " && at.closest('[data-row]').dataset.row === String(row); }",
        arg=[row, session],
    )


def test_a_golden_history_is_found_and_brought_in(site, home):
    golden = Path(__file__).parents[1] / "fixtures" / "sources" / "hermes" / "0.19.0" / ".hermes" / "state.db.gz"
    (home.parent / ".hermes").mkdir()
    (home.parent / ".hermes" / "state.db").write_bytes(gzip.decompress(golden.read_bytes()))
    page = site.open("/import")
    page.get_by_role("button", name="Import").click()
    page.get_by_text("Imported from hermes").wait_for(timeout=60_000)
    page.get_by_role("button", name="Look for new sessions").wait_for()
    page.get_by_role("main").get_by_role("link", name="Sessions").click()
    page.wait_for_url("**/sessions?program=hermes")
    page.locator(".session-row").first.wait_for()
    assert page.get_by_role("group", name="Program").get_by_label("Hermes").is_checked()
    page.get_by_label("Search all messages and titles").fill("notes.txt")
    page.locator(".search-results mark").first.wait_for()
    found = page.locator(".hit-text").all_inner_texts()
    assert found
    assert not any('{"' in one or "\\n" in one for one in found)  # read as words, not as JSON
    page.goto(site.address + "/")
    page.get_by_text("Every history found on this machine is imported.").wait_for()
    total = site.server.client.get("/api/sessions?archived=any&count=true&limit=1").json()["total"]
    page.get_by_role("heading", name=f"{total} sessions").wait_for()
    assert site.console_errors == []


def test_an_export_is_chosen_in_the_browser(site, find_violations):
    page = site.open("/import")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file…").click()
    chooser.value.set_files({"name": "shopping.json", "mimeType": "application/json", "buffer": b"[1]"})
    page.get_by_role("alert").wait_for()
    text = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Why is the sky blue?"]}}
    chat = {"id": "c1", "create_time": 1.77e9, "mapping": {"n1": {"id": "n1", "parent": None, "message": text}}}
    export = json.dumps([{**chat, "title": "The sky", "current_node": "n1"}]).encode()
    page.locator("input[type=file]").set_input_files(
        {"name": "conversations.json", "mimeType": "application/json", "buffer": export}
    )
    page.get_by_text("Imported from ChatGPT").wait_for()
    assert page.get_by_role("alert").count() == 0
    assert find_violations(page) == []
    page.get_by_role("main").get_by_role("link", name="Sessions").click()
    page.get_by_text("The sky").first.wait_for()


def test_the_search_box_is_answered_from_the_history(filled):
    page = filled.open("/sessions")
    page.get_by_role("searchbox").first.fill("why does the build fail?")
    page.get_by_role("button", name="Answer from my history").click()
    answer = page.get_by_role("region", name="Answer")
    answer.wait_for()
    link = answer.get_by_role("link").first
    assert "build fail" in link.inner_text()
    link.click()
    page.wait_for_url(re.compile(r"/chat/[^?]+\?at=\d+"))


def test_a_session_goes_on_in_another_program(filled):
    page = filled.open("/chat/copy-000021")
    choose(page, "Continue in another program…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("There is no folder /home/sam/garden on this machine.").wait_for()
    dialog.get_by_label("Folder").fill(str(filled.server.home.parent))
    page.keyboard.press("Tab")
    dialog.get_by_label("Program").select_option("codex")
    dialog.get_by_text("rollout-").wait_for()
    dialog.get_by_role("button", name="Write").click()
    dialog.get_by_text("&& codex resume").wait_for()
