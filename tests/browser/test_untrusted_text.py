"""Text from models and other people is shown as text on every page, never run."""

import pytest

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.testing.model_script import Call, Say
from tests.browser.conftest import XSS, Site, send_message
from tests.browser.sample_sessions import create_session
from tests.e2e.http_server import Serving

NESTED = f"</textarea></script><svg/onload=window.hurt=1>{XSS}"


@pytest.fixture
def poisoned(chromium, home):
    """A home in which every field that somebody else can fill is filled with the same trick."""
    call = ToolCall(id="c1", name=f"tool{XSS}", arguments=f'{{"{XSS}": "{XSS}"}}')
    said = [user(f"said {NESTED}"), assistant(f"# answered {NESTED}\n\n| a | {XSS} |\n|-|-|\n| {XSS} | b |", [call])]
    session = create_session(
        home,
        {"title": f"title {XSS}", "source": "web", "model": f"model {XSS}", "cwd": f"/home/{XSS}"},
        *said,
        tool_result(call, f"result {NESTED}"),
    )
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        server.client.post("/api/plugins/memory/facts", json={"text": f"fact {XSS}", "why": XSS})
        server.client.post("/api/plugins/hermes-achievements/rescan?wait=true")
        site = Site(chromium, server)
        site.session = session
        yield site
        site.close()
        assert site.foreign_requests == []


def test_no_page_runs_what_stands_in_a_title_a_message_a_tool_or_a_model(poisoned):
    page = poisoned.open_browser()
    seen = {
        "/": f"title {XSS}",
        "/sessions": f"model {XSS}",
        f"/sessions/{poisoned.session}": f"tool{XSS}",
        f"/chat/{poisoned.session}": f"said {NESTED}",
        "/insights": f"tool{XSS}",
        "/memory": f"fact {XSS}",
        "/achievements": "Achievements",
    }
    for path, words in seen.items():
        page.goto(poisoned.address + path)
        page.get_by_text(words, exact=False).first.wait_for(state="attached")
        assert page.locator("main img[src=x], main svg[onload]").count() == 0, path
    page.goto(poisoned.address + "/sessions")
    page.get_by_label("Search all messages and titles").fill("result")
    page.locator(".search-results mark").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("title")
    page.get_by_role("option", name="title <img").wait_for()
    assert page.evaluate("window.hurt") is None
    assert poisoned.console_errors == []


def test_a_tool_that_a_model_made_up_is_only_a_name(scripted_site, model):
    model.play([Call(f"run{XSS}", {"x": XSS})], [Say("There is no such tool.")])
    page = scripted_site.open("/chat")
    send_message(page, "do something")
    page.get_by_text("There is no such tool.").wait_for()
    assert page.locator(".tool-call strong").inner_text() == f"run{XSS}"
    page.locator(".tool-call summary").click()
    assert page.locator(".chat-body img[src=x]").count() == 0
    assert page.evaluate("window.hurt") is None


def test_the_name_of_a_file_is_only_a_name_before_and_after_it_is_sent(scripted_site, model):
    model.play([Say("Seen.")])
    page = scripted_site.open("/chat")
    file = {"name": f"{XSS}.txt", "mimeType": "text/html", "buffer": b"<script>window.hurt=1</script>"}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_label("Attached files").get_by_text(f"{XSS}.txt").wait_for()
    send_message(page, "look")
    page.get_by_text("Seen.").wait_for()
    with page.expect_download() as download:  # never shown as a page of ours
        page.locator(".bubble .pill").click()
    assert download.value.path().read_bytes().startswith(b"<script>")
    assert page.locator(".bubble img").count() == 0
    assert page.evaluate("window.hurt") is None
