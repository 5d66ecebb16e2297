"""What the pages weigh and how fast they are in a real Chromium: bytes, requests, first paint, long lists and chats."""

from __future__ import annotations

import gzip
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.report import Bar, limit, save_result
from sojourn.core.events import Yielded
from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.dashboard.pages import STATIC
from sojourn.http.host_names import BROWSER_NAME
from tests.browser.sample_sessions import create_session, create_sessions
from tests.e2e.http_server import Serving

SESSIONS = 20_000
LONG_MESSAGES = 50_000
ROUNDS = 5
SCROLL_STEPS = 80
FIRST_SCRIPT_BYTES = 95_000
FIRST_LOAD_BYTES, FIRST_LOAD_REQUESTS = 130_000, 8  # as they come over the wire
FIRST_PAINT_MS = 600
EXTRAS_BYTES = 1_200_000  # formulas and diagrams together, compressed
PATHS = ("/", "/chat/new", "/sessions", "/achievements", "/insights", "/memory", "/gateway", "/settings/general")
SCRIPT_NAME = re.compile(r"[\w.-]+\.js")

RECORD = """
window.longTasks = [];
new PerformanceObserver((found) => window.longTasks.push(...found.getEntries().map((one) => one.duration)))
    .observe({type: "longtask", buffered: true});
"""
SHOWN_AT = """(selector) => new Promise((done) => {
    const look = () => {
        if (document.querySelector(selector)) requestAnimationFrame(() => done(performance.now()));
        else setTimeout(look, 4);
    };
    look();
})"""


def build_chat() -> list[Yielded]:
    """A conversation of many short questions and answers."""
    text = "A plain paragraph of an answer, with **bold**, `code` and a list:\n\n- one\n- two\n"
    pairs = ((user(f"question {n}"), assistant(f"reply {n}. {text}")) for n in range(LONG_MESSAGES // 2))
    return [one for pair in pairs for one in pair]


def build_agent_run() -> list[Yielded]:
    """One request that led to tens of thousands of tool calls."""
    items: list[Yielded] = [user("Read everything.")]
    for number in range(LONG_MESSAGES // 2 - 1):
        call = ToolCall(id=f"c{number}", name="read_file", arguments=f'{{"path": "file{number}.txt"}}')
        items += [assistant("", [call]), tool_result(call, f"line {number}")]
    return [*items, assistant("All read.")]


def open_context(browser: Browser, server: Serving) -> BrowserContext:
    """A browser of its own, signed in."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, service_workers="block", locale="en-US")
    context.set_default_timeout(60_000)
    context.add_init_script(RECORD)
    page = context.new_page()
    page.goto(server.address + server.client.post("/api/links").json()["path"])
    page.wait_for_url(f"{server.address.replace('127.0.0.1', BROWSER_NAME)}/")
    page.close()
    return context


@contextmanager
def open_page(browser: Browser, server: Serving) -> Iterator[Page]:
    context = open_context(browser, server)
    page = context.new_page()
    yield page
    context.close()


def visit(page: Page, server: Serving, path: str) -> str:
    address = server.address.replace("127.0.0.1", BROWSER_NAME) + path
    page.goto(address)
    return address


def measure_weight(browser: Browser, server: Serving, path: str) -> dict[str, float]:
    """Bytes over the wire, requests, first paint and script of a page that the browser has not seen before."""
    paints, figures = [], dict[str, float]()
    for _ in range(3):
        with open_page(browser, server) as page:
            connection = page.context.new_cdp_session(page)
            connection.send("Network.enable")
            connection.send("Network.setCacheDisabled", {"cacheDisabled": True})
            sizes, addresses = dict[str, float](), dict[str, str]()
            connection.on(
                "Network.loadingFinished",
                lambda one, into=sizes: into.update({one["requestId"]: one["encodedDataLength"]}),
            )
            connection.on(
                "Network.requestWillBeSent",
                lambda one, into=addresses: into.update({one["requestId"]: one["request"]["url"]}),
            )
            visit(page, server, path)
            page.locator("main h1, main h2").first.wait_for()
            page.wait_for_timeout(800)  # what a page asks for afterwards
            entries: list[str] = page.evaluate(
                "performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
            )
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            assets = {url: sizes.get(id, 0.0) for id, url in addresses.items() if "/api/" not in url}
            figures = {
                "bytes": sum(sizes.values()),
                "requests": len(entries) + 1,
                "script": compress_scripts(entries),
                "asset bytes": sum(assets.values()),
                "assets": float(len(assets)),
            }
    return {**figures, "paint": statistics.median(paints)}


def compress_scripts(entries: list[str]) -> float:
    names = {path.rpartition("/")[2] for path in entries if path.endswith(".js")}
    return float(sum(len(gzip.compress((STATIC / "assets" / name).read_bytes())) for name in names))


def measure_shown(browser: Browser, server: Serving, path: str, selector: str) -> float:
    """Milliseconds from the address to the first frame that shows something, as the median."""
    found = []
    with open_page(browser, server) as page:
        for _ in range(ROUNDS):
            visit(page, server, path)
            found.append(page.evaluate(SHOWN_AT, selector))
    return float(statistics.median(found))


def measure_scrolling(browser: Browser, server: Serving, path: str, box: str, step: int) -> float:
    """The longest task while a person scrolls, in milliseconds: the best of three, as other work holds pages up."""
    found = []
    for _ in range(3):
        with open_page(browser, server) as page:
            visit(page, server, path)
            page.locator(f"{box} a, {box} article").first.wait_for()
            page.wait_for_timeout(1500)
            page.evaluate("window.longTasks.length = 0")
            page.locator(box).first.hover()
            for _ in range(SCROLL_STEPS):
                page.mouse.wheel(0, step)
                page.wait_for_timeout(40)
            found.append(max(page.evaluate("window.longTasks"), default=0.0))
    return min(found)


def measure_request(server: Serving, path: str) -> float:
    """Milliseconds that an answer takes, as the median."""
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        server.client.get(path).raise_for_status()
        found.append((time.perf_counter() - began) * 1000)
    return statistics.median(found)


def measure_extras() -> float:
    """Compressed bytes of what only formulas and diagrams need: all that their code, or its frame, may load."""
    scripts = {one.name: one.read_text("utf-8") for one in (STATIC / "assets").glob("*.js")}
    frame = (STATIC / "diagram-frame.html").read_text("utf-8")
    waiting = [name for name in scripts if name in frame or name.startswith("mathml-")]
    found = set(waiting)
    while waiting:
        text = scripts[waiting.pop()]
        named = {name for name in SCRIPT_NAME.findall(text) if name in scripts} - found
        found |= named
        waiting += named
    return float(sum(len(gzip.compress(scripts[name].encode())) for name in found))


def measure_everything(browser: Browser, home: Path) -> tuple[list[Bar], dict[str, Any]]:
    create_sessions(home, SESSIONS, calls=1)
    chat = create_session(home, {"title": "A long chat", "source": "web"}, *build_chat())
    run = create_session(home, {"title": "A long run", "source": "web"}, *build_agent_run())
    with Serving(home, HOME=str(home.parent), SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server:
        weights = {path: measure_weight(browser, server, path) for path in PATHS}
        listed = measure_shown(browser, server, "/sessions", ".session-row .session-title")
        page_of_list = measure_request(server, "/api/sessions?limit=100&skip=0&count=true")
        facets = measure_request(server, "/api/facets")
        first, deepest = "/api/sessions?limit=1&count=true", f"/api/sessions?limit=100&skip={SESSIONS - 100}&count=true"
        details = {
            "pages": weights,
            "the last page of the list, ms": measure_request(server, deepest),
            "sessions": server.client.get(first).json()["total"],
        }
        opened = {
            name: measure_shown(browser, server, f"/chat/{id}", ".turn") for name, id in (("chat", chat), ("run", run))
        }
        scrolled = {
            "list": measure_scrolling(browser, server, "/sessions", ".virtual-list", 600),
            "chat": measure_scrolling(browser, server, f"/chat/{chat}", ".chat-body", -600),
            "run": measure_scrolling(browser, server, f"/chat/{run}", ".chat-body", -600),
        }
    home_page = weights["/"]
    bars = [
        limit("script of the first page, gzipped", home_page["script"], "bytes", most=FIRST_SCRIPT_BYTES),
        limit("first load: document, scripts, styles, icon", home_page["asset bytes"], "bytes", most=FIRST_LOAD_BYTES),
        limit("first load: requests for these", home_page["assets"], "", most=FIRST_LOAD_REQUESTS),
        limit("formulas and diagrams, gzipped", measure_extras(), "bytes", most=EXTRAS_BYTES),
        limit(
            f"first paint of the slowest of {len(PATHS)} pages",
            max(one["paint"] for one in weights.values()),
            "ms",
            most=FIRST_PAINT_MS,
        ),
        limit(f"{SESSIONS:,} sessions: the list is shown", listed, "ms", most=500),
        limit(f"{SESSIONS:,} sessions: a page of the list, over HTTP", page_of_list, "ms", most=200),
        limit(f"{SESSIONS:,} sessions: facets, over HTTP", facets, "ms", most=200),
        limit(f"chat of {LONG_MESSAGES:,} messages: its end is shown", opened["chat"], "ms", most=1000),
        limit(f"agent run of {LONG_MESSAGES:,} messages: its end is shown", opened["run"], "ms", most=1000),
        limit(f"{SESSIONS:,} sessions: longest task while scrolling", scrolled["list"], "ms", most=100),
        limit(f"chat of {LONG_MESSAGES:,} messages: longest task while scrolling", scrolled["chat"], "ms", most=100),
        limit(
            f"agent run of {LONG_MESSAGES:,} messages: longest task while scrolling", scrolled["run"], "ms", most=100
        ),
    ]
    return bars, details


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        bars, details = measure_everything(browser, Path(folder) / ".sojourn")
        browser.close()
    save_result("pages", bars, details)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
