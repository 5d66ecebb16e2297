"""`sojourn rescue claude`: what is left of deleted sessions, as Claude Code 2.1.327 leaves it."""

import asyncio
import hashlib
import json
import os

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.cli.context import CommandContext
from sojourn.cli.entry import start
from sojourn.core.messages import Message
from sojourn.plugins import Registry
from sojourn.ports.store import Listing

GONE, LIVING, FILES = (f"{n * 8}-{n * 4}-4{n * 3}-8{n * 3}-{n * 12}" for n in "123")
AT = 1_790_000_000


def write(path, text, at=AT):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at, at))


@pytest.fixture
def claude(tmp_path):
    """A folder of Claude Code: one session is still there, of two others only remains are."""
    home, project = tmp_path / ".claude", tmp_path / "garden"
    write(project / "notes.txt", "Buy oat milk.\n")
    prompts = [
        {"display": "Change the notes", "timestamp": AT * 1000, "project": str(project), "sessionId": GONE},
        {"display": "I live", "timestamp": AT * 1000, "project": str(project), "sessionId": LIVING},
        {"display": "See [Pasted text #1]", "timestamp": (AT + 20) * 1000, "project": str(project), "sessionId": GONE,
         "pastedContents": {"1": {"id": 1, "type": "text", "content": "a pasted line"}}},
        {"display": "Older than sessions", "timestamp": AT, "project": str(project)},
    ]  # fmt: skip
    write(home / "history.jsonl", "".join(json.dumps(one) + "\n" for one in prompts) + '{"half')
    hash = hashlib.sha256(str(project / "notes.txt").encode()).hexdigest()[:16]
    write(home / f"file-history/{GONE}/{hash}@v1", "Buy milk.\n", AT + 10)
    write(home / f"file-history/{FILES}/{'0' * 16}@v2", "nobody knows my name", AT + 10)
    write(home / f"tasks/{GONE}/1.json", json.dumps({"id": "1", "subject": "Plan it", "status": "pending"}), AT + 30)
    line = {"type": "user", "uuid": "u1", "sessionId": LIVING, "timestamp": "2026-09-01T00:00:00Z", "cwd": str(project)}
    line["message"] = {"role": "user", "content": "I live"}
    write(home / f"projects/-garden/{LIVING}.jsonl", json.dumps(line) + "\n")
    return home


@pytest.fixture
def run(claude, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SOJOURN_MEMORY_EMBEDDER", "none")

    def call(*words):
        given = CommandContext(
            build=lambda flags: App(config.load(flags)), read_settings=config.load, plugins=Registry()
        )
        assert start(["--home", str(tmp_path / "own"), *words], given) == 0
        return capsys.readouterr().out

    return call


async def read_all(tmp_path):
    app = App(config.load({"home": str(tmp_path / "own"), "memory.embedder": "none"}))
    found = {}
    for session in await app.store.find(Listing(limit=50)):
        rows = app.store.read(session.id, messages_only=True)
        found[session.id] = (session, [row.item async for row in rows if isinstance(row.item, Message)])
    await app.close()
    return found


def test_a_dry_run_writes_nothing(run):
    assert "2 deleted sessions of Claude Code can be rebuilt" in run("rescue", "claude", "--dry-run")
    assert "2 deleted sessions" in run("rescue", "claude", "--dry-run")


def test_what_is_left_becomes_a_session_in_which_each_line_is_marked(run, claude, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in claude.rglob("*")}
    assert "2 deleted sessions of Claude Code rebuilt" in run("rescue", "claude", "--yes")
    assert {path: path.stat().st_mtime_ns for path in claude.rglob("*")} == before

    found = asyncio.run(read_all(tmp_path))
    assert sorted(found) == [f"{GONE}.rescued", f"{FILES}.rescued"]
    session, messages = found[f"{GONE}.rescued"]
    assert (session.title, session.program) == ("Change the notes (rescued)", "claude-code-rescue")
    assert all(one.content.startswith(("[certain] ", "[inferred] ")) for one in messages)
    assert [one.role for one in messages] == ["system", "user", "system", "user", "system"]
    texts = [one.content for one in messages]
    assert texts[1] == "[certain] Change the notes"
    assert str(tmp_path / "garden" / "notes.txt") in texts[2]
    assert texts[2].endswith("[certain] Its content:\nBuy milk.\n")
    assert texts[3].endswith("[certain] Pasted:\na pasted line")
    assert "- Plan it (pending)" in texts[4]
    assert "a file whose name is lost" in found[f"{FILES}.rescued"][1][1].content


def test_again_brings_only_what_is_new(run, claude):
    run("rescue", "claude", "--yes")
    assert "Nothing is left" in run("rescue", "claude", "--yes")
    write(claude / f"file-history/{GONE}/{'f' * 16}@v3", "newer", AT + 40)
    assert "1 deleted session" in run("rescue", "claude", "--yes")


def test_an_imported_session_is_kept_here_and_not_rebuilt_when_its_transcript_is_deleted(run, claude):
    run("import", "claude-code", "--yes")
    (claude / f"projects/-garden/{LIVING}.jsonl").unlink()
    run("rescue", "claude", "--yes")
    listed = [one["id"] for one in json.loads(run("sessions", "list", "--json"))]
    assert LIVING in listed
    assert f"{LIVING}.rescued" not in listed


def test_what_was_forgotten_stays_forgotten(run, claude):
    run("import", "claude-code", "--yes")
    run("sessions", "forget", LIVING, "--yes")
    (claude / f"projects/-garden/{LIVING}.jsonl").unlink()
    run("rescue", "claude", "--yes")
    assert LIVING not in run("sessions", "list", "--json")


def test_damaged_and_hostile_remains_are_left_out(run, claude):
    folder = claude / "file-history" / GONE
    os.mkfifo(folder / f"{'a' * 16}@v1")
    (folder / f"{'b' * 16}@v1").symlink_to("/dev/zero")
    (folder / f"{'c' * 16}@v1").write_bytes(b"\0" * 10)
    (folder / f"{'d' * 16}@v99999999").write_text("x")
    write(claude / "file-history/..evil/x@v1", "x")
    write(claude / f"tasks/{GONE}/2.json", "[" * 50_000)
    write(claude / f"todos/{GONE}-agent-{GONE}.json", '[{"content": 3}, null, {"content": "Real", "status": "done"}]')
    with (claude / "history.jsonl").open("ab") as file:
        file.write(b'\n\xff\xfe\n[1]\n{"sessionId": 7, "display": {}}\n{"sessionId": "../../x", "display": "y"}\n')
    assert "2 deleted sessions" in run("rescue", "claude", "--yes")
    assert "- Real (done)" in run("sessions", "show", f"{GONE}.rescued")
