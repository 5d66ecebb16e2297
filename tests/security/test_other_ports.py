"""A real page in a real browser, served from another port of the same host, while the owner is signed in."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import Site, chromium, offline_server  # noqa: F401  fixtures
from tests.e2e.browser_client import BrowserClient

# Everything a page can try against another origin: each entry says what it could read, or that it changed something.
ATTACK = """async (target) => {
  const found = {};
  const read = async (name, ask) => {
    try { const answer = await ask(); found[name] = answer.type === "opaque" ? "opaque" : await answer.text(); }
    catch (error) { found[name] = "refused"; }
  };
  const page = { credentials: "include" };
  await read("read", () => fetch(target + "/api/sessions", page));
  await read("read opaque", () => fetch(target + "/api/sessions", { ...page, mode: "no-cors" }));
  const withKey = { "Sojourn-Page-Key": "x" };
  await read("read with a key", () => fetch(target + "/api/sessions", { ...page, headers: withKey }));
  await read("page", () => fetch(target + "/", page));
  await read("browsers", () => fetch(target + "/api/browsers", page));
  await read("link", () => fetch(target + "/api/links", { ...page, method: "POST" }));
  const form = { ...page, method: "POST", mode: "no-cors", headers: { "Content-Type": "text/plain" } };
  await read("write", () => fetch(target + "/api/sessions", { ...form, body: '{"title": "by an attacker"}' }));
  await read("sign out", () => fetch(target + "/api/leave", form));
  found.beacon = navigator.sendBeacon(target + "/api/leave");
  found.stream = await new Promise((done) => {
    const stream = new EventSource(target + "/api/changes?after=0", { withCredentials: true });
    stream.onmessage = stream.onopen = () => done("open");
    stream.onerror = () => done("refused");
  });
  found.script = await new Promise((done) => {
    const script = document.createElement("script");
    script.src = target + "/api/sessions"; script.onload = () => done("loaded"); script.onerror = () => done("refused");
    document.body.append(script);
  });
  found.frame = await new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.src = target + "/";
    frame.onload = () => { try { done(frame.contentWindow.localStorage.length); } catch { done("refused"); } };
    document.body.append(frame);
  });
  const opened = window.open(target + "/");
  await new Promise((done) => setTimeout(done, 1500));
  try { found.window = String(opened.localStorage.length); } catch { found.window = "refused"; }
  found.own = Object.keys(localStorage);
  return found;
}"""


class OtherServer:
    """Another program of this machine, on another port: it serves an empty page and keeps the cookies it is sent."""

    def __enter__(self):
        self.cookies = []
        other = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                other.cookies.append(self.headers.get("Cookie", ""))
                body = b"<!doctype html><title>other</title><body></body>"
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def owner(chromium, offline_server):  # noqa: F811
    """A browser in which the owner is signed in, with a session worth stealing."""
    offline_server.client.post("/api/sessions", json={"title": "private matters"})
    site = Site(chromium, offline_server)
    page = site.open_browser()
    page.context.unroute_all()
    yield page
    site.close()


def titles(server):
    return {one["title"] for one in server.client.get("/api/sessions").json()["sessions"]}


@pytest.mark.parametrize("host", ["sojourn.localhost", "127.0.0.1", "localhost"])
@pytest.mark.parametrize("name", ["sojourn.localhost", "127.0.0.1"])
def test_a_page_on_another_port_reads_and_changes_nothing(owner, offline_server, host, name):  # noqa: F811
    port = urlsplit(offline_server.address).port
    before = titles(offline_server)
    with OtherServer() as other:
        page = owner.context.new_page()
        page.goto(f"http://{host}:{other.port}/")
        found = page.evaluate(ATTACK, f"http://{name}:{port}")
    said = json.dumps(found)
    assert "private matters" not in said
    assert "/enter?key" not in said
    assert "sojourn.page-key" not in found["own"]
    allowed = {"refused", "opaque", True}
    assert {key: value for key, value in found.items() if key != "own" and value not in allowed} == {}
    assert titles(offline_server) == before
    owner.goto(f"http://{urlsplit(owner.url).netloc}/sessions")
    owner.get_by_text("private matters").first.wait_for()  # and nobody signed the owner out


def test_a_cookie_that_reaches_another_port_cannot_be_replayed(owner, offline_server):  # noqa: F811
    with OtherServer() as other:
        page = owner.context.new_page()
        page.goto(f"http://127.0.0.1:{other.port}/")
        assert "sojourn-" not in "".join(other.cookies)  # under another name it is not even sent
        page.goto(f"http://sojourn.localhost:{other.port}/")
        stolen = next(one for one in other.cookies if "sojourn-" in one)  # cookies do not know ports
    netloc = urlsplit(owner.url).netloc
    client = BrowserClient(offline_server)
    for path in ("/api/sessions", "/api/browsers", "/api/changes", "/api/plugins/dashboard/settings"):
        headers = {"Cookie": stolen, "Host": netloc, "Origin": f"http://{netloc}", "Sec-Fetch-Site": "same-origin"}
        assert client.send("GET", path, headers).status_code == 401
    assert client.send("POST", "/api/links", headers).status_code == 401
