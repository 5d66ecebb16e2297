"""Talking in the browser: streaming, tools, approvals, stop, reload, two tabs."""

import re

from sojourn.testing.model_script import Call, Hang, Refuse, Say, Think
from tests.browser.conftest import XSS, send_message


def test_from_an_empty_home_to_a_first_answer(site):
    page = site.open_browser()
    page.get_by_role("link", name="Start a chat").click()
    send_message(page, "help")
    page.wait_for_url("**/chat/*")
    page.get_by_text("Here is what I understand").first.wait_for(timeout=60_000)
    assert page.locator(".bubble").inner_text() == "help"
    assert site.console_errors == []


def test_without_a_model_free_text_gets_help_and_earlier_words_are_not_its_own(site):
    """Nothing is invented, and a question does not find itself in the search that it caused."""
    page = site.open("/chat")
    send_message(page, "帮我写一首关于春天的诗")
    page.get_by_text("这个我答不了").wait_for()
    assert page.get_by_text("不过你以前的会话提到过").count() == 0
    page.goto(site.address + "/chat/new")
    send_message(page, "Who was the first king of France?")
    page.get_by_text("A question like this needs a model.").wait_for()
    send_message(page, "Where did we talk about vermilion?")
    page.get_by_text("I found nothing about").wait_for()


def test_an_answer_streams_as_markdown_and_what_looks_like_html_stays_text(scripted_site, model):
    text = (
        "Here: **bold**, <img src=x onerror=window.hurt=1>\n\n```python\nprint('hi')\n```\n\n[bad](javascript:alert(1))"
    )
    model.play([Say(text)])
    page = scripted_site.open("/chat")
    send_message(page, "<script>window.hurt=1</script>")
    page.locator(".answer strong").wait_for()
    page.locator(".turn-usage").wait_for()
    assert page.locator(".bubble").inner_text() == "<script>window.hurt=1</script>"
    assert page.locator(".code-block code").inner_text() == "print('hi')"
    assert "<img src=x" in page.locator(".answer").first.inner_text()
    assert page.locator(".answer img, .answer a[href^=javascript]").count() == 0
    assert page.evaluate("window.hurt") is None


def test_two_tabs_see_the_same_words_as_they_come(scripted_site, model):
    words = " ".join(f"word{number}" for number in range(60))
    model.play([Say(words, pause=0.08)])
    first = scripted_site.open("/chat")
    send_message(first, "count")
    first.wait_for_url("**/chat/*")
    second = scripted_site.open_tab(first.context)
    second.goto(first.url)
    second.get_by_text("word3 ").wait_for()
    assert "word59" not in second.locator(".answer").inner_text()
    for page in (first, second):
        page.locator(".turn-usage").wait_for(timeout=30_000)
        assert page.locator(".answer").inner_text() == words
        assert page.locator("[data-driver=web]").count() == 1


def test_reloading_in_the_middle_loses_no_letter(scripted_site, model):
    words = " ".join(f"word{number}" for number in range(60))
    model.play([Say(words, pause=0.08)])
    page = scripted_site.open("/chat")
    send_message(page, "count")
    page.get_by_text("word5 ").wait_for()
    page.reload()
    page.locator(".turn-usage").wait_for(timeout=30_000)
    assert page.locator(".answer").inner_text() == words


def test_a_line_that_breaks_is_taken_up_where_it_was(scripted_site, model):
    words = " ".join(f"word{number}" for number in range(50))
    model.play([Say(words, pause=0.08)])
    page = scripted_site.open("/chat")
    send_message(page, "count")
    page.get_by_text("word5 ").wait_for()
    page.context.set_offline(True)
    page.wait_for_timeout(700)
    page.context.set_offline(False)
    page.locator(".turn-usage").wait_for(timeout=30_000)
    assert page.locator(".answer").inner_text() == words


def test_stop_stops(scripted_site, model):
    model.play([Say("It begins "), Hang()])
    page = scripted_site.open("/chat")
    send_message(page, "go on for ever")
    page.get_by_text("It begins").wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped.").wait_for()
    assert page.get_by_role("button", name="Stop").count() == 0


def test_a_tool_asks_first_and_its_result_is_folded_with_its_time(scripted_site, model):
    model.play([Call("write_file", {"path": "hello.txt", "content": "hi"})], [Say("Written.")])
    page = scripted_site.open("/chat")
    send_message(page, "write hi into hello.txt")
    page.get_by_role("button", name="Allow once").click()
    page.get_by_text("Written.").wait_for()
    tool = page.locator("[data-tool=write_file]")
    assert tool.get_attribute("open") is None
    assert "s" in tool.locator(".tool-duration").inner_text()
    tool.locator("summary").click()
    assert "hello.txt" in tool.inner_text()
    assert next((scripted_site.server.home / "workspace").rglob("hello.txt")).read_text().strip() == "hi"


def test_a_refusal_is_told_with_what_to_do(scripted_site, model):
    model.play([Refuse(401, "no such key")])
    page = scripted_site.open("/chat")
    send_message(page, "anyone there?")
    page.locator(".turn [role=alert]").wait_for(timeout=60_000)
    assert page.locator(".turn [role=alert] p").count() >= 1


def test_thoughts_are_kept_and_folded(scripted_site, model):
    model.play([Think("The moon pulls the sea."), Say("Twice a day.")])
    page = scripted_site.open("/chat")
    send_message(page, "how often is high water?")
    for _ in ("as it came", "as it was stored"):
        page.locator(".turn-usage").wait_for()
        thoughts = page.locator(".turn details", has_text="Reasoning")
        thoughts.wait_for()
        assert not page.get_by_text("The moon pulls the sea.").is_visible()
        thoughts.locator("summary").click()
        page.get_by_text("The moon pulls the sea.").wait_for()
        assert page.locator(".answer").inner_text() == "Twice a day."
        page.reload()


def test_trying_again_is_told_with_its_number(scripted_site, model):
    model.play([Refuse(500, "overloaded")], [Say("Here I am.")])
    page = scripted_site.open("/chat")
    send_message(page, "are you there?")
    progress = page.get_by_role("status").filter(
        has_text=re.compile(r"The model had an error. Trying again \(1 of \d\)")
    )
    progress.wait_for()
    page.get_by_text("Here I am.").wait_for()
    assert progress.count() == 0


def test_a_file_goes_along_and_its_name_is_only_text(scripted_site, model):
    model.play([Say("Seen.")])
    page = scripted_site.open("/chat")
    name = "<b onclick=hurt()>note.txt"
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/plain", "buffer": b"milk"})
    page.get_by_label("Attached files").wait_for()
    send_message(page, "what does it say?")
    page.get_by_text("Seen.").wait_for()
    assert page.locator(".bubble .pill").inner_text().strip() == name
    assert page.locator(".bubble b").count() == 0


def test_a_session_driven_elsewhere_says_so_and_can_be_taken(scripted_site, model):
    model.play([Say("From here.")])
    client, surface = scripted_site.server.client, {"Sojourn-Surface": "cli"}
    made = client.post("/api/sessions", json={"source": "cli"}, headers=surface).json()
    client.post(f"/api/sessions/{made['id']}/take", headers=surface)
    page = scripted_site.open(f"/chat/{made['id']}")
    page.get_by_text("This session is active in Terminal.").wait_for()
    page.get_by_role("button", name="Continue here", exact=True).click()
    page.locator("[data-driver=web]").wait_for(state="attached")
    send_message(page, "mine now")
    page.get_by_text("From here.").wait_for()


def test_code_is_coloured_by_kind_and_stays_the_same_text(scripted_site, model):
    code = f'def greet(name):\n    # {XSS}\n    return "hello"'
    model.play([Say(f"```python\n{code}\n```\n\n```klingon\nnuqneH {XSS}\n```")])
    page = scripted_site.open("/chat")
    send_message(page, "greet me")
    page.locator(".turn-usage").wait_for()
    page.locator(".code-block .hljs-keyword", has_text="def").wait_for()
    assert page.locator(".code-block .hljs-string").inner_text() == '"hello"'
    assert page.locator(".code-block code").all_inner_texts() == [
        code,
        f"nuqneH {XSS}",
    ]  # a language nobody knows stays plain
    assert page.evaluate("window.hurt") is None


def test_a_request_of_several_steps_is_drawn_as_a_graph(scripted_site, model):
    model.play([Say("Done.")])
    page = scripted_site.open("/chat")
    send_message(page, f"First read the log, then find the error {XSS}, then write a summary of it.")
    page.locator(".turn-usage").wait_for()
    nodes = page.locator(".task-graph .node")
    assert [one.get_attribute("data-node") for one in nodes.all()] == ["t1", "t2", "t3"]
    edges = page.locator(".task-graph .edge").all()
    assert [one.get_attribute("data-edge") for one in edges] == ["t1>t2", "t2>t3"]
    assert page.locator(".task-plan li").count() == 3
    lefts = [one.bounding_box()["x"] for one in nodes.all()]
    assert lefts == sorted(set(lefts))  # each to the right of what it needs
    assert page.evaluate("window.hurt") is None


def test_two_tabs_agree_who_drives_and_either_can_go_on(scripted_site, model):
    model.play([Say("One.")], [Say("Two.")])
    first = scripted_site.open("/chat")
    send_message(first, "begin")
    first.locator(".turn-usage").wait_for()
    second = scripted_site.open_tab(first.context)
    second.goto(first.url)
    second.locator("[data-driver=web]").wait_for(state="attached")
    session = first.url.rpartition("/")[2]
    scripted_site.server.client.post(f"/api/sessions/{session}/take", headers={"Sojourn-Surface": "cli"})
    for page in (first, second):
        page.locator("[data-driver=cli]").wait_for()
    second.get_by_role("button", name="Continue here", exact=True).click()
    for page in (first, second):
        page.locator("[data-driver=web]").wait_for(state="attached")
    send_message(first, "go on")
    for page in (first, second):
        page.get_by_text("Two.").wait_for()


def test_formulas_keep_their_backslashes_and_tables_their_alignment(scripted_site, model):
    answer = (
        r"Inline \( a^2 + b^2 \), block:"
        + "\n\n"
        + r"$$\frac{1}{2}$$"
        + "\n\nIt costs $5 or $6.\n\n| a | n |\n|---|---:|\n| x | 1 |"
    )
    model.play([Say(answer)])
    page = scripted_site.open("/chat")
    send_message(page, "show me")
    page.locator(".answer math msup").first.wait_for()
    page.locator(".answer .math-block mfrac").wait_for()
    assert "$5 or $6" in page.locator(".answer").inner_text()
    assert page.locator(".answer td[data-align=right]").inner_text() == "1"
    assert scripted_site.console_errors == []
