"""Sign-in by link and token, cookies, and the content policy of the pages."""

import http.client
import json
import re
from email.message import Message
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from sojourn.dashboard.pages import STATIC
from tests.browser.conftest import open_site


@pytest.fixture
def site(chromium, offline_server):
    """Nobody changes anything here, so one server does for all."""
    yield from open_site(chromium, offline_server)


def test_a_link_opens_the_door_once(site):
    link = site.server.address + site.server.client.post("/api/links").json()["path"]
    first = site.open_browser(signed_in=False)
    first.goto(link)
    first.wait_for_url(site.server.address + "/")
    first.get_by_role("heading", name="Welcome to Sojourn").wait_for()
    cookie = first.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert site.server.token not in cookie["value"]

    second = site.open_browser(signed_in=False)
    second.goto(link)
    assert "used already" in second.content()
    assert second.context.cookies() == []


def test_who_has_no_cookie_is_asked_for_the_token(site):
    page = site.open("/sessions", signed_in=False)
    page.get_by_label("token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "not this server's token" in page.get_by_role("alert").inner_text()
    page.get_by_label("token").fill(site.server.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Sessions").wait_for()


def test_signing_out_takes_the_cookie_back(site):
    page = site.open("/settings")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("token").wait_for()
    assert page.context.cookies() == []


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site", "Origin": "null"}, {}]
)
def test_a_cookie_alone_changes_nothing_for_a_foreign_page(site, headers):
    page = site.open_browser()
    cookie = page.context.cookies()[0]
    answer = _ask(site, "POST", "/api/sessions", {"Cookie": f"{cookie['name']}={cookie['value']}", **headers}, b"{}")
    assert answer.status in (401, 403)


def test_a_page_on_another_port_of_this_machine_reads_nothing(site):
    cookie = site.open_browser().context.cookies()[0]
    headers = {"Cookie": f"{cookie['name']}={cookie['value']}", "Sec-Fetch-Site": "same-site"}
    assert _ask(site, "GET", "/api/sessions", headers).status == 401


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
    cookie = site.open_browser().context.cookies()[0]
    headers = {
        "Cookie": f"{cookie['name']}={cookie['value']}",
        "Origin": site.server.address,
        "Content-Length": str(64 * 1024 * 1024),
    }
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
