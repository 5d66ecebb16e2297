"""The wheel as people install it: with uv, pipx and uvx, on every Python that this machine has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def run(*command: str | Path, **env: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | env, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def uv() -> str:
    return run(ROOT / "scripts" / "bootstrap", "--uv").strip()


@pytest.fixture(scope="module")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run(ROOT / "scripts" / "web")
    folder = tmp_path_factory.mktemp("wheel")
    constraint = ("--build-constraint", ROOT / "requirements/boot.lock")
    run(uv, "build", "--quiet", "--wheel", *constraint, "--python", sys.executable, "--out-dir", folder, ROOT)
    [found] = folder.glob("*.whl")
    return found


def find_python(uv: str, version: str) -> str:
    """A Python of the system, or one of pyenv, whose names on PATH lead nowhere until a version is chosen."""
    shims = [Path(one) for one in os.environ["PATH"].split(os.pathsep) if one.endswith("shims")]
    for one in shims:
        if kept := sorted((one.parent / "versions").glob(f"{version}.*/bin/python{version}")):
            return str(kept[-1])
    found = subprocess.run(
        [uv, "python", "find", "--no-python-downloads", version], capture_output=True, text=True, cwd="/"
    )
    if found.returncode:
        pytest.skip(f"this machine has no Python {version}")
    return found.stdout.strip()


def check_program(program: Path, place: Path) -> None:
    """The first look, the checks, a chat and a search."""
    env = {"HOME": str(place), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SOJOURN_PORT": "0"}

    def say(*words: str) -> str:
        done = subprocess.run(
            [program, *words], env=env, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    assert "sample" in say("welcome")
    assert "Nothing is broken" in say("doctor")
    try:
        assert "offline helper" in say("chat", "-q", "hello")
    finally:
        say("server", "stop")
    assert "garden" in say("sessions", "search", "watering")
    assert "60 unlocked" in say("achievements")


@pytest.mark.matrix
@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_tool_of_uv_works(version: str, uv: str, wheel: Path, tmp_path: Path) -> None:
    place = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    run(uv, "tool", "install", "--quiet", "--python", find_python(uv, version), wheel, **place)
    [site] = (tmp_path / "tools" / "sojourn").glob("lib/python*/site-packages")
    assert site.parent.name == f"python{version}"
    assert len(list(site.glob("*.dist-info"))) <= 65
    check_program(tmp_path / "bin" / "sojourn", tmp_path)


@pytest.mark.matrix
@pytest.mark.timeout(600)
def test_pipx_installs_it(uv: str, wheel: Path, tmp_path: Path) -> None:
    place = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    run(uv, "tool", "run", "pipx", "install", "--python", sys.executable, wheel, **place)
    check_program(tmp_path / "bin" / "sojourn", tmp_path)


@pytest.mark.matrix
@pytest.mark.timeout(600)
def test_uvx_serves_a_page_without_installing_it(uv: str, wheel: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [uv, "tool", "run", "--python", sys.executable, "--from", wheel]
    command += ["sojourn", "dashboard", "--no-open", "--port", "0"]
    env = os.environ | {"SOJOURN_HOME": str(tmp_path / "home")}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        link = process.stdout.readline().split()[1]
        with httpx.Client(trust_env=False, follow_redirects=True) as client:
            page = client.get(link)
            assert page.status_code == 200
            document = client.get(str(page.url.join("/"))).text
            [script] = re.findall(r'src="(/assets/[^"]+\.js)"', document)[:1]
            assert client.get(str(page.url.join(script))).status_code == 200
        process.terminate()
        assert process.wait(30) == 0
