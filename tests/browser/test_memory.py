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
    page.get_by_role("button", name="Undo").click()
    row = page.locator("li", has_text="Likes very short answers")
    row.get_by_role("button", name="Forget").click()
    page.locator("li", has_text="very short").wait_for(state="detached")
    refused = "password: hunter2-Zx81!"
    page.get_by_label("Something to remember").fill(refused)
    page.get_by_role("button", name="Remember").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Something to remember").input_value() == refused
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


def test_a_prompt_is_added_said_in_a_chat_and_removed(scripted_site, model, find_violations):
    model.play([Say("Reviewed.")])
    page = scripted_site.open("/memory")
    prompts = page.get_by_role("region", name="Prompts")
    prompts.get_by_text("Add a prompt").click()
    prompts.get_by_label("Name: small letters").fill("help")
    prompts.get_by_label("Message").fill("Review $1 carefully.")
    prompts.get_by_role("button", name="Save").click()
    prompts.get_by_role("alert").get_by_text("/help is a command already").wait_for()
    prompts.get_by_label("Name: small letters").fill("review")
    prompts.get_by_role("button", name="Save").click()
    prompts.get_by_text("/review", exact=True).wait_for()
    assert find_violations(page) == []
    prompts.get_by_role("link", name="Use").click()
    box = page.get_by_label("Write a message")
    box.press("End")
    box.type("main")
    box.press("Enter")
    page.get_by_text("Reviewed.").wait_for()
    assert page.locator(".bubble").inner_text().startswith("Review main carefully.")
    page.goto(scripted_site.address + "/memory")
    prompts.get_by_role("button", name="Remove /review").click()
    page.get_by_role("button", name="Undo").click()
    prompts.get_by_role("button", name="Remove /review").click()
    prompts.get_by_text("/review", exact=True).wait_for(state="detached")


def test_documents_are_added_tested_and_removed(scripted_site, find_violations):
    page = scripted_site.open("/memory")
    notes = page.get_by_role("region", name="Notes and documents")
    notes.get_by_text("No notes yet.").wait_for()
    files = [
        {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": f"# {name}\n\nPrune the {name} in May.".encode()}
        for name in ("roses", "lilacs")
    ]
    notes.locator("input[type=file]").set_input_files(files)
    notes.get_by_text("lilacs.md").wait_for()
    notes.get_by_label("Type a request").fill("when do I prune the lilacs")
    notes.get_by_role("button", name="Find notes").click()
    notes.locator("ol").get_by_text("lilacs.md").wait_for()
    assert find_violations(page) == []
    notes.get_by_role("button", name="Edit roses.md").click()
    page.get_by_role("dialog").get_by_label("Text").fill("# Roses\n\nIn March.")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_role("dialog").wait_for(state="detached")
    notes.get_by_role("button", name="Remove roses.md").click()
    notes.get_by_role("button", name="Edit roses.md").wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    notes.get_by_role("button", name="Edit roses.md").wait_for()
    assert (scripted_site.server.home / "notes" / "roses.md").read_text() == "# Roses\n\nIn March."
