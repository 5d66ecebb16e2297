"""What is published: the sdist, and the wheel made of it where there is no Node, begun in an empty home."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e import plugin_folders

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, **env: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the wheel and what its core needs, and nothing of this folder."""
    folder = tmp_path_factory.mktemp("packages")
    uv = run(ROOT / "scripts" / "bootstrap", "--uv").strip()
    build = (uv, "build", "--quiet", "--build-constraint", ROOT / "requirements/boot.lock", "--python", sys.executable)
    run(*build, "--sdist", "--out-dir", folder, ROOT)
    [sdist] = folder.glob("*.tar.gz")
    run(*build, "--wheel", "--out-dir", folder, sdist, PATH=str(folder / "without-node"))
    [wheel] = folder.glob("*.whl")
    run(uv, "venv", "--quiet", "--python", sys.executable, folder / "venv")
    constraint = ("--constraint", ROOT / "requirements/run.lock")
    run(uv, "pip", "install", "--quiet", "--python", folder / "venv", *constraint, wheel)
    return folder / "venv"


@pytest.fixture(scope="module")
def packed(installed: Path) -> Path:
    """The package in it."""
    [found] = installed.glob("lib/python*/site-packages/sojourn")
    return found


@pytest.fixture
def browser(installed: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    """Let in by the link that `sojourn dashboard` prints, on a machine that has nothing but this environment."""
    name = plugin_folders.copy_example(tmp_path / ".sojourn")
    alone = {"HOME": str(tmp_path), "PATH": str(installed / "bin"), "LANG": "C.UTF-8"}
    program = str(installed / "bin" / "sojourn")
    subprocess.run([program, "plugins", "enable", name, "--yes"], env=alone, cwd=tmp_path, check=True)
    process = subprocess.Popen(
        [program, "dashboard", "--no-open", "--port", "0"],
        env=alone,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    ready, link = process.stdout.readline().split(), process.stdout.readline().split()
    with httpx.Client(base_url=ready[1], trust_env=False, timeout=60) as client:
        entered = client.get(link[1])
        assert entered.status_code == 200
        client.headers["Sojourn-Page-Key"] = re.findall(r'"sojourn.page-key", "([^"]+)"', entered.text)[0]
        yield client
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_page_file_frame_and_badge_is_in_the_wheel(browser: httpx.Client, packed: Path) -> None:
    document = browser.get("/").text
    assert re.findall(r'(?:src|href)="(/assets/[^"]+\.(?:js|css))"', document)
    for file in (packed / "dashboard" / "static" / "assets").iterdir():
        assert browser.get(f"/assets/{file.name}").content == file.read_bytes()
        assert file.stat().st_size > 0
    listed = browser.get("/api/plugins/dashboard/plugins").json()
    frame = next(one["frame"] for one in listed if one["frame"])
    inside = re.findall(r'(?:src|href)="([^"]+)"', browser.get(frame).text)
    assert {"_sojourn/frame.css", "_sojourn/host.js"} < set(inside)
    assert [browser.get(frame + one).status_code for one in inside] == [200] * len(inside)
    badges = browser.get("/api/plugins/hermes-achievements/achievements").json()
    assert len(badges["achievements"]) == 60


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_core_is_small(packed: Path) -> None:
    """Its promise is 65 packages and 200 MB with compiled bytecode, which adds two fifths."""
    site = packed.parent
    assert len(list(site.glob("*.dist-info"))) <= 65
    files = (one for one in site.rglob("*") if one.is_file() and one.suffix != ".pyc")
    assert sum(one.stat().st_size for one in files) <= 140_000_000


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_wheel_can_put_its_page_into_a_hermes_dashboard(installed: Path, tmp_path: Path) -> None:
    (tmp_path / ".hermes").mkdir()
    command = [str(installed / "bin" / "sojourn"), "achievements", "install-hermes-plugin", "--yes"]
    subprocess.run(command, env={"HOME": str(tmp_path), "LANG": "C.UTF-8"}, cwd=tmp_path, check=True)
    placed = tmp_path / ".hermes" / "plugins" / "hermes-achievements" / "dashboard"
    told = json.loads((placed / "manifest.json").read_text("utf-8"))
    assert all((placed / told[name]).stat().st_size > 1000 for name in ("entry", "css", "api"))
