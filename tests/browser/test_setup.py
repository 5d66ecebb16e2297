"""Setting up without a terminal: a model, a setting, a network."""

import asyncio
import re
from threading import Thread

import pytest

from sojourn.testing.model_script import Say
from tests.browser.conftest import open_site, send_message, start_server
from tests.servers.telegram import ANN, TOKEN, telegram_rig


@pytest.fixture(scope="module")
def empty_server():
    with start_server() as server:
        yield server


@pytest.fixture
def fresh(chromium, empty_server):
    yield from open_site(chromium, empty_server)


def test_from_an_empty_home_to_an_answer_of_a_model_in_six_clicks_and_one_key(fresh, model, find_violations):
    model.play([Say("Hello from the model.")], [Say("Hello again.")])
    page = fresh.open_browser()
    clicks = []

    def click(locator):
        locator.click()
        clicks.append(1)

    click(page.get_by_role("link", name="Connect a model"))
    page.wait_for_url("**/settings/models")
    click(page.get_by_role("button", name=re.compile("^OpenAI")))
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("API key").fill("pasted-key")
    assert find_violations(page) == []
    dialog.get_by_text("Server address").click()  # only because the provider is a server of this test
    dialog.get_by_role("textbox", name="Server address").fill(model.url)
    click(dialog.get_by_role("button", name="Connect"))
    click(dialog.get_by_role("button", name="Use this model"))
    click(page.get_by_role("link", name="Start a chat"))
    send_message(page, "hi")
    page.get_by_text("Hello from the model.").wait_for()
    assert len(clicks) <= 6
    assert "pasted-key" not in page.content()
    page.goto(fresh.address + "/settings/models")
    page.get_by_text("connected", exact=True).wait_for()
    assert "pasted-key" not in page.content()


def test_any_compatible_server_is_connected_by_its_address(fresh, model, find_violations):
    model.play([Say("Hello from elsewhere.")], [Say("Hello again.")])
    page = fresh.open("/settings/models")
    page.get_by_role("button", name=re.compile("^Another server")).click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_role("button", name="Connect").is_disabled()
    dialog.get_by_label("Server address").fill(model.url)
    dialog.get_by_label("API key (optional)").fill("other-key")
    assert find_violations(page) == []
    dialog.get_by_role("button", name="Connect").click()
    dialog.get_by_role("button", name="Use this model").click()
    page.get_by_text("connected", exact=True).wait_for()
    page.get_by_role("link", name="Start a chat").click()
    send_message(page, "hi")
    page.get_by_text("Hello from elsewhere.").wait_for()
    assert "Bearer other-key" in {one.headers["authorization"] for one in model.asked}
    assert "other-key" not in page.content()


def test_a_setting_is_changed_refused_and_reset(fresh):
    kept = fresh.server.client.get("/api/plugins/dashboard/settings").json()
    numbers = [one for one in kept if one["kind"] == "number" and one["origin"] == "default" and one["is_live"]]
    name, wanted = numbers[0]["name"], int(numbers[0]["value"]) + 1
    page = fresh.open("/settings/general")
    row = page.locator(f"[data-setting='{name}']")
    box = row.get_by_role("textbox", name=name)
    box.fill("not a number")
    row.get_by_role("button", name="Save").click()
    row.get_by_role("alert").wait_for()
    assert box.input_value() == "not a number"
    box.fill(str(wanted))
    row.get_by_role("button", name="Save").click()
    row.get_by_text("changed").wait_for()
    kept = fresh.server.client.get("/api/plugins/dashboard/settings").json()
    assert next(one for one in kept if one["name"] == name)["value"] == wanted
    row.get_by_role("button", name="Reset to default").click()
    row.get_by_text("default", exact=True).wait_for()
    slow = page.locator("[data-setting='server.idle_seconds']")
    slow.get_by_role("textbox").fill("900")
    slow.get_by_role("button", name="Save").click()
    slow.get_by_text("900 after a restart").wait_for()


def test_a_network_is_explained_and_a_wrong_key_is_refused_in_place(fresh, find_violations):
    page = fresh.open("/gateway")
    networks = page.get_by_role("region", name="Add a network")
    networks.get_by_role("button", name=re.compile("^Telegram")).click()
    dialog = page.get_by_role("dialog", name="Telegram")
    dialog.get_by_text("@BotFather").wait_for()  # where to find the token
    assert find_violations(page) == []
    dialog.get_by_label("Bot token").fill("not-a-token")
    dialog.get_by_role("button", name="Check and connect").click()
    dialog.get_by_role("alert").wait_for()
    assert dialog.get_by_label("Bot token").input_value() == "not-a-token"
    assert not any(one["is_configured"] for one in list_networks(fresh) if one["name"] == "telegram")


@pytest.fixture
def telegram():
    """Telegram's stand-in, in a thread, as Playwright's loop occupies this one; and a way to run things there."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()

    def run(work):
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    rig = telegram_rig()
    yield run(rig.__aenter__()), run
    run(rig.__aexit__(None, None, None))
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_a_network_is_connected_paired_tested_and_offered_without_a_terminal(fresh, telegram, find_violations):
    rig, run = telegram
    page = fresh.open("/gateway")
    page.get_by_role("button", name=re.compile("^Telegram")).click()
    dialog = page.get_by_role("dialog", name="Telegram")
    dialog.get_by_label("Bot token").fill(TOKEN)
    dialog.get_by_text("More options").click()
    dialog.get_by_placeholder("https://api.telegram.org").fill(rig.server.url)
    dialog.get_by_role("button", name="Check and connect").click()
    dialog.get_by_role("button", name="Pair my account").click()
    code = dialog.locator("strong.mono").inner_text()
    dialog.get_by_role("img", name="QR code").wait_for()
    assert find_violations(page) == []
    run(rig.until_listening())
    run(rig.server.say(501, None, ANN, text=code))
    page.wait_for_function(
        """async () => (await (await fetch('/api/plugins/gateway/people', {headers:
            {'Sojourn-Page-Key': localStorage.getItem('sojourn.page-key')}})).text()).includes('telegram')"""
    )
    dialog.get_by_role("button", name="Send a test message").click()
    page.get_by_text("Test message sent to").wait_for()
    assert any("test message" in one.text for one in rig.server.posts[501, None])
    assert TOKEN not in page.content()
    session = fresh.server.client.post("/api/sessions", json={"source": "web", "title": "to go"}).json()["id"]
    page.goto(f"{fresh.address}/chat/{session}")
    page.get_by_role("button", name="Hand off to…").click()
    page.get_by_label("Destination").locator("option", has_text="Telegram").wait_for(state="attached")
    page.goto(fresh.address + "/gateway")
    page.get_by_role("button", name=re.compile("^Telegram")).click()
    dialog.get_by_role("button", name="Remove").click()
    dialog.wait_for(state="detached")
    assert not any(one["is_configured"] for one in list_networks(fresh) if one["name"] == "telegram")


def list_networks(site):
    return site.server.client.get("/api/plugins/gateway/networks").json()


def test_a_tool_server_that_does_not_start_is_refused_in_place(fresh, find_violations):
    page = fresh.open("/settings/tools")
    page.get_by_text("No MCP server is set up.").wait_for()
    page.get_by_text("Add an MCP server").click()
    page.get_by_label("Name", exact=True).fill("broken")
    page.get_by_label("Command or address").fill("no-such-program-anywhere --stdio")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("Command or address").input_value() == "no-such-program-anywhere --stdio"
    assert find_violations(page) == []
    assert fresh.server.client.get("/api/plugins/mcp/servers").json() == []
