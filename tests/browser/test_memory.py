"""The memory page: facts are edited, and recalled context is explained."""

import pytest

from sojourn.testing.model_script import Say
from tests.browser.conftest import open_site, send_message


@pytest.fixture
def site_with_fact(chromium, offline_server):
    offline_server.client.post("/api/plugins/memory/facts", json={"text": "Prefers tabs <b>not</b> spaces"})
    yield from open_site(chromium, offline_server)


def test_facts_are_added_edited_and_deleted(site_with_fact):
    page = site_with_fact.open("/memory")
    page.get_by_text("Prefers tabs <b>not</b> spaces").wait_for()
    page.get_by_label("Something to remember").fill("Likes short answers")
    page.get_by_role("button", name="Remember").click()
    row = page.locator("li", has_text="Likes short answers")
    row.get_by_role("button", name="Edit").click()
    page.locator("main li input").fill("Likes very short answers")
    page.get_by_role("button", name="Save").click()
    page.locator("li", has_text="Likes very short answers").get_by_role("button", name="Forget").click()
    page.locator("li", has_text="very short").wait_for(state="detached")
    assert [one["text"] for one in site_with_fact.server.client.get("/api/plugins/memory/facts").json()] == [
        "Prefers tabs <b>not</b> spaces"
    ]


def test_the_memory_page_says_why_something_was_recalled(scripted_site, model):
    scripted_site.server.client.post("/api/plugins/memory/facts", json={"text": "The greenhouse is heated by straw."})
    model.play([Say("By straw.")])
    page = scripted_site.open("/chat")
    send_message(page, "how is the greenhouse heated?")
    page.locator(".turn-usage").wait_for()
    session = page.url.rpartition("/")[2]
    page.goto(scripted_site.address + "/memory")
    turn = page.locator("[data-turn-context]")
    turn.wait_for()
    used = scripted_site.server.client.get(f"/api/plugins/memory/used/{session}").json()
    assert used[0]["pieces"]
    for piece in used[0]["pieces"]:
        assert piece["title"] in turn.inner_text()
        assert piece["reason"] in turn.inner_text()
