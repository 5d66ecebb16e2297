"""`sojourn continue`: what exists is never touched, and a failure leaves nothing behind."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.continuation.targets import TARGETS
from sojourn.continuation.writer import ContinuationWriter
from sojourn.core.errors import BadInput, Conflict, MissingPackage, NotFound, SourceUnreadable
from sojourn.core.messages import Message
from tests.integration.continuation.continued_session import MESSAGES, make_session

FILES = [name for name in TARGETS if name not in ("opencode", "hermes")]


@pytest.fixture
async def app(tmp_path):
    environment = {"HOME": str(tmp_path / "ann"), "SOJOURN_HOME": str(tmp_path / "ours")}
    (tmp_path / "ann").mkdir()
    app = App(config.load({"memory.embedder": "none"}, environment))
    yield app
    await app.close()


@pytest.fixture
async def session(app, tmp_path):
    return await make_session(app, tmp_path)


@pytest.fixture
def writer(app):
    return ContinuationWriter(app)


def list_files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def append(path, record):
    with path.open("a") as opened:
        opened.write(json.dumps(record) + "\n")


@pytest.mark.parametrize("name", FILES)
async def test_undo_leaves_a_home_as_it_was(name, app, writer, session, tmp_path):
    before = list_files(tmp_path / "ann")
    plan = await writer.plan(session, name)
    assert list_files(tmp_path / "ann") == before, "a plan writes nothing"
    await writer.write(plan)
    assert set(list_files(tmp_path / "ann")) == set(plan.native.files)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in plan.native.files)
    await writer.undo(session)
    assert list_files(tmp_path / "ann") == before
    with pytest.raises(NotFound):
        await writer.undo(session)


async def test_what_was_added_since_is_never_removed(app, writer, session, tmp_path):
    plan = await writer.plan(session, "claude")
    await writer.write(plan)
    (path,) = plan.native.files
    said = {"role": "user", "content": "and now this"}
    append(path, {"type": "user", "uuid": "n1", "timestamp": "2026-11-19T00:00:00Z", "message": said})
    with pytest.raises(Conflict, match="and now this"):
        await writer.undo(session)
    for found in app.find_histories():
        await app.import_history(found)
    rows = [row.item async for row in app.store.read(session.id, messages_only=True)]
    assert [one.content for one in rows if isinstance(one, Message)][len(MESSAGES) :] == ["and now this"]


async def test_a_file_that_was_changed_or_cannot_be_read_is_not_removed(writer, session):
    plan = await writer.plan(session, "codex")
    await writer.write(plan)
    (path,) = plan.native.files
    append(path, {"type": "event_msg", "payload": {"type": "token_count"}})
    with pytest.raises(Conflict, match="was changed"):
        await writer.undo(session)
    assert path.exists()


async def test_a_file_that_is_there_is_not_replaced_and_nothing_else_stays(writer, session, tmp_path):
    plan = await writer.plan(session, "gemini")
    first, marker = plan.native.files
    marker.parent.mkdir(parents=True)
    marker.write_text("mine")
    with pytest.raises(SourceUnreadable):
        await writer.write(plan)
    assert marker.read_text() == "mine"
    assert not first.exists()


async def test_a_folder_that_is_not_here_is_asked_for(writer, app, tmp_path):
    session = await app.store.create(cwd="/no/such/folder")
    with pytest.raises(BadInput, match="Nothing was said"):
        await writer.plan(session, "claude")
    session = await make_session(app, Path("/no/such/folder"))
    with pytest.raises(BadInput, match="no folder /no/such/folder"):
        await writer.plan(session, "claude")
    plan = await writer.plan(session, "claude", tmp_path)
    assert plan.native.folder == str(tmp_path)


async def test_a_project_list_of_gemini_cannot_lead_out_of_its_home(writer, session, tmp_path):
    home = tmp_path / "ann" / ".gemini"
    home.mkdir()
    (home / "projects.json").write_text(json.dumps({"projects": {str(tmp_path): "../../../elsewhere"}}))
    plan = await writer.plan(session, "gemini")
    assert all(home / "tmp" in path.parents for path in plan.native.files)


@pytest.mark.parametrize(("script", "error"), [(None, MissingPackage), ("exit 3", SourceUnreadable)])
async def test_a_program_that_does_not_take_the_file_leaves_nothing(
    script, error, writer, session, tmp_path, monkeypatch
):
    programs = tmp_path / "bin"
    programs.mkdir()
    if script:
        (programs / "opencode").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "opencode").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{Path(sys.executable).parent}:/bin")
    plan = await writer.plan(session, "opencode")
    with pytest.raises(error):
        await writer.write(plan)
    assert not any(path.exists() for path in plan.native.files)
    assert await writer.list_written(session) == []


_STAND_IN = """#!/bin/sh
said='"message": {"role": "user", "content": "on"}'
record='{"type": "user", "uuid": "n1", "timestamp": "2026-11-19T00:00:00Z", '"$said"'}'
for file in "$HOME"/.claude/projects/*/"$2".jsonl; do echo "$record" >> "$file"; done
exit 3
"""


async def test_run_starts_the_program_and_brings_back_what_was_said(app, session, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text(_STAND_IN)
    (programs / "claude").chmod(0o755)
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path / "ann"),
        "SOJOURN_HOME": str(tmp_path / "ours"),
    }
    command = [Path(sys.executable).with_name("sojourn"), "continue", session.id, "--in", "claude", "--run"]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert "asks for confirmation" in refused.stderr
    assert not (tmp_path / "ann" / ".claude").exists()
    done = subprocess.run([*command, "--yes"], env=environment, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    rows = [row.item async for row in app.store.read(session.id, messages_only=True)]
    assert [one.content for one in rows if isinstance(one, Message)][len(MESSAGES) :] == ["on"]
