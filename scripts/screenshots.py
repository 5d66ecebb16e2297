"""Takes pictures of every page, light and dark, at desktop and phone width, into docs/img: `make screenshots`.

The server runs on a temporary home with sample sessions; nothing of the person who runs it is shown.
"""

import gzip
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from sojourn.http.host_names import BROWSER_NAME
from sojourn.testing.model_script import ModelRequest, Say, Step
from sojourn.testing.model_server import ModelServer
from tests.browser.sample_sessions import create_sessions
from tests.e2e.http_server import Serving

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "img"
HISTORY = ROOT / "tests" / "fixtures" / "sources" / "hermes" / "0.19.0" / ".hermes" / "state.db.gz"
SIZES = {"": {"width": 1280, "height": 820}, "-phone": {"width": 390, "height": 844}}
WEB = {"Sojourn-Surface": "web"}
PAGES = {
    "home": "/",
    "sessions": "/sessions",
    "achievements": "/achievements?sort=tier",
    "insights": "/insights",
    "templates": "/templates",
    "memory": "/memory",
    "gateway": "/gateway",
    "import": "/import",
    "settings": "/settings",
}


WORK = (
    "Speed up",
    "Rewrite",
    "Test",
    "Document",
    "Break up",
    "Add retries to",
    "Find the leak in",
    "Translate",
    "Add dark mode to",
    "Clean up",
    "Make a plan for",
    "Review",
    "Upgrade",
    "Move to Postgres:",
    "Fix the dates in",
    "Cache",
    "Explain",
    "Add a progress bar to",
    "Undo last week's change to",
    "Package",
)
THINGS = (
    "the checkout",
    "the search page",
    "the plant catalogue",
    "the watering schedule",
    "the weather script",
    "the invoice export",
    "the login form",
    "the photo importer",
    "the newsletter",
    "the greenhouse sensors",
    "the seed database",
    "the release notes",
    "the price parser",
    "the map view",
    "the nightly backup",
    "the settings dialog",
    "the queue worker",
    "the barcode reader",
    "the order mails",
    "the test fixtures",
    "the calendar sync",
    "the stock report",
    "the image resizer",
    "the CSV reader",
    "the command line",
    "the rate limiter",
    "the user guide",
    "the upload form",
    "the log viewer",
    "the label printer",
)


def build_titles() -> list[str]:
    """Session titles, each once, in a fixed random order."""
    titles = [f"{work} {thing}" for work in WORK for thing in THINGS]
    random.Random(3).shuffle(titles)
    return titles


def script_answer(request: ModelRequest) -> list[Step]:
    """The scripted model's answers."""
    words = request.last_user_text()
    if "handed over" in words:
        return [Say("Hello here! We have six pots of basil so far, **15.00** in all. Shall I add something?")]
    if "thyme" in words:
        return [Say("Four pots of thyme are 8.80. That makes **23.80** for the whole balcony.")]
    return [Say("Six pots at 2.50 are **15.00**.")]


def isolate_environment(folder: Path) -> None:
    """Removes every variable that leads to the histories or keys of the person who runs this."""
    for name in list(os.environ):
        if name.startswith(("SOJOURN_", "HERMES_", "CLAUDE_", "CODEX_", "OPENCODE_", "XDG_", "OPENAI_", "ANTHROPIC_")):
            del os.environ[name]
    os.environ |= {"HOME": str(folder), "TZ": "UTC"}


def add_sample_data(server: Serving) -> str:
    """Adds data for every page; returns the id of the session that the chat shows."""
    client = server.client
    client.post("/api/plugins/dashboard/samples")
    client.post("/api/plugins/memory/facts", json={"text": "Prefers uv and short answers."})
    client.post("/api/plugins/memory/facts", json={"text": "The garden project is written in Python 3.11."})
    client.post("/api/plugins/hermes-achievements/rescan?wait=true")
    client.post("/api/plugins/templates/suggestions/mine")
    suggested = client.get("/api/plugins/templates/suggestions").json()["suggestions"]
    client.post(f"/api/plugins/templates/suggestions/{suggested[0]['id']}/approve", json={})
    add_gateway_data(client)
    found = client.get("/api/sessions", params={"text": "flaky", "limit": 1}).json()["sessions"]
    return str(found[0]["id"])


def add_gateway_data(client: httpx.Client) -> None:
    """Adds a handed-over session, an answer in its thread, and a pending pairing request."""
    session = client.post(
        "/api/sessions", json={"source": "web", "title": "Herbs for the balcony"}, headers=WEB
    ).json()["id"]
    client.post(
        f"/api/sessions/{session}/turns", json={"message": "What are 6 pots of basil at 2.50 each?"}, headers=WEB
    )
    wait_until(lambda: client.get(f"/api/sessions/{session}/turns/running").json()["turn_id"] is None)
    gateway = "/api/plugins/gateway"
    wait_until(lambda: client.get(f"{gateway}/status").json()["gateways"])
    handoff = client.post(f"{gateway}/sessions/{session}/handoff", json={"to": "local"}).json()
    client.get(f"{gateway}/handoffs/{handoff['id']}?wait=true")
    room = "/api/plugins/local/rooms/home/messages"
    thread = client.get(f"{gateway}/handoffs/{handoff['id']}").json()["thread_id"]
    client.post(room, json={"text": "And 4 of thyme at 2.20?", "thread": thread})
    wait_until(lambda: "23.80" in client.get(room).text)
    client.post("/api/plugins/local/rooms/door/messages", json={"text": "hello?", "sender": "ann", "name": "Ann"})
    wait_until(lambda: client.get(f"{gateway}/people").json()["waiting"])


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError("the sample data did not appear in time")
        time.sleep(0.2)


def take_handoff_picture(page: Page, server: Serving, suffix: str) -> None:
    """The hand-off dialog after its last step."""
    session = server.client.post("/api/sessions", json={"source": "web"}, headers=WEB).json()["id"]
    server.client.post(
        f"/api/sessions/{session}/turns", json={"message": "What are 6 pots of basil at 2.50 each?"}, headers=WEB
    )
    page.goto(f"{server.address}/chat/{session}")
    page.locator(".turn-usage").wait_for()
    page.get_by_role("button", name="Hand off to…").click()
    page.get_by_role("button", name="Hand off", exact=True).click()
    page.locator(".dialog [data-step=completed][data-state=done]").wait_for(timeout=60_000)
    page.screenshot(path=TARGET / f"handoff{suffix}.png")
    print(f"docs/img/handoff{suffix}.png")


def take_page_pictures(page: Page, server: Serving, session: str, suffix: str) -> None:
    for name, path in {**PAGES, "chat": f"/chat/{session}"}.items():
        page.goto(server.address + path)
        if name == "chat":
            page.locator(".turn").first.wait_for()
        else:
            page.locator("main h1").wait_for()
            page.locator("main [role=status]", has_text="Loading").wait_for(state="detached")
        page.wait_for_timeout(700)  # until animations have ended
        page.screenshot(path=TARGET / f"{name}{suffix}.png")
        print(f"docs/img/{name}{suffix}.png")


def take_pictures(browser: Browser, server: Serving, session: str, theme: str, size: str) -> None:
    context = browser.new_context(viewport=SIZES[size], color_scheme=theme, locale="en-US")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(server.address + server.client.post("/api/links").json()["path"])
    page.wait_for_url(server.address.replace("127.0.0.1", BROWSER_NAME) + "/")
    take_page_pictures(page, server, session, f"-{theme}{size}")
    take_handoff_picture(page, server, f"-{theme}{size}")
    context.close()


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sj-") as folder:
        isolate_environment(Path(folder))
        home = Path(folder) / ".sojourn"
        create_sessions(home, 600, calls=5, titles=build_titles())
        (Path(folder) / ".hermes").mkdir()
        (Path(folder) / ".hermes" / "state.db").write_bytes(gzip.decompress(HISTORY.read_bytes()))
        with (
            ModelServer(script_answer) as model,
            Serving(
                home,
                SOJOURN_RUNTIME="native",
                SOJOURN_MODEL_BASE_URL=model.url,
                SOJOURN_MODEL="scripted-1",
                SOJOURN_MODEL_DETECT="no",
                SOJOURN_TITLES="no",
            ) as server,
            sync_playwright() as playwright,
        ):
            session = add_sample_data(server)
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for theme in ("light", "dark"):
                for size in SIZES:
                    take_pictures(browser, server, session, theme, size)
            browser.close()


if __name__ == "__main__":
    main()
