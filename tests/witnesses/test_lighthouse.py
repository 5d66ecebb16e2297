"""Google's Lighthouse on every page of a real server, in a browser that is signed in."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from bench.report import at_least, save_result
from sojourn.http.host_names import BROWSER_NAME
from tests.browser.conftest import free_port
from tests.browser.sample_sessions import create_sessions
from tests.browser.test_pages import PAGES
from tests.e2e.http_server import Serving
from tests.servers.system_package import require_program
from tests.servers.whatsapp_bridge import find_node

HERE = Path(__file__).resolve().parent / "lighthouse"
ROOT = HERE.parents[2]
EVERY_PAGE = {"accessibility": 98, "best-practices": 95}
PERFORMANCE, FAST_PAGES, ROUNDS = 90, ("/", "/chat", "/sessions"), 3
pytestmark = [pytest.mark.matrix, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def lighthouse() -> Path:
    """A folder with Lighthouse as the lock file has it."""
    target, locked = ROOT / ".venv-lighthouse", (HERE / "package-lock.json").read_bytes()
    if not (target / "made-from").exists() or (target / "made-from").read_bytes() != locked:
        shutil.copytree(HERE, target, dirs_exist_ok=True)
        environment = {**os.environ, "PATH": f"{Path(find_node()).parent}:{os.environ['PATH']}"}
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=target, env=environment, check=True)
        (target / "made-from").write_bytes(locked)
    shutil.copy(HERE / "audit.mjs", target)
    return target


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("lighthouse")
    create_sessions(folder / ".sojourn", 300, calls=2)
    with Serving(
        folder / ".sojourn", HOME=str(folder), SOJOURN_RUNTIME="offline", SOJOURN_MODEL_DETECT="no"
    ) as started:
        started.client.post("/api/plugins/dashboard/samples")
        started.client.post("/api/plugins/hermes-achievements/rescan?wait=true")
        yield started


@pytest.fixture(scope="module")
def signed_in_port(server: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The debugging port of a browser that is signed in."""
    port, profile = free_port(), tmp_path_factory.mktemp("profile")
    program = shutil.which("chromium") or shutil.which("google-chrome") or require_program("chromium", "chromium")
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--remote-debugging-port={port}"]
    browser = subprocess.Popen(
        [program, *arguments, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert browser.stderr
        while "DevTools listening" not in browser.stderr.readline():
            assert browser.poll() is None, "the browser has ended"
        with sync_playwright() as playwright:
            connected = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
            page = connected.contexts[0].new_page()
            page.goto(server.address + server.client.post("/api/links").json()["path"])
            page.wait_for_url(f"{server.address.replace('127.0.0.1', BROWSER_NAME)}/")
            page.get_by_role("navigation").wait_for()
            page.close()
            connected.close()
        yield port
    finally:
        browser.kill()
        browser.communicate()


def test_every_page_is_accessible_sound_and_the_first_ones_are_fast(lighthouse, server, signed_in_port):
    address = server.address.replace("127.0.0.1", BROWSER_NAME)
    newest = server.client.get("/api/sessions?limit=1").json()["sessions"][0]["id"]
    work = [{"url": f"{address}{path}", "categories": list(EVERY_PAGE)} for path in (*PAGES, f"/chat/{newest}")]
    work += [{"url": f"{address}{path}", "categories": ["performance"]} for path in FAST_PAGES * ROUNDS]
    results = audit(lighthouse, signed_in_port, work)
    scores: dict[tuple[str, str], list[int]] = defaultdict(list)
    lost: dict[str, list[str]] = {}
    for asked, one in zip(work, results, strict=True):
        path = str(asked["url"]).removeprefix(address)
        assert one["error"] == ""
        assert one["url"].startswith(address)
        for category, score in one["scores"].items():
            scores[path, category].append(score)
        if one["lost"]:
            lost[path] = one["lost"]
    bars = [
        at_least(f"{path}: {category}", statistics.median(found), "points", least=EVERY_PAGE.get(category, PERFORMANCE))
        for (path, category), found in scores.items()
    ]
    save_result("lighthouse", bars, {"points lost": lost})
    assert [one.name for one in bars if not one.met] == [], lost


def audit(folder: Path, port: int, work: list[dict[str, Any]]) -> list[dict[str, Any]]:
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "NO_PROXY": "*"}
    done = subprocess.run(
        [find_node(), str(folder / "audit.mjs"), str(port)],
        input=json.dumps(work),
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
