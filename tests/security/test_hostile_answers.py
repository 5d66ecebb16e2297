"""Answers made to hold up or break whoever reads them: of a model, a search engine, a server on a usual port."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sojourn.core.errors import RuntimeFailed
from sojourn.runtimes.models.local_servers import find_local_servers
from sojourn.runtimes.models.model_server import list_chat_models, probe_context_window
from sojourn.runtimes.models.selection import PROVIDERS, ModelChoice
from sojourn.testing.fake_platform import FakePlatform
from sojourn.testing.scripted_runtime import SayText
from sojourn.text.html_entities import unescape_html
from tests.integration.gateway.worlds import world
from tests.integration.tools.tool_workspace import call, open_kit, room_in

HUGE_NUMBERS = ("&#" + "9" * 5000 + ";", "&#" + "0" * 5000 + "64;", "&#x" + "f" * 5000 + ";", "&#" * 5000)


@pytest.mark.parametrize("number", HUGE_NUMBERS, ids=("decimal", "zeros", "hexadecimal", "many"))
async def test_an_answer_with_a_number_that_is_no_character_is_delivered(home: Path, store: Any, number: str) -> None:
    async with world(home, store, gateway_streaming=False) as made:
        made.runtime.on("go", SayText(f"{number}all and the rest"))
        await made.start(FakePlatform(made.network, max_chars=20_000))
        made.network.say("42", "go")
        (text,) = await made.texts("42", 1)
        assert "rest" in text
        assert "@all" not in unescape_html(text)


def test_ordinary_entities_are_read_as_ever() -> None:
    assert unescape_html("&amp; &#64; &#x40; &#0000000064; &#00064 &#169") == "& @ @ @ @ ©"
    assert unescape_html("&#99999999;") == "\N{REPLACEMENT CHARACTER}"


class _Endless(BaseHTTPRequestHandler):
    """Answers whatever is asked with the beginning of JSON that never ends."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with suppress(OSError):
            while not self.server.is_over.is_set():  # type: ignore[attr-defined]
                self.wfile.write(b" " * self.server.piece)  # type: ignore[attr-defined]
                self.wfile.flush()
                self.server.is_over.wait(self.server.pause)  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def serve_endless(*, piece: int, pause: float) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Endless)
    server.asked, server.is_over, server.piece, server.pause = [], threading.Event(), piece, pause
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        thread.join()
        server.server_close()


SLOW: dict[str, Any] = {"piece": 1, "pause": 0.1}
LARGE: dict[str, Any] = {"piece": 1 << 20, "pause": 0.0}


@pytest.mark.parametrize("way", [SLOW, LARGE], ids=["slow", "large"])
async def test_a_server_that_never_ends_its_answer_is_no_model_server(way: dict[str, Any]) -> None:
    with serve_endless(**way) as server:
        began = time.monotonic()
        async with asyncio.timeout(30):
            assert await find_local_servers(((server.server_port, "vllm"),)) == []
        assert server.asked == ["/v1/models"]
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("provider", ["ollama", "llamacpp"])
async def test_a_window_is_not_waited_for_without_end(provider: str) -> None:
    with serve_endless(**SLOW) as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        choice = ModelChoice(provider=PROVIDERS[provider], base_url=url, name="m")
        async with asyncio.timeout(30), httpx2.AsyncClient(trust_env=False) as client:
            await probe_context_window(client, choice)


async def test_a_list_of_models_without_end_does_not_fill_the_memory() -> None:
    with serve_endless(**LARGE) as server:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        choice = ModelChoice(provider=PROVIDERS["vllm"], base_url=url)
        async with asyncio.timeout(30), httpx2.AsyncClient(trust_env=False) as client:
            with pytest.raises(RuntimeFailed):
                await list_chat_models(client, choice)


class _Engine(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body: bytes = self.server.body  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def serve_results(document: Any) -> Iterator[dict[str, Any]]:
    """The settings of a search engine that finds this."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Engine)
    server.body = json.dumps(document).encode()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield {"tools.search_engine": "searxng", "tools.search_url": f"http://127.0.0.1:{server.server_port}"}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


RESULTS: dict[str, Any] = {
    "a huge number": {"title": HUGE_NUMBERS[0], "url": "https://a.example/", "content": HUGE_NUMBERS[1]},
    "entities without end": {"title": "t", "url": "https://a.example/", "content": "&a" * 500_000},
    "tags without end": {"title": "<" * 200_000, "url": "<a " * 200_000, "content": "<a" * 200_000},
    "numbers for texts": {"title": 1, "url": None, "content": [1e308] * 1000},
}


@pytest.mark.parametrize("name", RESULTS)
async def test_hostile_results_of_a_search_are_short_lines(name: str, tmp_path: Path) -> None:
    with serve_results({"results": [RESULTS[name]] * 3}) as settings:
        async with open_kit(**settings) as kit:
            began = time.thread_time()
            told = await call(kit, await room_in(kit, tmp_path), "web_search", query="roses")
            assert time.thread_time() - began < 2
    assert told.ok
    assert len(told.text) < 6_000
