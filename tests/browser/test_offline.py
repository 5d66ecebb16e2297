"""The pages as an app: installable, a shell that says that the server is away, notifications by consent."""

import shutil

import pytest
from playwright.sync_api import expect

from sojourn.http.host_names import BROWSER_NAME
from sojourn.testing.model_script import Call, Say
from tests.browser.conftest import Site, send_message, start_server

ALLOW = {"service_workers": "allow"}
WORKER_READY = "() => navigator.serviceWorker.ready.then((found) => found.active.state === 'activated')"
# The tab's visibility as the test says, and what the browser is asked to show; Chromium without a screen shows nothing.
WITNESS = """
    window.isHidden = false;
    window.told = [];
    Object.defineProperty(document, "hidden", { get: () => window.isHidden });
    const show = ServiceWorkerRegistration.prototype.showNotification;
    ServiceWorkerRegistration.prototype.showNotification = function (title, options) {
        window.told.push([title, options.body, options.data.path]);
        return show.call(this, title, options);
    };
"""


def wait_for_shell(page):
    page.wait_for_function(WORKER_READY)
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")


def test_chrome_can_install_it(chromium, tmp_path, offline_server):
    program = chromium.browser_type.launch_persistent_context  # other contexts are private ones, which install nothing
    address = offline_server.address.replace("127.0.0.1", BROWSER_NAME)
    with program(tmp_path, executable_path=find_program(), args=["--no-sandbox", "--disable-gpu"]) as context:
        page = context.new_page()
        page.goto(address + offline_server.client.post("/api/links").json()["path"])
        page.get_by_role("navigation").wait_for()
        page.wait_for_function(WORKER_READY)
        found = context.new_cdp_session(page).send("Page.getInstallabilityErrors")
    assert found["installabilityErrors"] == []


def find_program():
    return shutil.which("chromium") or shutil.which("google-chrome")


def test_the_shell_says_that_the_server_is_away_and_keeps_nothing_private(chromium):
    with start_server(SOJOURN_RUNTIME="echo") as server:
        site = Site(chromium, server)
        page = site.open_browser(**ALLOW)
        wait_for_shell(page)
        page.goto(site.address + "/chat/new")
        send_message(page, "a private word")
        page.locator(".turn-usage").wait_for()
        page.goto(site.address + "/sessions")
        page.get_by_text("a private word").first.wait_for()
        kept = page.evaluate(
            """async () => {
                const found = [];
                for (const name of await caches.keys())
                    for (const one of await (await caches.open(name)).keys()) found.push(new URL(one.url).pathname);
                return found;
            }"""
        )
        assert "/" in kept
        assert [path for path in kept if path != "/" and not path.startswith("/assets/")] == []
        server.stop()
        page.goto(site.address + "/insights")
        expect(page.get_by_role("heading", name="The server is not reachable")).to_be_visible()
        assert "private" not in page.content()
        site.close()


@pytest.fixture
def notified_site(chromium, scripted_server):
    site = Site(chromium, scripted_server)
    yield site
    site.close()


def test_what_waits_is_told_with_consent_while_the_tab_is_hidden(notified_site, model, find_violations):
    site = notified_site
    page = site.open_browser(**ALLOW)
    page.context.grant_permissions(["notifications"], origin=site.address)
    page.add_init_script(WITNESS)
    page.goto(site.address + "/settings/general")
    settings = page.get_by_role("region", name="Notifications")
    settings.get_by_role("button", name="Turn on notifications").click()
    settings.get_by_text("Notifications are on in this browser.").wait_for()
    assert find_violations(page) == []
    page.wait_for_function(WORKER_READY)
    page.evaluate("window.isHidden = true")
    model.play([Call("terminal", {"command": "touch made.txt"})], [Say("Done.")])
    made = site.server.client.post("/api/sessions", json={"title": "in the background", "source": "api"}).json()
    turn = {"message": "make it", "runtime": "native"}
    assert site.server.client.post(f"/api/sessions/{made['id']}/turns", json=turn).is_success
    page.wait_for_function("() => window.told.length > 0")
    assert page.evaluate("window.told") == [["Waiting for your answer", "in the background", f"/chat/{made['id']}"]]
    assert page.title().startswith("(1) ")
    site.server.client.post(f"/api/sessions/{made['id']}/turns/running/stop")


def test_nothing_is_told_without_consent(notified_site, model):
    site = notified_site
    page = site.open_browser(**ALLOW)
    page.context.grant_permissions(["notifications"], origin=site.address)
    page.add_init_script(WITNESS + "window.isHidden = true;")
    page.goto(site.address + "/insights")
    page.wait_for_function(WORKER_READY)
    model.play([Call("terminal", {"command": "touch made.txt"})], [Say("Done.")])
    made = site.server.client.post("/api/sessions", json={"title": "silent", "source": "api"}).json()
    turn = {"message": "make it", "runtime": "native"}
    assert site.server.client.post(f"/api/sessions/{made['id']}/turns", json=turn).is_success
    page.wait_for_function("() => document.title.startsWith('(')")  # it is counted in the title, on any page
    assert page.evaluate("window.told") == []
    site.server.client.post(f"/api/sessions/{made['id']}/turns/running/stop")


PUSH_STAND_IN = """
    const endpoint = "https://fcm.googleapis.com/fcm/send/a-browser";
    let subscription = null;
    PushManager.prototype.getSubscription = async () => subscription;
    PushManager.prototype.subscribe = async (options) => {
        if (options.applicationServerKey.length !== 65 || !options.userVisibleOnly) throw new Error("options");
        return (subscription = {endpoint, unsubscribe: async () => { subscription = null; return true; }});
    };
"""


def test_a_push_is_agreed_to_by_name_and_tells_that_something_waits(notified_site, find_violations):
    """The browser's own subscription needs its maker's server, which tests do not reach: it alone is stood in for."""
    site = notified_site
    page = site.open_browser(**ALLOW)
    page.context.grant_permissions(["notifications"], origin=site.address)
    page.add_init_script(PUSH_STAND_IN)
    page.goto(site.address + "/settings/general")
    page.wait_for_function(WORKER_READY)
    settings = page.get_by_role("region", name="Notifications")
    settings.get_by_role("button", name="Turn on notifications").click()
    settings.get_by_text("An empty message then passes fcm.googleapis.com (Google)").wait_for()
    push = "/api/plugins/dashboard/push"
    assert site.server.client.get(push).json()["browsers"] == 0  # nothing before the consent
    settings.get_by_role("button", name="I agree, turn it on").click()
    settings.get_by_text("You are also told when no page is open").wait_for()
    assert site.server.client.get(push).json()["browsers"] == 1
    assert find_violations(page) == []
    wire = page.context.new_cdp_session(page)
    found = []
    wire.on("ServiceWorker.workerRegistrationUpdated", lambda one: found.extend(one["registrations"]))
    wire.send("ServiceWorker.enable")
    page.wait_for_timeout(300)
    page.evaluate("Object.defineProperty(document, 'visibilityState', {value: 'hidden'})")
    page.goto("about:blank")  # no page of ours is open
    wire.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": site.address, "registrationId": found[0]["registrationId"], "data": ""},
    )
    page.wait_for_timeout(500)
    page.goto(site.address + "/settings/general")
    told = """async () => (await (await navigator.serviceWorker.ready).getNotifications())
        .map((one) => [one.body, one.data.path])"""
    assert page.evaluate(told) == [["A session waits for your answer.", "/chat"]]
    site.server.client.request("DELETE", push, json={"endpoint": "https://fcm.googleapis.com/fcm/send/a-browser"})
