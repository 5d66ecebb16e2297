"""A real server and a real Chromium. Nothing may be asked of any other host."""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, sync_playwright

from sojourn.dashboard.pages import STATIC
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import Serving
from tests.servers.system_package import need

BAD = "<img src=x onerror=window.hurt=1>"  # what a stranger or a model may try, in any field
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A page waits for what it shows, however busy the machine is; only what hangs for minutes is wrong."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One for each file. Its loop runs in this thread until it is gone, so no test of another folder must follow."""
    found = shutil.which("chromium") or shutil.which("google-chrome") or need("chromium", "chromium")
    if not (STATIC / "index.html").exists():
        pytest.fail("The pages are not built. Run `make web`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Site:
    """One server, and visitors of it. What they ask for and what goes wrong in their pages is written down."""

    def __init__(self, browser: Browser, server: Serving) -> None:
        self._browser, self.server = browser, server
        self._contexts: list[BrowserContext] = []
        self.asked: list[tuple[str, str]] = []  # method and path, in order
        self.outside: list[str] = []
        self.complaints: list[str] = []  # what the console called an error, broken policies included

    def visitor(self, *, signed_in: bool = True, **options: Any) -> Page:
        """A browser of its own. `options` are Playwright's."""
        context = self._browser.new_context(
            **{"viewport": {"width": 1280, "height": 860}, "locale": "en-US", **options}
        )
        context.set_default_timeout(60_000)  # all waits end as soon as they can; a busy machine takes its time
        self._contexts.append(context)
        context.route("**/*", self._only_here)
        page = self.tab(context)
        if signed_in:
            link = self.server.client.post("/api/links").json()["path"]
            page.goto(self.server.address + link)
            page.wait_for_url(self.server.address + "/")
            page.get_by_role("navigation").wait_for()  # from here on keys are heard
        return page

    def tab(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("request", self._note)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def open(self, path: str, **options: Any) -> Page:
        page = self.visitor(**options)
        page.goto(self.server.address + path)
        return page

    def _only_here(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.scheme in ("http", "https") and address.netloc != urlsplit(self.server.address).netloc:
            self.outside.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    def _note(self, request: Request) -> None:
        self.asked.append((request.method, urlsplit(request.url).path))

    def close(self) -> None:
        for context in self._contexts:
            context.unroute_all(behavior="ignoreErrors")
            context.close()


@contextmanager
def serving(**env: str) -> Iterator[Serving]:
    """A server on a home of its own, empty at first, for as many tests as share it."""
    with tempfile.TemporaryDirectory(prefix="sj-", ignore_cleanup_errors=True) as folder:
        settings = {"HOME": folder, "SOJOURN_MODEL_DETECT": "no", **env}
        with Serving(Path(folder) / ".sojourn", **settings) as server:
            yield server


def visiting(browser: Browser, server: Serving) -> Iterator[Site]:
    """Visitors of one test; when it ends they are gone, and have asked nobody else."""
    made = Site(browser, server)
    yield made
    made.close()
    assert made.outside == []


@pytest.fixture
def site(chromium: Browser, home: Path) -> Iterator[Site]:
    """A server on an empty home, where turns are answered by rules that need no model."""
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        yield from visiting(chromium, server)


@pytest.fixture(scope="module")
def offline() -> Iterator[Serving]:
    """The same, shared by the tests of a file."""
    with serving(SOJOURN_RUNTIME="offline") as server:
        yield server


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def scripted(model: ModelServer) -> Iterator[Serving]:
    """A server with everything in it, whose answers are scripted: so no title is asked for."""
    env = {"SOJOURN_RUNTIME": "native", "SOJOURN_MODEL_BASE_URL": model.url, "SOJOURN_MODEL": "scripted-1"}
    with serving(SOJOURN_TITLES="no", **env) as server:
        yield server


@pytest.fixture
def talking(chromium: Browser, scripted: Serving) -> Iterator[Site]:
    yield from visiting(chromium, scripted)


def say(page: Page, words: str) -> None:
    box = page.get_by_label("Write a message")
    box.fill(words)
    box.press("Enter")


@pytest.fixture
def violations() -> Callable[[Page], list[str]]:
    """What axe finds serious or critical in a page."""

    def found(page: Page) -> list[str]:
        page.evaluate(AXE.read_text("utf-8"))
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {node['html'][:160]} {json.dumps(node.get('any', [{}])[:1])[:300]}"
            for one in result["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ]

    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
