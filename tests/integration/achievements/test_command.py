"""`sojourn achievements` as a person runs it, on a Hermes home."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.e2e.http_server import PROGRAM
from tests.unit.achievements.worlds import golden


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("SOJOURN_HOME", str(tmp_path / "ours"))
    home, _ = golden("tiny", tmp_path / "hermes")

    def ran(*words):
        return subprocess.run(
            [PROGRAM, "achievements", *words, "--home", home], capture_output=True, text=True, check=False
        )

    return ran


def test_a_history_that_is_gone_leaves_the_last_good_count_and_the_reason(run, tmp_path):
    good = json.loads(run("--json").stdout)
    assert (good["serving_state"], good["error"], len(good["sessions"]) > 0) == ("FRESH", None, True)
    (tmp_path / "hermes" / "state.db").rename(tmp_path / "elsewhere.db")
    left = json.loads(run("--json").stdout)
    assert (left["serving_state"], left["is_stale"]) == ("FAILED", True)
    assert "no database" in left["error"]
    assert left["aggregate"] == good["aggregate"]
    shown = run()
    assert [line for line in shown.stdout.splitlines() if line.endswith(" ")] == []
    assert (shown.returncode, "last good count" in shown.stderr) == (0, True)


def test_a_first_count_that_fails_says_why(run, tmp_path):
    (tmp_path / "hermes" / "state.db").unlink()
    failed = run("--json")
    assert failed.returncode != 0
    assert "no database" in failed.stderr


def test_the_hermes_plugin_is_installed_and_uninstalled_with_json(tmp_path, monkeypatch):
    monkeypatch.setenv("SOJOURN_HOME", str(tmp_path / "ours"))
    home = tmp_path / "hermes"
    home.mkdir()

    def run(*words):
        return subprocess.run([PROGRAM, *words, "--hermes-home", home], capture_output=True, text=True, check=False)

    refused = run("achievements", "install-hermes-plugin", "--json")
    assert (refused.returncode != 0, list(home.iterdir())) == (True, [])
    installed = json.loads(run("achievements", "install-hermes-plugin", "--yes", "--json").stdout)
    assert (installed["installed"], installed["hermes_home"]) == (True, str(home))
    assert any("config.yaml" in change for change in installed["changes"])
    removed = json.loads(run("--json", "achievements", "uninstall-hermes-plugin", "--yes").stdout)
    assert (removed["installed"], bool(removed["changes"])) == (False, True)
    assert not (home / "config.yaml").exists()
    again = run("--json", "achievements", "uninstall-hermes-plugin", "--yes")
    assert (again.returncode, json.loads(again.stdout)["changes"]) == (0, [])
