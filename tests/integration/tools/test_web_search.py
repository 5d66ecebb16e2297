"""web_search: each engine is asked as it wants to be, its answer is text by others, and a private turn asks first."""

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from sojourn.core.provenance import Provenance
from tests.integration.tools.tool_workspace import call, open_kit, room_in

FOUND = [{"title": "<b>Roses</b> &amp; thorns", "url": "https://example.com/roses", "text": "Prune in <i>March</i>."}]
ENGINES = {
    "wikipedia": ("/w/api.php", "srsearch", None, lambda hits: {"query": {"search": hits}}, "snippet"),
    "searxng": ("/search", "q", None, lambda hits: {"results": hits}, "content"),
    "marginalia": ("/search", "query", ("API-Key", "k1"), lambda hits: {"results": hits}, "description"),
    "brave": (
        "/res/v1/web/search",
        "q",
        ("X-Subscription-Token", "k1"),
        lambda hits: {"web": {"results": hits}},
        "description",
    ),
    "tavily": ("/search", "query", ("Authorization", "Bearer k1"), lambda hits: {"results": hits}, "content"),
}


class Engine(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(parse_qs(urlsplit(self.path).query))

    def do_POST(self):
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, asked):
        self.server.asked.append((urlsplit(self.path).path, asked, dict(self.headers)))
        status, body = self.server.reply
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "https://example.com/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture(scope="module")
def engine():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def settings(engine, name, key="k1"):
    engine.asked = []
    url = f"http://127.0.0.1:{engine.server_port}/"
    return {"tools.search_engine": name, "tools.search_url": url, "tools.search_key": key}


@pytest.mark.parametrize("name", ENGINES)
async def test_an_engine_is_asked_and_its_results_are_listed(name, engine, tmp_path):
    path, parameter, header, wrap, snippet = ENGINES[name]
    hits = [{"title": one["title"], "url": one["url"], snippet: one["text"]} for one in FOUND * 3]
    engine.reply = (200, json.dumps(wrap(hits)).encode())
    async with open_kit(**settings(engine, name)) as kit:
        room = await room_in(kit, tmp_path)
        told = await call(kit, room, "web_search", query=" when to\nprune ", count=2)
    ((asked_path, asked, headers),) = engine.asked
    words = asked[parameter] if name == "tavily" else asked[parameter][0]
    assert (asked_path, words, told.ok, room.asked) == (path, "when to prune", True, [])
    if header:
        assert headers[header[0]] == header[1]
    assert told.text.startswith(f"{name} on “when to prune”, in the words of others:\n1. ")
    assert told.text.count("Roses & thorns\n   https://example.com/roses\n   Prune in March.") == 2
    assert room.provenance.foreign


async def test_wikipedia_names_its_pages_by_title(engine, tmp_path):
    engine.reply = (200, json.dumps({"query": {"search": [{"title": "Rose (plant)"}]}}).encode())
    async with open_kit(**settings(engine, "wikipedia", "")) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "web_search", query="roses")
    assert told.text.endswith(f"http://127.0.0.1:{engine.server_port}/wiki/Rose_%28plant%29")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((401, b"no"), "tools.search_key"),
        ((403, b"no"), "does not offer JSON"),
        ((302, b""), "status 302"),
        ((200, b"<html>"), "not JSON"),
        ((200, b"[" * 100_000), "not JSON"),
        ((200, b'{"results": [1]}'), "form that is not known"),
        ((200, b"{}"), "form that is not known"),
        ((200, b'{"results": []}'), "found nothing"),
    ],
)
async def test_what_goes_wrong_is_said(reply, words, engine, tmp_path):
    engine.reply = reply
    async with open_kit(**settings(engine, "searxng", "")) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "web_search", query="roses")
    assert words in told.text
    assert len(engine.asked) == 1  # nothing is followed


async def test_a_turn_that_has_read_other_sessions_asks_with_the_words_that_leave(engine, tmp_path):
    engine.reply = (200, b'{"results": []}')
    async with open_kit(**settings(engine, "searxng"), **{"tools.approval": "always"}) as kit:
        room = replace(await room_in(kit, tmp_path), provenance=Provenance(private=True), answers=["deny"])
        assert not (await call(kit, room, "web_search", query="what I said in March")).ok
    assert [(one.detail, one.dangerous, one.scope) for one in room.asked] == [("what I said in March", True, "network")]
    assert engine.asked == []


async def test_a_missing_key_or_address_and_odd_words_are_refused_before_anything_is_sent(engine, tmp_path):
    for name, changes, words in (
        ("brave", {"tools.search_key": ""}, "brave needs a key"),
        ("searxng", {"tools.search_url": ""}, "no address"),
    ):
        async with open_kit(**{**settings(engine, name), **changes}) as kit:
            told = await call(kit, await room_in(kit, tmp_path), "web_search", query="roses")
            assert words in told.text
    async with open_kit(**settings(engine, "searxng")) as kit:
        room = await room_in(kit, tmp_path)
        for query in (" ", "x" * 401):
            assert "1 to 400 characters" in (await call(kit, room, "web_search", query=query)).text
        guest = replace(room, principal="guest:ann")
        assert "Guests may not" in (await call(kit, guest, "web_search", query="roses")).text
    assert engine.asked == []
