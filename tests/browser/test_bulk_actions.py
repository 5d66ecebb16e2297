"""Many sessions at once in the list: selected by mouse, keys or thumb; archived, tagged, exported, trashed; undone."""

import zipfile

import pytest
from playwright.sync_api import expect

from sojourn.core.messages import assistant, user
from tests.browser.conftest import open_site
from tests.browser.sample_sessions import create_session
from tests.e2e.http_server import Serving

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bulk")
    home = folder / ".sojourn"
    for name in ("apple", "banana", "cherry", "date"):
        create_session(home, {"title": name, "source": "web"}, user(f"about {name}"), assistant("It is a fruit."))
    with Serving(home, HOME=str(folder), SOJOURN_RUNTIME="echo", SOJOURN_MODEL_DETECT="no") as server:
        yield server


@pytest.fixture
def site(chromium, library):
    yield from open_site(chromium, library)


def list_titles(site, query=""):
    found = site.server.client.get(f"/api/sessions?{query}").json()["sessions"]
    return sorted(one["title"] for one in found)


def select(page, *titles):
    page.get_by_role("button", name="Select", exact=True).click()
    for title in titles:
        page.get_by_role("checkbox", name=f"Select “{title}”").check()
    page.get_by_text(f"{len(titles)} selected").wait_for()


def test_several_sessions_are_archived_and_come_back(site, find_violations):
    page = site.open("/sessions")
    select(page, "apple", "banana")
    assert find_violations(page) == []
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_text("2 sessions archived").wait_for()
    assert list_titles(site, "archived=yes") == ["apple", "banana"]
    expect(page.get_by_role("link", name="banana")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("link", name="banana").wait_for()
    page.get_by_role("link", name="apple").wait_for()
    assert list_titles(site, "archived=yes") == []


def test_tags_are_added_to_those_that_are_there(site):
    first = next(one for one in site.server.client.get("/api/sessions").json()["sessions"] if one["title"] == "cherry")
    site.server.client.patch(f"/api/sessions/{first['id']}", json={"tags": ["red"]})
    page = site.open("/sessions")
    select(page, "cherry", "date")
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("textbox", name="Add tags").fill("fruit, sweet")
    page.keyboard.press("Enter")
    page.get_by_text("2 sessions tagged").wait_for()
    assert list_titles(site, "tag=fruit") == ["cherry", "date"]
    assert list_titles(site, "tag=red&tag=sweet") == ["cherry"]
    expect(page.get_by_text("#sweet")).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("#sweet")).to_have_count(0)
    assert (list_titles(site, "tag=fruit"), list_titles(site, "tag=red")) == ([], ["cherry"])


def test_a_tag_that_is_refused_says_so_and_keeps_the_selection(site):
    page = site.open("/sessions")
    select(page, "apple")
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("textbox", name="Add tags").fill("x" * 500)
    page.keyboard.press("Enter")
    page.get_by_text("1 session could not be changed").wait_for()
    page.get_by_text("1 selected").wait_for()


def test_the_keyboard_alone_selects_and_trashes(site):
    page = site.open("/sessions")
    page.get_by_role("link", name="apple").wait_for()
    page.get_by_role("list", name="Sessions").focus()
    page.keyboard.press("Home")
    page.wait_for_function("() => document.activeElement.closest('[data-row]')")
    page.keyboard.press("x")
    page.get_by_text("1 selected").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+X")
    page.get_by_text("3 selected").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("3 selected").wait_for(state="detached")
    page.keyboard.press("Control+a")
    page.get_by_text("4 selected").wait_for()
    page.get_by_role("button", name="Move to the trash").press("Enter")
    page.get_by_text("4 sessions moved to the trash").wait_for()
    assert list_titles(site) == []
    expect(page.get_by_role("link", name="date")).to_have_count(0)
    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_role("link", name="date").wait_for()
    assert list_titles(site) == ["apple", "banana", "cherry", "date"]


def test_a_phone_exports_what_is_selected_as_one_file(site):
    page = site.open("/sessions", **PHONE)
    page.get_by_role("button", name="Select", exact=True).tap()
    page.locator("label", has=page.get_by_role("checkbox", name="Select “apple”")).tap()
    page.locator("label", has=page.get_by_role("checkbox", name="Select “cherry”")).tap()
    page.get_by_text("2 selected").wait_for()
    bar = page.get_by_role("region", name="Selected sessions")
    boxes = [one.bounding_box() for one in bar.get_by_role("button").all()]
    assert all(box["width"] >= 44 and box["height"] >= 44 and box["x"] + box["width"] <= 390 for box in boxes)
    bar.get_by_role("button", name="Export").tap()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export as Markdown").tap()
    with zipfile.ZipFile(download.value.path()) as found:
        assert found.testzip() is None
        texts = [found.read(name).decode() for name in found.namelist()]
    assert len(texts) == 2
    assert sorted(word for word in ("apple", "banana", "cherry") if any(word in one for one in texts)) == [
        "apple",
        "cherry",
    ]
