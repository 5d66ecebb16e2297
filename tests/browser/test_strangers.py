"""What a stranger or a model can write is shown as text, wherever it is shown."""

import pytest

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.testing.model_script import Call, Say
from tests.browser.conftest import BAD, Site, say
from tests.browser.histories import keep
from tests.e2e.http_server import Serving

WORSE = f"</textarea></script><svg/onload=window.hurt=1>{BAD}"


@pytest.fixture
def poisoned(chromium, home):
    """A home in which every field that somebody else can fill is filled with the same trick."""
    call = ToolCall(id="c1", name=f"tool{BAD}", arguments=f'{{"{BAD}": "{BAD}"}}')
    said = [user(f"said {WORSE}"), assistant(f"# answered {WORSE}\n\n| a | {BAD} |\n|-|-|\n| {BAD} | b |", [call])]
    session = keep(
        home,
        {"title": f"title {BAD}", "source": "web", "model": f"model {BAD}", "cwd": f"/home/{BAD}"},
        *said,
        tool_result(call, f"result {WORSE}"),
    )
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        server.client.post("/api/plugins/memory/facts", json={"text": f"fact {BAD}", "why": BAD})
        server.client.post("/api/plugins/hermes-achievements/rescan?wait=true")
        site = Site(chromium, server)
        site.session = session
        yield site
        site.close()
        assert site.outside == []


def test_no_page_runs_what_stands_in_a_title_a_message_a_tool_or_a_model(poisoned):
    page = poisoned.visitor()
    seen = {
        "/": f"title {BAD}",
        "/sessions": f"model {BAD}",
        f"/sessions/{poisoned.session}": f"tool{BAD}",
        f"/chat/{poisoned.session}": f"said {WORSE}",
        "/insights": f"tool{BAD}",
        "/memory": f"fact {BAD}",
        "/achievements": "Achievements",
    }
    for path, words in seen.items():
        page.goto(poisoned.server.address + path)
        page.get_by_text(words, exact=False).first.wait_for(state="attached")
        assert page.locator("main img[src=x], main svg[onload]").count() == 0, path
    page.goto(poisoned.server.address + "/sessions")
    page.get_by_label("Search all messages and titles").fill("result")
    page.locator(".search-results mark").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("title")
    page.get_by_role("option", name="title <img").wait_for()
    assert page.evaluate("window.hurt") is None
    assert poisoned.complaints == []


def test_a_tool_that_a_model_made_up_is_only_a_name(talking, model):
    model.play([Call(f"run{BAD}", {"x": BAD})], [Say("There is no such tool.")])
    page = talking.open("/chat")
    say(page, "do something")
    page.get_by_text("There is no such tool.").wait_for()
    assert page.locator(".tool-call strong").inner_text() == f"run{BAD}"
    page.locator(".tool-call summary").click()
    assert page.locator(".chat-body img[src=x]").count() == 0
    assert page.evaluate("window.hurt") is None


def test_the_name_of_a_file_is_only_a_name_before_and_after_it_is_sent(talking, model):
    model.play([Say("Seen.")])
    page = talking.open("/chat")
    file = {"name": f"{BAD}.txt", "mimeType": "text/html", "buffer": b"<script>window.hurt=1</script>"}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_label("Attached files").get_by_text(f"{BAD}.txt").wait_for()
    say(page, "look")
    page.get_by_text("Seen.").wait_for()
    with page.expect_download() as download:  # never shown as a page of ours
        page.locator(".bubble .pill").click()
    assert download.value.path().read_bytes().startswith(b"<script>")
    assert page.locator(".bubble img").count() == 0
    assert page.evaluate("window.hurt") is None
