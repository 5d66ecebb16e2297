"""Forgotten is forgotten: a byte search over the whole home finds nothing."""

import gzip
import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.context.facts import FactRecords
from sojourn.core.errors import Forgotten, NotFound
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Listing, SearchQuery

CANARY = "quokkacanary"
SOJOURN = Path(sys.executable).with_name("sojourn")


def places(home: Path, *words: str) -> list[str]:
    """The files under a home that hold one of the words, in any case, also inside gzip."""
    found = []
    for file in (path for path in home.rglob("*") if path.is_file()):
        data = file.read_bytes()
        data += gzip.decompress(data) if data[:2] == b"\x1f\x8b" else b""
        found += [str(file.relative_to(home)) for word in words if word.encode().lower() in data.lower()]
    return found


async def filled(home: Path) -> tuple[App, SessionId]:
    """A home in which one session, and only it, speaks of the canary; in every way it can."""
    app = App(config.load({"home": str(home)}))
    store = app.store
    other = await store.create(title="harmless")
    lease = await store.lease(other.id, holder="test", surface="cli")
    await store.append(lease, [user(f"nothing to see {number}") for number in range(300)])
    transcript = Transcript(
        native_id=f"{CANARY}-native",
        fields={"source": "cli", "started_at": 1.0, "system_prompt": f"You are {CANARY}.", "cwd": f"/{CANARY}"},
        messages=[user(f"the {CANARY} sings")],
        records=[("note", json.dumps({"bird": CANARY}))],
    )
    [brought] = await store.ingest("test", "/somewhere", [("1", transcript)], principal=OWNER)
    assert brought.session
    session = await store.get(brought.session)
    session = await store.change(session, replace(session, title=f"About {CANARY}", tags=(CANARY,)))
    lease = await store.lease(session.id, holder=CANARY, surface="cli")
    call = ToolCall(id="c1", name=CANARY, arguments=json.dumps({"path": CANARY}))
    shown: list[Any] = [assistant(CANARY.upper(), [call]), tool_result(call, CANARY * 3000), Chunk(CANARY), Done()]
    await store.append(lease, shown)
    await store.send_control(session.id, "steer", {"to": CANARY}, by=CANARY)
    await store.put_blob(session.id, CANARY.encode() * 50, media_type="text/plain", name=CANARY)
    child = await store.create(source="subagent", parent=session.id, title=f"{CANARY} child")
    child_lease = await store.lease(child.id, holder="test", surface="cli")
    await store.append(child_lease, [user(f"{CANARY} in a sub-agent")])
    for one in (lease, child_lease):
        await store.renew(one, 0)
    await store.index()
    (home / "logs").mkdir()
    (home / "logs" / "bug-1.log").write_text(f"Traceback … {CANARY}")
    return app, session.id


async def test_a_byte_search_over_the_whole_home_finds_nothing(home: Path) -> None:
    app, session = await filled(home)
    await app.close()
    assert "state.db" in places(home, CANARY), "the canary was there to begin with"
    app = App(config.load({"home": str(home)}))
    removed = await app.forget(session)
    assert removed.rows["messages"] == 4
    assert removed.rows["sessions"] == 2, "its sub-agent went with it"
    assert removed.remaining == ()
    await app.close()
    assert places(home, CANARY, session) == []


async def test_what_plugins_counted_of_it_goes_too(home: Path) -> None:
    app, session = await filled(home)
    await app.close()
    subprocess.run([SOJOURN, "achievements", "--json"], check=True, capture_output=True)
    assert any(place.startswith("plugins/") for place in places(home, session)), "the scan knows the session"
    app = App(config.load({"home": str(home)}))
    await app.forget(session)
    await app.close()
    assert places(home, CANARY, session) == []


async def test_what_plugins_counted_of_its_sub_agents_goes_too(home: Path) -> None:
    app, session = await filled(home)
    [child] = await app.store.find(Listing(parent=session))
    await app.close()
    subprocess.run([SOJOURN, "achievements", "--json"], check=True, capture_output=True)
    assert places(home, child.id) != ["state.db"], "the scan knows the sub-agent"
    app = App(config.load({"home": str(home)}))
    await app.forget(session)
    await app.close()
    assert places(home, child.id) == []


async def test_a_fact_that_was_said_in_it_goes_too(home: Path) -> None:
    app, session = await filled(home)
    facts = FactRecords(app)
    await facts.add_fact(f"the {CANARY} is blue", source_session=session)
    kept = await facts.add_fact("grass is green")
    await app.forget(session)
    assert await facts.list_facts() == [kept]
    await app.close()
    assert places(home, CANARY, session) == []


async def test_every_kind_of_copy_under_the_home_is_listed_and_purged(home: Path) -> None:
    app, session = await filled(home)
    (home / "backups").mkdir()
    for place in ("beside.sqlite", "backups/old.sqlite3", "state.db.before-restore-1"):
        await app.store.backup(home / place)
    for place in (".state.db.restored", "backups/.half.db.part"):  # what a killed process leaves
        (home / place).write_text(CANARY)
    (home / "notes.txt").write_text("mine")
    removed = await app.forget(session, purge_backups=True)
    await app.close()
    assert len(removed.files) >= 5
    assert removed.backups == ()
    assert places(home, CANARY) == []
    assert (home / "notes.txt").exists()


async def test_copies_are_listed_and_purged_only_when_asked(home: Path) -> None:
    app, session = await filled(home)
    copy = await app.store.backup(home / "backups" / "yesterday.db")
    removed = await app.forget(session)
    assert removed.backups == (str(copy),)
    assert places(home, CANARY) == ["backups/yesterday.db"]
    app.purge(removed)
    await app.close()
    assert places(home, CANARY) == []


async def test_neither_an_import_nor_a_new_session_brings_it_back(home: Path) -> None:
    app, session = await filled(home)
    await app.forget(session)
    again = Transcript(native_id=f"{CANARY}-native", fields={"started_at": 2.0}, messages=[user("back again")])
    [outcome] = await app.store.ingest("test", "/somewhere", [("2", again)], principal=OWNER)
    assert outcome.outcome == "forgotten"
    with pytest.raises(Forgotten):
        await app.store.create(id=session)
    with pytest.raises(NotFound):
        await app.store.get(session)
    assert await app.store.search(SearchQuery(text=CANARY)) == []
    assert len(await app.store.search(SearchQuery(text="nothing to see", limit=400))) == 300, (
        "the others are still found"
    )
    assert (await app.store.verify()).clean
    await app.close()


async def test_it_works_from_the_command_line_while_another_process_has_the_store_open(home: Path) -> None:
    app, session = await filled(home)
    watching = app.store.watch(session)
    await anext(watching)
    done = subprocess.run([SOJOURN, "sessions", "forget", session, "--yes", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    removed = json.loads(done.stdout)
    await watching.aclose()
    await app.close()
    if not removed["left"]:
        assert places(home, CANARY) == []
    connection = sqlite3.connect(home / "state.db")
    assert connection.execute("SELECT count(*) FROM messages").fetchone() == (300,)
    connection.close()
    assert places(home, CANARY) == []
