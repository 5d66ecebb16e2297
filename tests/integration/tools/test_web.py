"""web_fetch: the public web as text, and nothing of the private network."""

import asyncio
import ipaddress
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sojourn.core.errors import BadInput, NotAllowed
from sojourn.tools.html_text import html_to_text
from sojourn.tools.web import is_private, resolve_url

PAGE = """<!doctype html><html><head><title>Roses &amp; thorns</title><style>p{}</style><script>evil()</script></head>
<body><nav><a href="/home">Home</a></nav><h1>Pruning</h1><p>In <b>March</b>,
when the <a href="forsythia.html">forsythia</a> blooms.</p>
<ul><li>gloves</li><li>shears</li></ul><table><tr><th>what</th><th>when</th></tr><tr><td>roses</td><td>March</td></tr></table>
<pre>  keep
    this</pre><img alt="a rose" src=x></body></html>"""


class Site(BaseHTTPRequestHandler):
    def do_GET(self):
        pages = {
            "/page": (200, "text/html; charset=utf-8", PAGE.encode()),
            "/latin": (200, "text/html", '<meta charset="iso-8859-1"><p>grüß</p>'.encode("latin-1")),
            "/json": (200, "application/json", b'{"a": 1}'),
            "/pdf": (200, "application/pdf", b"%PDF-1.7"),
            "/big": (200, "text/plain", b"x" * (6 << 20)),
            "/missing": (404, "text/plain", b"not here"),
            "/host": (200, "text/plain", self.headers["Host"].encode()),
        }
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path.partition("?")[2])
            self.end_headers()
            return
        if self.path == "/hang":
            self.server.hanging.wait(20)
            return
        status, kind, body = pages[self.path]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            return

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.hanging = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.hanging.set()
    server.shutdown()
    thread.join()
    server.server_close()


allowed = pytest.mark.parametrize("settings", [{"tools.private_hosts": "127.0.0.1, localhost"}], indirect=True)


def test_page_becomes_readable_text():
    text = html_to_text(PAGE, "https://example.com/garden/roses.html")
    assert text.startswith("Roses & thorns\n\n[Home](https://example.com/home)\n\n# Pruning\n\nIn **March**,")
    assert "[forsythia](https://example.com/garden/forsythia.html) blooms." in text
    assert "- gloves\n" in text
    assert "| roses | March" in text
    assert "    this" in text
    assert "![a rose]" in text
    assert "evil" not in text
    assert "p{}" not in text


@pytest.mark.parametrize("html", ["", "<", "<p", "&#xfffffff;", "<a href='http://[bad'>x</a>", "<script>never closed"])
def test_broken_pages_do_not_break_us(html):
    assert isinstance(html_to_text(html, "https://example.com"), str)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "deep" + "</div>" * 100_000,
        "<b>" * 100_000 + "</i>" * 100_000,
        "<ul><li>" * 50_000,
        "<table><tr><td>" * 20_000,
        "<blockquote>" * 50_000,
        "<a href=x>" * 100_000,
        f"<a href='{'x' * 4_000_000}'>link</a>",
        f"<a {'x=1 ' * 500_000}>link</a>",
        "<" * 1_000_000,
        "&" * 4_000_000,
        "<!--" * 200_000,
        "<title>" * 200_000,
    ],
    ids=lambda html: f"{html[:10]}-{len(html)}",
)
def test_hostile_page_is_read_in_bounded_time(html):
    started = time.process_time()
    assert isinstance(html_to_text(html, "https://example.com"), str)
    assert time.process_time() - started < 5


@allowed
async def test_page_is_fetched(use, site):
    told = await use("web_fetch", url=f"{site}/page")
    assert told.ok
    assert "# Pruning" in told.text
    assert told.facts["status"] == 200
    assert told.facts["media_type"] == "text/html"
    raw = await use("web_fetch", url=f"{site}/page", raw=True)
    assert "<h1>Pruning</h1>" in raw.text


@allowed
async def test_charset_of_the_page_is_used(use, site):
    assert "grüß" in (await use("web_fetch", url=f"{site}/latin")).text


@allowed
async def test_name_goes_with_the_request_although_the_number_is_called(use, site):
    port = site.rpartition(":")[2]
    assert f"localhost:{port}" in (await use("web_fetch", url=f"http://localhost:{port}/host")).text


@allowed
async def test_missing_page_is_not_ok_but_shown(use, site):
    told = await use("web_fetch", url=f"{site}/missing")
    assert not told.ok
    assert "status 404" in told.text
    assert "not here" in told.text


@allowed
async def test_what_is_no_text_is_refused(use, site):
    assert "application/pdf" in (await use("web_fetch", url=f"{site}/pdf")).text


@allowed
async def test_big_page_is_cut(use, site):
    told = await use("web_fetch", url=f"{site}/big")
    assert told.facts["bytes"] == 5 << 20
    assert "only the first 5 MB were read" in told.text


@allowed
async def test_page_that_never_answers_is_given_up(use, site, room):
    room.seconds = 0.3
    told = await use("web_fetch", url=f"{site}/hang")
    assert not told.ok
    assert "did not answer in time" in told.text


@allowed
async def test_redirect_is_followed(use, site):
    told = await use("web_fetch", url=f"{site}/to?/json")
    assert '{"a": 1}' in told.text


@pytest.mark.parametrize("settings", [{"tools.private_hosts": "localhost"}], indirect=True)
async def test_redirect_to_a_private_address_is_refused(use, site):
    port = site.rpartition(":")[2]
    told = await use("web_fetch", url=f"http://localhost:{port}/to?http://127.0.0.1:{port}/json")
    assert not told.ok
    assert "private network" in told.text


@allowed
async def test_redirect_to_a_file_is_refused(use, site):
    assert not (await use("web_fetch", url=f"{site}/to?file:///etc/hostname")).ok


@allowed
async def test_redirects_without_end_are_refused(use, site):
    told = await use("web_fetch", url=f"{site}/to?/to?" + "/to?" * 20 + "/json")
    assert "more than 5 times" in told.text


@allowed
async def test_cancelling_a_fetch_is_quick(use, site):
    running = asyncio.create_task(use("web_fetch", url=f"{site}/hang"))
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1%25eth0]/",
        "http://[fd00::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://127.0.0.1.:80/",
        "http://LOCALHOST./",
        "http://①②⑦.⓪.⓪.①/",
    ],
)
async def test_private_addresses_are_refused_however_they_are_written(url):
    with pytest.raises((NotAllowed, BadInput)):
        await resolve_url(url, ())


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com",
        "gopher://x",
        "//example.com",
        "example.com",
        "",
        "http://",
        "http://user:pw@example.com/",
        "http://exa mple.com:x/",
        "http://[::1/",
        "javascript:alert(1)",
    ],
)
async def test_what_is_no_web_address_is_refused(url):
    with pytest.raises(BadInput):
        await resolve_url(url, ())


async def test_public_address_is_pinned():
    target = await resolve_url("https://93.184.215.14:8443/a?b=c#d", ())
    assert target.pinned == "https://93.184.215.14:8443/a?b=c"
    assert target.host_header == "93.184.215.14:8443"


async def test_name_with_one_private_address_among_public_ones_is_refused(monkeypatch):
    async def both(*_, **__):
        return [(2, 1, 6, "", ("93.184.215.14", 80)), (2, 1, 6, "", ("10.0.0.1", 80))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", both, raising=False)
    with pytest.raises(NotAllowed):
        await resolve_url("http://rebind.example/", ())


async def test_name_is_looked_up_once(monkeypatch):
    asked = []

    async def once(host, *_, **__):
        asked.append(host)
        return [(2, 1, 6, "", ("93.184.215.14", 80))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", once, raising=False)
    target = await resolve_url("http://rebind.example/x", ())
    assert asked == ["rebind.example"]
    assert target.pinned == "http://93.184.215.14:80/x"


def test_public_addresses_are_public():
    assert not is_private(ipaddress.ip_address("93.184.215.14"))
    assert not is_private(ipaddress.ip_address("2606:2800:21f:cb07:6820:80da:af6b:8b2c"))
