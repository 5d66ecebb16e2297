"""Sign-in by link and token, cookies, and the content policy of the pages."""

import http.client
import json
import re
from email.message import Message
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from sojourn.dashboard.pages import STATIC
from tests.browser.conftest import free_port, open_site
from tests.e2e.http_server import Serving


@pytest.fixture
def site(chromium, offline_server):
    """Nobody changes anything here, so one server does for all."""
    yield from open_site(chromium, offline_server)


def test_a_link_opens_the_door_once(site):
    link = site.address + site.server.client.post("/api/links").json()["path"]
    first = site.open_browser(signed_in=False)
    first.goto(link)
    first.wait_for_url(site.address + "/")
    first.get_by_role("heading", name="Welcome to Sojourn").wait_for()
    cookie = first.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert site.server.token not in cookie["value"]

    second = site.open_browser(signed_in=False)
    second.goto(link)
    second.get_by_role("heading", name="This link no longer works").wait_for()
    assert second.evaluate("getComputedStyle(document.body).display") == "grid"  # it has a style
    assert second.context.cookies() == []


@pytest.mark.parametrize("path", ["/nope", "/sessions/a/b", "/plugins/nobody"])
@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_an_address_without_a_page_says_so_and_leads_back(site, find_violations, path, locale):
    page = site.open(path, locale=locale)
    page.get_by_role("heading", name="Page not found" if locale == "en-US" else "找不到页面").wait_for()
    assert find_violations(page) == []
    page.get_by_role("link").click()
    page.wait_for_url(site.address + "/")
    page.get_by_role("navigation").wait_for()


def test_who_has_no_cookie_is_asked_for_the_token(site):
    page = site.open("/sessions", signed_in=False)
    page.get_by_label("token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "not this server's token" in page.get_by_role("alert").inner_text()
    page.get_by_label("token").fill(site.server.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Sessions").wait_for()


def test_signing_out_takes_the_cookie_back(site):
    page = site.open("/settings/security")
    page.get_by_role("button", name="Sign out", exact=True).first.click()
    page.get_by_label("token").wait_for()
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.getItem('sojourn.page-key')") is None


def test_a_browser_that_is_signed_out_elsewhere_is_asked_to_sign_in(site):
    other = site.open("/chat", user_agent="Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Firefox/140.0")
    page = site.open("/settings/security")
    row = page.get_by_role("listitem").filter(has_text="Firefox on macOS")
    assert "127.0.0.1" in row.inner_text()
    page.get_by_role("listitem").filter(has_text="Chrome on Linux").filter(has_text="this browser").wait_for()
    row.get_by_role("button", name="Sign out Firefox on macOS").click()
    row.wait_for(state="detached")
    other.reload()
    other.get_by_label("token").wait_for()


def test_a_restart_signs_nobody_out(chromium, home):
    port = str(free_port())
    env = {"SOJOURN_RUNTIME": "offline", "SOJOURN_MODEL_DETECT": "no"}
    with Serving(home, "--port", port, **env) as server:
        for site in open_site(chromium, server):
            page = site.open("/sessions")
            page.get_by_role("heading", name="Sessions").wait_for()
            server.stop()
            with Serving(home, "--port", port, **env):
                page.reload()
                page.get_by_role("heading", name="Sessions").wait_for()
                assert page.get_by_label("token").count() == 0


@pytest.mark.parametrize("path", ["/sessions?text=a%20b", "/"])
def test_a_person_who_opens_127_0_0_1_is_led_to_the_name_of_the_pages(site, path):
    page = site.open_browser()
    page.goto(site.server.address + path)
    page.get_by_role("navigation").wait_for()
    assert page.url == site.address + path


def test_a_browser_that_does_not_know_the_name_stays_where_it_is(chromium, offline_server):
    safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15"
    context = chromium.new_context(user_agent=safari)
    page = context.new_page()
    page.goto(offline_server.address + offline_server.client.post("/api/links").json()["path"])
    page.wait_for_url(offline_server.address + "/")
    page.get_by_role("heading", name="Welcome to Sojourn").wait_for()
    context.close()


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site", "Origin": "null"}, {}]
)
def test_a_cookie_alone_changes_nothing_for_a_foreign_page(site, headers):
    page = site.open_browser()
    answer = _ask(site, "POST", "/api/sessions", {**_both_halves(page), **headers}, b"{}")
    assert answer.status in (401, 403)


def test_a_page_on_another_port_of_this_machine_reads_nothing(site):
    halves = _both_halves(site.open_browser())
    assert _ask(site, "GET", "/api/sessions", halves).status == 200
    assert _ask(site, "GET", "/api/sessions", {**halves, "Sec-Fetch-Site": "same-site"}).status == 401


def test_a_foreign_name_that_points_here_gets_no_page(site):
    assert _ask(site, "GET", "/", {"Host": "evil.example"}).status == 421


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../pages.py",
        "/assets/%2e%2e%2f%2e%2e%2fpages.py",
        "/assets/..%5c..%5cpages.py",
        "/assets//etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_assets(site, path):
    answer = _ask(site, "GET", path, {})
    assert answer.status in (401, 404)
    assert b"import" not in answer.body


def test_a_body_that_is_too_large_is_refused(site):
    headers = {**_both_halves(site.open_browser()), "Origin": site.address, "Content-Length": str(64 * 1024 * 1024)}
    assert _ask(site, "POST", "/api/sessions", headers).status == 413


def test_the_policy_allows_no_inline_script_and_no_foreign_host(site):
    answer = _ask(site, "GET", "/", {})
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert not re.search(r"https?:", policy)
    page = site.open_browser()
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hurt = 1";
            document.body.append(script);
        }"""
    )
    assert page.evaluate("window.hurt") is None
    refused = page.evaluate("() => fetch('https://example.org').then(() => 'went', () => 'refused')")
    assert refused == "refused"


def test_the_built_page_holds_no_inline_script_and_names_no_host():
    document = (STATIC / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", document) == []
    assert re.findall(r"\bon\w+=|https?://", document) == []


def _both_halves(page):
    """The session of a page, as headers."""
    cookie = page.context.cookies()[0]
    key = page.evaluate("localStorage.getItem('sojourn.page-key')")
    netloc = urlsplit(page.url).netloc
    return {"Host": netloc, "Cookie": f"{cookie['name']}={cookie['value']}", "Sojourn-Page-Key": key}


class Answer(NamedTuple):
    status: int
    headers: Message
    body: bytes


def _ask(site, method, path, headers, body=None):
    """Below any client library: nothing is added, nothing made tidy."""
    line = http.client.HTTPConnection(urlsplit(site.server.address).netloc, timeout=10)
    try:
        line.putrequest(method, path, skip_host="Host" in headers)
        if body is not None:
            headers = {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}
        for name, value in headers.items():
            line.putheader(name, value)
        line.endheaders(body)
        answer = line.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        line.close()


def test_json_is_never_a_page(site):
    answer = _ask(site, "GET", "/api/sessions", {"Authorization": f"Bearer {site.server.token}"})
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert json.loads(answer.body)["sessions"] == []
