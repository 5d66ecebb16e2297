"""`sojourn sync` as people use it: real programs, two homes, one folder."""

import json
import subprocess
from pathlib import Path

from tests.e2e.http_server import PROGRAM


def sojourn(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "--home", str(home), *args], capture_output=True, text=True, timeout=120)


def test_two_homes_and_a_folder(tmp_path):
    anna, bert, folder = tmp_path / "anna", tmp_path / "bert", tmp_path / "shared"
    missing = sojourn(anna, "sync", str(folder))
    assert (missing.returncode, "There is no folder" in missing.stderr) == (2, True)
    folder.mkdir()
    told = sojourn(anna, "chat", "-q", "hello there", "--runtime", "echo", "--in-process")
    assert told.returncode == 0, told.stderr
    begun = sojourn(anna, "sync", str(folder))
    assert begun.returncode == 0, begun.stderr
    assert "1 session sent" in begun.stdout
    [key] = anna.glob("sync-*.key")
    assert key.name in begun.stdout
    locked = sojourn(bert, "sync", str(folder))
    assert (locked.returncode, key.name in locked.stderr) == (2, True)
    bert.mkdir(exist_ok=True)
    (bert / key.name).touch(mode=0o600)
    (bert / key.name).write_text(key.read_text())
    got = json.loads(sojourn(bert, "--json", "sync", str(folder)).stdout)
    assert (got["received"], got["refused"]) == (1, [])
    [session] = json.loads(sojourn(bert, "sessions", "list", "--json").stdout)
    assert "hello there" in sojourn(bert, "sessions", "show", session["id"]).stdout
    found = json.loads(sojourn(bert, "sessions", "search", "hello", "--json").stdout)
    assert found  # it is searchable
    forgotten = sojourn(bert, "sessions", "forget", session["id"], "--yes")
    assert forgotten.returncode == 0, forgotten.stderr
    assert sojourn(bert, "sync", str(folder)).returncode == 0
    assert "1 session forgotten" in sojourn(anna, "sync", str(folder)).stdout
    assert json.loads(sojourn(anna, "sessions", "list", "--json").stdout) == []
    newest = max(folder.glob("*/*.bundle"), key=lambda path: path.stat().st_mtime_ns)
    (newest.parent / "00000009.bundle").write_bytes(newest.read_bytes())
    assert sojourn(anna, "sync", str(folder)).returncode == 0  # a gap: it waits
