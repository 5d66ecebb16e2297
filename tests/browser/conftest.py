"""Fixtures: a real server and a real Chromium, whose requests to any other host are blocked and reported."""

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
from sojourn.http.host_names import BROWSER_NAME
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import Serving
from tests.servers.system_package import require_program

XSS = "<img src=x onerror=window.hurt=1>"  # what an attacker or a model may put into any field
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives every browser test a generous timeout: on a busy machine pages are slow, only a hang is an error."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser per test file. Playwright's loop occupies the thread until it is closed."""
    found = shutil.which("chromium") or shutil.which("google-chrome") or require_program("chromium", "chromium")
    if not (STATIC / "index.html").exists():
        pytest.fail("The pages are not built. Run `make web`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Site:
    """One server and the browsers that visit it; records their requests and console errors."""

    def __init__(self, browser: Browser, server: Serving) -> None:
        self._browser, self.server = browser, server
        self.address = server.address.replace("127.0.0.1", BROWSER_NAME)
        self._contexts: list[BrowserContext] = []
        self.requests: list[tuple[str, str]] = []  # method and path, in order
        self.foreign_requests: list[str] = []
        self.console_errors: list[str] = []  # content policy violations included

    def open_browser(self, *, signed_in: bool = True, **options: Any) -> Page:
        """A new browser context with one page. `options` are Playwright's."""
        context = self._browser.new_context(
            **{
                "viewport": {"width": 1280, "height": 860},
                "locale": "en-US",
                "service_workers": "block",  # what goes through one is not seen here
                **options,
            }
        )
        context.set_default_timeout(60_000)  # for a busy machine
        self._contexts.append(context)
        context.route("**/*", self._block_foreign)
        page = self.open_tab(context)
        if signed_in:
            link = self.server.client.post("/api/links").json()["path"]
            page.goto(self.address + link)
            page.wait_for_url(self.address + "/")
            page.get_by_role("navigation").wait_for()  # from here on the page handles keys
        return page

    def open_tab(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("request", self._record_request)
        page.on("console", lambda said: self.console_errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        return page

    def open(self, path: str, **options: Any) -> Page:
        page = self.open_browser(**options)
        page.goto(self.address + path)
        return page

    def _block_foreign(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.scheme in ("http", "https") and address.netloc != urlsplit(self.address).netloc:
            if address.netloc == urlsplit(self.server.address).netloc:  # a page under the other name of this server
                return route.continue_()
            self.foreign_requests.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    def _record_request(self, request: Request) -> None:
        self.requests.append((request.method, urlsplit(request.url).path))

    def close(self) -> None:
        for context in self._contexts:
            context.unroute_all(behavior="ignoreErrors")
            context.close()


@contextmanager
def start_server(**env: str) -> Iterator[Serving]:
    """A server on a new, empty home."""
    with tempfile.TemporaryDirectory(prefix="sj-", ignore_cleanup_errors=True) as folder:
        settings = {"HOME": folder, "SOJOURN_MODEL_DETECT": "no", **env}
        with Serving(Path(folder) / ".sojourn", **settings) as server:
            yield server


def open_site(browser: Browser, server: Serving) -> Iterator[Site]:
    """A site for one test; afterwards its browsers are closed and no foreign request must have been made."""
    site = Site(browser, server)
    yield site
    site.close()
    assert site.foreign_requests == []


@pytest.fixture
def site(chromium: Browser, home: Path) -> Iterator[Site]:
    """A server on an empty home with the offline runtime."""
    with Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        yield from open_site(chromium, server)


@pytest.fixture(scope="module")
def offline_server() -> Iterator[Serving]:
    """A server with the offline runtime, shared by the tests of a file."""
    with start_server(SOJOURN_RUNTIME="offline") as server:
        yield server


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def scripted_server(model: ModelServer) -> Iterator[Serving]:
    """A server with a scripted model; titles are off, for they would use up answers of the script."""
    env = {"SOJOURN_RUNTIME": "native", "SOJOURN_MODEL_BASE_URL": model.url, "SOJOURN_MODEL": "scripted-1"}
    with start_server(SOJOURN_TITLES="no", **env) as server:
        yield server


@pytest.fixture
def scripted_site(chromium: Browser, scripted_server: Serving) -> Iterator[Site]:
    yield from open_site(chromium, scripted_server)


def send_message(page: Page, words: str) -> None:
    box = page.get_by_label("Write a message")
    box.fill(words)
    box.press("Enter")


@pytest.fixture
def find_violations() -> Callable[[Page], list[str]]:
    """A function that lists the serious and critical accessibility violations of a page, by axe."""

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
