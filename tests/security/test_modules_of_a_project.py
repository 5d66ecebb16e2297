"""A folder that somebody works in holds modules named like those that our programs import: none of them runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import optional_packages
from sojourn.achievements.hermes_plugin import HermesPlugin
from sojourn.core.errors import MissingPackage


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hostile folder to stand in; its modules leave this file."""
    project, trace = tmp_path / "project", tmp_path / "trace"
    project.mkdir()
    for name in ("pip", "sojourn", "json", "argparse"):
        (project / f"{name}.py").write_text(f"open({str(trace)!r}, 'w').close()\n")
    monkeypatch.chdir(project)
    return trace


async def test_installing_packages_runs_no_module_of_the_folder(trace: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(optional_packages, "find_spec", lambda _: True)
    with pytest.raises(MissingPackage):  # pip is given nothing to install
        await optional_packages.install_packages([])
    assert not trace.exists()


async def test_the_installer_reads_no_settings_of_the_folder(trace: Path, monkeypatch: pytest.MonkeyPatch):
    command = [sys.executable, "-I", "-c", "import os, sys; sys.exit(os.getcwd())"]
    monkeypatch.setattr(optional_packages, "build_install_command", lambda _: command)
    with pytest.raises(MissingPackage) as said:
        await optional_packages.install_packages(["anything"])
    assert str(trace.parent / "project") not in str(said.value)


def test_hermes_runs_no_module_of_the_folder(trace: Path, tmp_path: Path):
    home = tmp_path / "hermes"
    home.mkdir()
    HermesPlugin(home, sys.executable).install()
    [kept] = home.rglob("sojourn.json")
    command = json.loads(kept.read_text())["command"]
    subprocess.run([*command[:-2], "--help"], capture_output=True, timeout=60, check=True)
    assert not trace.exists()
