"""The badges page in the dashboard of a real Hermes 0.19, where `install-hermes-plugin` puts it."""

import json
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page

from sojourn.testing.hermes_process import HermesProcess
from tests.browser.conftest import AXE, free_port
from tests.e2e.http_server import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
LIVED = """
import sys
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
for number in range(40):
    session = db.create_session(f"day_{number:03}", "cli", model="some-model")
    db.append_message(session, "user", "Why? Traceback (most recent call last): error: port 3000 is in use")
    for call in range(6):
        asked = {"id": f"c{call}", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
        db.append_message(session, "assistant", "Let me look.", tool_calls=[asked])
        db.append_message(session, "tool", "error: permission denied", tool_name="terminal", tool_call_id=f"c{call}")
    db.append_message(session, "assistant", "Fixed.")
"""


def sojourn(*words: str | Path) -> str:
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def hermes(tmp_path_factory: pytest.TempPathFactory) -> HermesProcess:
    """A home whose history its own code has written, and our plugin in it. No model is needed."""
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    rig = HermesProcess(ROOT / ".venv-hermes", tmp_path_factory.mktemp("hermes"), model_url="http://127.0.0.1:9/v1")
    subprocess.run([rig.venv / "bin" / "python", "-c", LIVED, rig.home / "state.db"], env=rig.environment, check=True)
    sojourn("achievements", "install-hermes-plugin", "--yes", "--hermes-home", rig.home)
    return rig


@pytest.fixture(scope="module")
def address(hermes: HermesProcess) -> Iterator[str]:
    """Where its dashboard is."""
    address, token = f"http://127.0.0.1:{free_port()}", secrets.token_hex(16)
    with (hermes.home.parent / "dashboard.log").open("wb") as log:
        process = subprocess.Popen(
            [
                hermes.venv / "bin" / "hermes",
                "dashboard",
                "--no-open",
                "--host",
                "127.0.0.1",
                "--port",
                address.rpartition(":")[2],
            ],
            env=hermes.environment | {"HERMES_DASHBOARD_SESSION_TOKEN": token},
            cwd=hermes.workspace,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    until = time.monotonic() + 60
    while not answers(address):
        assert process.poll() is None, Path(log.name).read_text()
        assert time.monotonic() < until, Path(log.name).read_text()
        time.sleep(0.1)
    yield address
    process.kill()
    process.wait()


def answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Page]:
    """Its badges page; nothing may be asked of anybody else, and nothing may go wrong in it."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, locale="en-US")
    context.set_default_timeout(60_000)
    context.route(
        lambda url: urlsplit(url).scheme in ("http", "https") and not url.startswith(address),
        lambda route: route.abort(),
    )
    page, wrong = context.new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{address}/achievements")
    yield page
    context.close()
    assert wrong == []


def counted(hermes: HermesProcess) -> list[dict[str, Any]]:
    found = json.loads(sojourn("achievements", "--home", hermes.home, "--json"))
    return [one for one in found["achievements"] if one["unlocked"]]


def test_our_badges_are_shown_with_what_the_history_has_earned(hermes: HermesProcess, visit: Page) -> None:
    ours = visit.locator(".sojourn-achievements")
    ours.get_by_role("heading", name="Achievements", level=1).wait_for()
    earned = counted(hermes)
    assert earned
    ours.get_by_text(f"{len(earned)} / 60").wait_for()
    ours.get_by_role("button", name="Unlocked", exact=True).click()
    visit.wait_for_function("(n) => document.querySelectorAll('.ach-card').length === n", arg=len(earned))
    shown = set(ours.locator(".ach-card h3").all_inner_texts())
    assert shown == {one["name"] for one in earned}


def test_it_is_drawn_inside_the_page_and_can_be_read(visit: Page) -> None:
    """In the colours of the host: nothing too faint on what is behind it, nothing wider than its column."""
    page = visit.locator(".sojourn-achievements")
    page.locator(".ach-card").nth(59).wait_for()
    assert visit.get_by_role("link", name=re.compile("Achievements", re.IGNORECASE)).count() >= 1
    assert page.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")
    visit.evaluate(AXE.read_text("utf-8"))
    told = visit.evaluate("axe.run('.sojourn-achievements', {resultTypes: ['violations']})")
    serious = [one for one in told["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"], one["nodes"][0]["any"][:1]) for one in serious] == []


def test_receipts_and_the_share_card_open_there(visit: Page) -> None:
    ours = visit.locator(".sojourn-achievements")
    ours.get_by_role("button", name="Unlocked", exact=True).click()
    ours.get_by_role("button", name="Receipts").first.click()
    visit.get_by_role("dialog").locator(".ach-receipts mark").first.wait_for()
    left = visit.get_by_role("dialog").evaluate("(one) => one.getBoundingClientRect().left")
    assert left > 100  # in the middle, whatever the host's own rules are
    visit.keyboard.press("Escape")
    visit.get_by_role("dialog").wait_for(state="detached")
    ours.get_by_role("button", name="Share").first.click()
    visit.get_by_role("dialog").locator("img.ach-share").wait_for()
    visit.keyboard.press("Escape")
    visit.get_by_role("dialog").wait_for(state="detached")
