"""Takes pictures of every page, light and dark, on a desk and on a phone, into docs/img: `make screenshots`.

A server on a home of its own, with made-up sessions; nothing of the person who runs it is shown.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browser.histories import fill
from tests.e2e.http_server import Serving

TARGET = Path(__file__).parents[1] / "docs" / "img"
SIZES = {"": {"width": 1280, "height": 820}, "-phone": {"width": 390, "height": 844}}
PAGES = {
    "home": "/", "sessions": "/sessions", "achievements": "/achievements?sort=tier", "insights": "/insights",
    "templates": "/templates", "memory": "/memory", "import": "/import", "settings": "/settings",
}  # fmt: skip


def alone(folder: Path) -> None:
    """Nothing that would lead to the histories or keys of whoever takes the pictures."""
    for name in list(os.environ):
        if name.startswith(("SOJOURN_", "HERMES_", "CLAUDE_", "CODEX_", "OPENCODE_", "XDG_", "OPENAI_", "ANTHROPIC_")):
            del os.environ[name]
    os.environ |= {"HOME": str(folder), "TZ": "UTC"}


def prepare(server: Serving) -> str:
    """Something to see on every page; gives the session the chat shows."""
    client = server.client
    client.post("/api/plugins/dashboard/samples")
    client.post("/api/plugins/memory/facts", json={"text": "Prefers uv and short answers."})
    client.post("/api/plugins/memory/facts", json={"text": "The garden project is written in Python 3.11."})
    client.post("/api/plugins/hermes-achievements/rescan?wait=true")
    found = client.get("/api/sessions", params={"text": "flaky", "limit": 1}).json()["sessions"]
    return str(found[0]["id"])


def take(page: Page, server: Serving, session: str, suffix: str) -> None:
    for name, path in {**PAGES, "chat": f"/chat/{session}", "reader": f"/sessions/{session}"}.items():
        page.goto(server.address + path)
        if name in ("chat", "reader"):
            page.locator(".turn").first.wait_for()
        else:
            page.locator("main h1").wait_for()
            page.wait_for_load_state("networkidle")
        page.wait_for_timeout(400)
        page.screenshot(path=TARGET / f"{name}{suffix}.png")
        print(f"docs/img/{name}{suffix}.png")


def visit(browser: Browser, server: Serving, session: str, theme: str, size: str) -> None:
    context = browser.new_context(viewport=SIZES[size], color_scheme=theme, locale="en-US")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(server.address + server.client.post("/api/links").json()["path"])
    page.wait_for_url(server.address + "/")
    take(page, server, session, f"-{theme}{size}")
    context.close()


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sj-") as folder:
        alone(Path(folder))
        home = Path(folder) / ".sojourn"
        fill(home, 600, calls=4)
        with (
            Serving(home, SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no") as server,
            sync_playwright() as playwright,
        ):
            session = prepare(server)
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for theme in ("light", "dark"):
                for size in SIZES:
                    visit(browser, server, session, theme, size)
            browser.close()


if __name__ == "__main__":
    main()
