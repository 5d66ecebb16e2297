"""Files whose address stands in a message."""

import pytest
from aiohttp import web

from sojourn.core.errors import PlatformDown, SendRefused
from sojourn.platforms.downloads import VendorDownloads
from tests.servers.aiohttp_server import serving


async def _file(request: web.Request) -> web.Response:
    assert "Authorization" not in request.headers
    return web.Response(body=b"x" * int(request.match_info["size"]), content_type="image/png")


async def _away(request: web.Request) -> web.Response:
    raise web.HTTPFound(request.query.get("to") or "/away")


@pytest.fixture
async def server():
    app = web.Application()
    app.add_routes([web.get("/file/{size}", _file), web.get("/away", _away)])
    async with serving(app) as url:
        yield url


@pytest.fixture
async def downloads(server):
    made = VendorDownloads("Net", ["net.example"], origin=server, max_bytes=1000)
    yield made
    await made.close()


async def test_a_file_of_the_vendor_is_fetched(server, downloads):
    file = await downloads.fetch(f"{server}/file/10", name="dot")
    assert (file.name, file.media_type, file.data) == ("dot", "image/png", b"x" * 10)
    redirected = await downloads.fetch(f"{server}/away?to=/file/3", name="a.txt")
    assert (redirected.media_type, redirected.data) == ("text/plain", b"xxx")


@pytest.mark.parametrize(
    "url",
    [
        "http://net.example/x",
        "https://evilnet.example/x",
        "https://net.example.evil.example/x",
        "https://net.example@evil.example/x",
        "https://user@net.example/x",
        "https://net.example:8443/x",
        "https://127.0.0.1/x",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "//net.example/x",
        "",
        "https://[::1",
        "x" * 100_000,
    ],
)
async def test_another_address_is_refused_without_a_request(downloads, url):
    with pytest.raises(SendRefused):
        await downloads.fetch(url)


async def test_the_vendor_does_not_lead_us_elsewhere(server, downloads):
    for to in ("http://127.0.0.1:1/x", "https://evil.example/x", "/away?to=/away"):
        with pytest.raises(SendRefused) as refused:
            await downloads.fetch(f"{server}/away?to={to}")
        assert refused.value.kind == "forbidden"


async def test_what_is_too_large_or_gone_is_said(server, downloads):
    with pytest.raises(SendRefused) as refused:
        await downloads.fetch(f"{server}/file/1001")
    assert refused.value.kind == "too_long"
    with pytest.raises(SendRefused) as refused:
        await downloads.fetch(f"{server}/nothing")
    assert refused.value.kind == "not_found"


async def test_a_vendor_that_does_not_answer_is_down():
    downloads = VendorDownloads("Net", [], origin="http://127.0.0.1:1")
    with pytest.raises(PlatformDown):
        await downloads.fetch("http://127.0.0.1:1/x")
    await downloads.close()
