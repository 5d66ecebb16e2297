"""The gateway in the browser: a session goes to a room and comes back, strangers are let in, deliveries are seen."""

import re
import threading

from sojourn.testing.model_script import Call, Say
from tests.browser.conftest import XSS, Site, send_message
from tests.browser.sample_sessions import post_question
from tests.e2e.http_server import Serving


def hand_over(page, to="local", chat=""):
    page.get_by_role("button", name="Hand off to…").click()
    dialog = page.get_by_role("dialog", name="Hand off to…")
    dialog.get_by_label("Destination").select_option(to)
    if chat:
        dialog.get_by_label("Chat (optional)").fill(chat)
    dialog.get_by_role("button", name="Hand off").click()
    return dialog


def test_a_session_goes_to_a_room_talks_there_and_comes_back(scripted_site, model):
    model.play([Say("Basil and thyme.")], [Say("Hello from the room.")], [Say("Mint it is.")], [Say("Back again.")])
    page = scripted_site.open("/chat")
    send_message(page, "plan a herb garden")
    page.get_by_text("Basil and thyme.").wait_for()
    page.locator(".turn-usage").wait_for()
    other = scripted_site.open_tab(page.context)
    other.goto(page.url)
    other.locator("[data-driver=web]").wait_for(state="attached")

    dialog = hand_over(page)
    dialog.locator("[data-step=completed][data-state=done]").wait_for()
    steps = ("Requested", "Picked up", "Thread opened", "Session moved", "Agent replied", "Delivered", "Done")
    shown = dialog.locator("[data-step]").all_inner_texts()
    assert [" ".join(one.split()[1:]) for one in shown] == [f"{step} (done)" for step in steps]
    for tab in (page, other):  # the one that asked, and one that only looks on
        tab.locator("[data-driver=local]").wait_for()
        tab.get_by_text("This session is active in Local room.").wait_for()

    dialog.get_by_role("link", name="Open").click()
    page.wait_for_url("**/gateway/home")
    thread = page.locator("[data-thread]").last
    thread.get_by_text("Hello from the room.").wait_for()
    thread.get_by_label(re.compile("^Reply in")).fill("add mint")
    page.keyboard.press("Enter")
    thread.get_by_text("Mint it is.").wait_for()
    other.get_by_text("Mint it is.").wait_for()  # seen in the chat as it happens

    assert other.locator(".bubble").all_inner_texts() == ["plan a herb garden", "add mint"]  # our own word is none
    other.get_by_text("Moved here from another place").wait_for()
    other.get_by_role("button", name="Continue here", exact=True).click()
    other.locator("[data-driver=web]").wait_for(state="attached")
    send_message(other, "thanks")
    other.get_by_text("Back again.").wait_for()
    assert scripted_site.console_errors == []


def test_what_was_handed_over_and_sent_is_kept_in_sight(scripted_site, model):
    model.play([Say("Yes.")], [Say("Hello from the room.")])
    page = scripted_site.open("/chat")
    send_message(page, "are you there?")
    page.locator(".turn-usage").wait_for()
    hand_over(page, chat="#garden").locator("[data-step=completed][data-state=done]").wait_for()
    page.goto(scripted_site.address + "/gateway/%23garden")
    history = page.get_by_role("region", name="Hand-offs")
    history.locator("li", has_text="Browser → Local room: #garden").locator("[data-handoff=completed]").wait_for()
    ledger = page.get_by_role("region", name="Deliveries").first
    ledger.locator("[data-delivery=sent], [data-delivery=delivered]").first.wait_for()
    assert "Hello from the room." in ledger.inner_text()
    line = page.locator("[data-connection=local]")
    assert line.get_attribute("data-health") == "good"
    page.wait_for_function(  # the figures come with the gateway's next sign of life
        "() => !document.querySelector('[data-connection=local] dl').innerText.includes('Last sent\\nnothing yet')"
    )


def test_a_page_opened_amid_a_hand_off_sees_it_through(scripted_site, model):
    seen = threading.Event()

    def hello(asked):
        assert seen.wait(60)
        return [Say("Hello from the room, at last.")]

    model.play([Say("Yes.")], hello)
    page = scripted_site.open("/chat")
    send_message(page, "are you there?")
    page.locator(".turn-usage").wait_for()
    dialog = hand_over(page)
    dialog.locator("[data-step=bound][data-state=done]").wait_for()
    page.reload()
    page.locator(".handoff-status [data-step=bound][data-state=done]").wait_for()
    seen.set()
    page.locator(".handoff-status").wait_for(state="detached")
    page.locator("[data-driver=local]").wait_for()
    page.get_by_text("Hello from the room, at last.").wait_for()


def test_one_that_fails_says_why_and_leaves_the_session_here(scripted_site, model):
    model.play([Say("Yes.")], [Say("Still here.")])
    page = scripted_site.open("/chat")
    send_message(page, "are you there?")
    page.locator(".turn-usage").wait_for()
    dialog = hand_over(page, chat="..")
    dialog.locator("[data-state=failed]").wait_for()
    assert "'..' is not a valid room name." in dialog.locator(".problem-text").inner_text()
    page.keyboard.press("Escape")
    page.locator("[data-driver=web]").wait_for(state="attached")
    send_message(page, "and now?")
    page.get_by_text("Still here.").wait_for()


def test_a_stranger_is_let_in_by_code_and_another_is_turned_away(scripted_site):
    page = scripted_site.open("/gateway/annsroom")
    for name in ("ann", XSS):
        page.get_by_label("Write as").fill(name)
        page.get_by_label("Write in annsroom").fill("may I?")
        page.keyboard.press("Enter")
        page.locator(f"[data-waiting={name!r}]").wait_for()
    page.get_by_role("log", name="annsroom").get_by_text(re.compile("[A-Z0-9]{8}")).nth(1).wait_for()
    said = page.get_by_role("log", name="annsroom").inner_text()
    first = re.findall(r"\b[A-HJ-NP-Z2-9]{8}\b", said)[0]
    ann, other = page.locator("[data-waiting=ann]"), page.locator("[data-waiting]", has_text=XSS)
    ann.get_by_label("Code of ann").fill("WRONGONE")
    ann.get_by_role("button", name="Approve").click()
    page.get_by_text("Nobody is waiting with that code.").wait_for()
    ann.get_by_label("Code of ann").fill(first)
    ann.get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Revoke access").wait_for()
    other.get_by_role("button", name="Deny").click()
    page.get_by_text("No pairing requests.").wait_for()
    people = scripted_site.server.client.get("/api/plugins/gateway/people").json()
    assert [(one["sender"], one["principal"]) for one in people["paired"]] == [("ann", "guest:local-ann")]
    assert page.evaluate("window.hurt") is None


def answers(tab):
    return tab.get_by_role("group", name="Answers")


def test_a_question_in_a_room_is_answered_with_a_button(scripted_site, model):
    model.play([Call("write_file", {"path": "desk.txt", "content": "hi"})], [Say("Written.")])
    page = scripted_site.open("/gateway/desk")
    other = scripted_site.open_tab(page.context)
    other.goto(page.url)
    page.get_by_label("Write in desk").fill("write hi into desk.txt")
    page.keyboard.press("Enter")
    for tab in (page, other):
        answers(tab).get_by_role("button", name="Allow once").wait_for()
    answers(other).get_by_role("button", name="Allow once").click()
    for tab in (page, other):  # the question says how it was answered, and cannot be answered again
        tab.locator(".room-message", has_text="→ Allow once").wait_for()
        answers(tab).wait_for(state="detached")
        tab.locator(".button-press", has_text="you answered: Allow once").wait_for()
        tab.get_by_role("log", name="desk").get_by_text("Written.", exact=True).wait_for()
    assert next((scripted_site.server.home / "workspace").rglob("desk.txt")).read_text().strip() == "hi"
    assert scripted_site.console_errors == []


def test_a_press_is_seen_in_every_tab_until_the_gateway_has_heard_it(chromium, home):
    """No gateway runs, so that it stays as it is. A guest's press is shown too, and takes nothing from the owner."""
    post_question(home, "desk", "May I delete it?", "Allow", "Deny")
    with Serving(home, "--no-gateway", SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        site = Site(chromium, server)
        page = site.open("/gateway/desk")
        other = site.open_tab(page.context)
        other.goto(page.url)
        page.get_by_label("Write as").fill("ann")
        answers(page).get_by_role("button", name="Allow").click()
        for tab in (page, other):
            tab.locator(".button-press", has_text="ann answered: Allow").wait_for()
            assert answers(tab).get_by_role("button", name="Deny").is_enabled()
        answers(other).get_by_role("button", name="Deny").click()
        page.reload()
        for tab in (page, other):
            tab.locator(".button-press", has_text="you answered: Deny").wait_for()
            denied = answers(tab).get_by_role("button", name="Deny")
            assert (denied.get_attribute("aria-pressed"), denied.is_disabled()) == ("true", True)
            assert answers(tab).get_by_role("button", name="Allow").is_disabled()
        assert site.console_errors == []
        site.close()


def test_without_a_gateway_both_pages_say_so(chromium, home):
    with Serving(home, "--no-gateway", SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        site = Site(chromium, server)
        page = site.open("/gateway")
        page.get_by_role("region", name="Connections").get_by_text("No gateway is running.").wait_for()
        made = server.client.post("/api/sessions", json={"source": "web"}).json()
        page.goto(f"{server.address}/chat/{made['id']}")
        page.get_by_role("button", name="Hand off to…").click()
        page.get_by_role("dialog").get_by_text("No gateway is running.").wait_for()
        site.close()
