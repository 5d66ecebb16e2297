"""A plugin's frame opens no connection at all: a real browser, and a server that must see nobody."""

import shutil
import socket
import time
from dataclasses import dataclass

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.test_plugins import enable
from tests.e2e.http_server import Serving
from tests.e2e.plugin_folders import write

WAYS = {
    "preconnect": "const link = document.createElement('link'); link.rel = 'preconnect'; link.href = '{url}';"
    "document.head.append(link);",
    "preconnect in markup": 'document.head.innerHTML += \'<link rel="preconnect" href="{url}">\';',
    "preconnect with credentials": "const link = document.createElement('link'); link.rel = 'preconnect';"
    "link.crossOrigin = 'anonymous'; link.href = '{url}'; document.head.append(link);",
    "our own link turned": "const link = document.querySelector('link').cloneNode(); link.rel = 'preconnect';"
    "link.href = '{url}'; document.head.append(link);",
    "preconnect in a frame of its own": "const frame = document.createElement('iframe');"
    'frame.srcdoc = \'<link rel="preconnect" href="{url}">\'; document.body.append(frame);',
    "preconnect in a picture": "const image = new Image(); image.src = 'data:image/svg+xml,' + encodeURIComponent("
    '\'<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}"/></svg>\'); document.body.append(image);',
    "dns-prefetch, preload, modulepreload, prefetch, prerender": "for (const rel of ['dns-prefetch', 'preload',"
    "'modulepreload', 'prefetch', 'prerender', 'icon', 'manifest', 'stylesheet']) {{"
    "const link = document.createElement('link'); link.rel = rel; link.as = 'script'; link.href = '{url}';"
    "document.head.append(link); }}",
    "speculation rules": "const rules = document.createElement('script'); rules.type = 'speculationrules';"
    "rules.textContent = JSON.stringify({{prefetch: [{{urls: ['{url}'], eagerness: 'immediate'}}]}});"
    "document.head.append(rules);",
    "an anchor that pings": "const a = document.createElement('a'); a.ping = '{url}'; a.href = '#x';"
    "document.body.append(a); a.click();",
    "requests": "fetch('{url}', {{mode: 'no-cors'}}); new WebSocket('{url}'.replace('http', 'ws'));"
    "new EventSource('{url}'); navigator.sendBeacon('{url}', 'x'); new Image().src = '{url}';",
    "calls": "const call = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{host}'}},"
    "{{urls: 'turn:{host}?transport=tcp', username: 'a', credential: 'b'}}]}});"
    "call.createDataChannel('x'); call.createOffer().then((offer) => call.setLocalDescription(offer));",
}


@dataclass(frozen=True)
class EagerSite:
    """A server, and a browser with a profile on disk: only such a one connects ahead, as those of people do."""

    server: Serving
    context: BrowserContext

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.goto(self.server.address + path)
        return page


@pytest.fixture(scope="module")
def eager_site(chromium, tmp_path_factory):
    home = tmp_path_factory.mktemp("home") / ".sojourn"
    (home / "plugins").mkdir(parents=True)
    context = chromium.browser_type.launch_persistent_context(
        tmp_path_factory.mktemp("profile"),
        executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
        args=["--no-sandbox", "--disable-gpu"],
    )
    context.set_default_timeout(60_000)
    with Serving(home) as server:
        made = EagerSite(server, context)
        made.open(server.client.post("/api/links").json()["path"]).get_by_role("navigation").wait_for()
        yield made
        context.close()


@pytest.fixture
def listeners():
    """A TCP and a UDP socket under one number."""
    tcp = socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(tcp.getsockname())
    tcp.setblocking(False)
    udp.setblocking(False)
    yield tcp, udp
    tcp.close()
    udp.close()


def count_visitors(tcp: socket.socket, udp: socket.socket) -> int:
    found = 0
    for look in (lambda: tcp.accept()[0].close(), lambda: udp.recv(4096)):
        try:
            look()
            found += 1
        except BlockingIOError:
            continue
    return found


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_connection_is_opened(eager_site, listeners, way):
    host = f"127.0.0.1:{listeners[0].getsockname()[1]}"
    name = f"caller{time.monotonic_ns()}"
    script = way.format(url=f"http://{host}/", host=host)
    write(eager_site.server.home, name, page=f"try {{ {script} }} catch (error) {{}} document.body.append('tried');")
    enable(eager_site, name)
    page = eager_site.open(f"/{name}")
    page.frame_locator("iframe.plugin-frame").get_by_text("tried").wait_for()
    page.wait_for_timeout(1200)
    assert count_visitors(*listeners) == 0


def test_the_listener_would_see_a_visitor(eager_site, listeners):
    """The same browser, on a page without a frame's policy."""
    page = eager_site.open("/healthz")
    host = f"127.0.0.1:{listeners[0].getsockname()[1]}"
    page.evaluate(
        "(url) => { const link = document.createElement('link'); link.rel = 'preconnect'; link.href = url;"
        "document.documentElement.append(link); }",
        f"http://{host}/",
    )
    deadline = time.monotonic() + 10
    while not (seen := count_visitors(*listeners)) and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert seen
