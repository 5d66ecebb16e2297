"""Histories made to hang or swell an import: each gives one clear error, and the server goes on answering."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.http_server import PROGRAM, Serving

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_SECONDS = 60  # generous: the machine is shared; without limits these never end
MAX_RESIDENT_KB = 2_100_000  # of the process that reads, which is limited
SESSION = "11111111-1111-4111-8111-111111111111"


def claude_file(user_home: Path) -> Path:
    folder = user_home / ".claude" / "projects" / "-home-alex-project"
    folder.mkdir(parents=True)
    return folder / f"{SESSION}.jsonl"


def make_fifo(user_home: Path) -> None:
    os.mkfifo(claude_file(user_home))


def make_zero(user_home: Path) -> None:
    claude_file(user_home).symlink_to("/dev/zero")


def make_endless_line(user_home: Path) -> None:
    """3 GB in one line, which the file system does not store."""
    with claude_file(user_home).open("wb") as file:
        file.write(b'{"type":"user","sessionId":"%b","uuid":"1","message":"' % SESSION.encode())
        file.truncate(3 << 30)


def make_bomb(user_home: Path, piece: bytes) -> None:
    folder = user_home / ".codex" / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    path = folder / f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl.zst"
    with zstd.open(path, "wb") as file:
        for _ in range((1 << 30) // len(piece)):
            file.write(piece)
    assert path.stat().st_size < 1 << 20


def make_line_bomb(user_home: Path) -> None:
    make_bomb(user_home, b"a" * (1 << 20))


def make_record_bomb(user_home: Path) -> None:
    make_bomb(user_home, (b'{"type":"session_meta","payload":{"a":"%b"}}\n' % (b"a" * 10_000)) * 100)


def make_hermes(user_home: Path, *statements: str) -> None:
    (user_home / ".hermes").mkdir()
    db = sqlite3.connect(user_home / ".hermes" / "state.db")
    db.execute("CREATE TABLE schema_version(version INTEGER)")
    db.execute("INSERT INTO schema_version VALUES (11)")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"


def make_recursive_view(user_home: Path) -> None:
    make_hermes(
        user_home,
        f"CREATE VIEW sessions AS {ENDLESS} 's' || x AS id, x AS started_at FROM n",
        f"CREATE VIEW messages AS {ENDLESS} x AS id, 's1' AS session_id, 'user' AS role, 'hi' AS content FROM n",
    )


def make_slow_table(user_home: Path) -> None:
    """A column that is computed, for ever, when it is read."""
    work = "length(hex(zeroblob(200000000)))"
    make_hermes(
        user_home,
        "CREATE TABLE sessions(id TEXT, started_at REAL)",
        "CREATE TABLE messages(id INTEGER, session_id TEXT, role TEXT)",
        "INSERT INTO sessions VALUES ('s1', 1.0)",
        *("INSERT INTO messages(id, session_id, role) VALUES (1, 's1', 'user')",) * 400,
        f"ALTER TABLE messages ADD COLUMN content TEXT AS ({work}) VIRTUAL",
    )


Make = Callable[[Path], None]
HOSTILE: dict[str, tuple[Make, str, str]] = {  # how it is made, its program, a word of the error
    "a FIFO": (make_fifo, "claude-code", "not a regular file"),
    "/dev/zero": (make_zero, "claude-code", "not a regular file"),
    "a line of 3 GB": (make_endless_line, "claude-code", "longer than"),
    "a zstd bomb of one line": (make_line_bomb, "codex", "longer than"),
    "a zstd bomb of many lines": (make_record_bomb, "codex", "unpacked"),
    "a recursive view": (make_recursive_view, "hermes", "view"),
    "a computed column": (make_slow_table, "hermes", "s1"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_ends_with_one_clear_error(tmp_path: Path, name: str) -> None:
    make, source, word = HOSTILE[name]
    user_home = tmp_path / "user"
    user_home.mkdir()
    make(user_home)
    arguments = [str(PROGRAM), "--home", str(tmp_path / "home"), "import", source, "--yes"]
    began = time.monotonic()
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(
            arguments, stdout=said, stderr=said, env={**os.environ, "HOME": str(user_home), "COLUMNS": "500"}
        )
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() - began > MAX_SECONDS:
                process.kill()
                process.wait()
                pytest.fail(f"the import of {name} hangs")
            time.sleep(0.1)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        said.seek(0)
        text = said.read()
    assert word in text, text[-2000:]
    assert "Traceback" not in text
    assert ended[2].ru_maxrss < MAX_RESIDENT_KB


@pytest.mark.parametrize("name", HOSTILE)
def test_the_server_says_it_and_goes_on_answering(tmp_path: Path, name: str) -> None:
    make, source, word = HOSTILE[name]
    user_home = tmp_path / "user"
    user_home.mkdir()
    make(user_home)
    with Serving(tmp_path / "home", HOME=str(user_home)) as server:
        began, waits = time.monotonic(), []
        found = [one for one in server.get("/api/sources").json() if one["source"] == source]
        assert found, "it is not even listed"
        body = {"source": source, "home": found[0]["home"]}
        answer = server.client.post(f"/api/plugins/{quote('dashboard')}/import", json=body)
        assert answer.status_code == 202, answer.text
        while (state := server.get("/api/plugins/dashboard/import").json())["running"]:
            assert time.monotonic() - began < MAX_SECONDS, f"the import of {name} hangs"
            asked = time.monotonic()
            assert server.get("/healthz").status_code == 200
            waits.append(time.monotonic() - asked)
            time.sleep(0.01)
        assert word in json.dumps(state), state
        assert max(waits, default=0) < 2, f"/healthz waited {max(waits):.1f} seconds"
