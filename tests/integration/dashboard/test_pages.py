"""The built pages: served by name, with a strict policy; a clone without them says what to do."""

import gzip

import httpx
import pytest
from fastapi import FastAPI

from sojourn.dashboard.pages import BuiltPages, page_router
from sojourn.dashboard_plugins.folders import PAGE_PATHS
from sojourn.http import problems


@pytest.fixture
def built(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>the page")
    (tmp_path / "assets" / "manifest.webmanifest").write_text("{}")
    (tmp_path / "service-worker.js").write_text("work()")
    (tmp_path / "diagram-frame.html").write_text("<!doctype html>the frame")
    (tmp_path / "assets" / "app-12345678.js").write_text("hello()")
    (tmp_path.parent / "secret.js").write_text("secret")
    return tmp_path


def browser(folder):
    app = FastAPI()
    problems.install(app)
    app.include_router(page_router(BuiltPages(folder)))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_every_place_is_the_same_document_under_a_strict_policy(built):
    async with browser(built) as client:
        for place in PAGE_PATHS:
            answer = await client.get(place.replace("{session}", "x"))
            assert (answer.status_code, answer.text) == (200, "<!doctype html>the page")
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "unsafe" not in answer.headers["content-security-policy"]


async def test_assets_are_kept_for_ever_and_nothing_else_is_an_asset(built):
    async with browser(built) as client:
        answer = await client.get("/assets/app-12345678.js")
        assert (answer.text, answer.headers["content-type"]) == ("hello()", "text/javascript; charset=utf-8")
        assert "immutable" in answer.headers["cache-control"]
        for name in ("..%2fsecret.js", "%2e%2e/secret.js", "app-22345678.js", "..%5csecret.js"):
            assert (await client.get(f"/assets/{name}")).status_code == 404


async def test_pages_that_were_not_built_say_what_to_do(tmp_path):
    async with browser(tmp_path / "nothing") as client:
        answer = await client.get("/")
        assert (answer.status_code, answer.json()["code"]) == (501, "missing_extra")
        assert "make web" in answer.json()["hint"]


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("br;q=0, gzip; q=0", None),
        ("deflate", None),
        ("", None),
    ],
)
async def test_a_file_comes_in_the_smallest_form_that_is_accepted(built, accepted, encoding):
    script = built / "assets" / "app-12345678.js"
    (built / "assets" / "app-12345678.js.gz").write_bytes(gzip.compress(script.read_bytes()))
    (built / "assets" / "app-12345678.js.br").write_bytes(b"compressed")
    async with (
        browser(built) as client,
        client.stream("GET", "/assets/app-12345678.js", headers={"Accept-Encoding": accepted}) as answer,
    ):
        sent = b"".join([piece async for piece in answer.aiter_raw()])
        assert answer.headers.get("content-encoding") == encoding
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.headers["content-type"].startswith("text/javascript")
    assert sent == {"br": b"compressed", "gzip": sent}.get(encoding, b"hello()")
    assert encoding != "gzip" or gzip.decompress(sent) == b"hello()"


async def test_what_was_not_compressed_comes_as_it_is(built):
    async with browser(built) as client:
        answer = await client.get("/assets/app-12345678.js", headers={"Accept-Encoding": "br"})
        assert (answer.text, "content-encoding" in answer.headers) == ("hello()", False)


async def test_the_frame_of_diagrams_is_sandboxed_even_when_it_is_opened_by_itself(built):
    async with browser(built) as client:
        answer = await client.get("/diagram-frame")
        policy = answer.headers["content-security-policy"].split("; ")
        assert answer.text == "<!doctype html>the frame"
        assert {"sandbox allow-scripts", "default-src 'none'", "frame-ancestors 'self'"} <= set(policy)
        assert not any("http" in part or "connect" in part or "img" in part for part in policy)


async def test_what_keeps_its_name_is_asked_for_again(built):
    async with browser(built) as client:
        for place in ("/assets/manifest.webmanifest", "/service-worker.js", "/"):
            assert (await client.get(place)).headers["cache-control"] == "no-cache"


async def test_the_service_worker_can_reach_this_server_alone(built):
    async with browser(built) as client:
        answer = await client.get("/service-worker.js")
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["content-security-policy"] == "default-src 'none'; connect-src 'self'"
