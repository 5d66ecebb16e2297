"""Our own export: whatever a store holds arrives in another store as it was."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.attachments import Attachment, user_message
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import SessionId
from sojourn.importers.import_history import import_history
from sojourn.importers.sojourn_export import SojournImporter
from sojourn.ports.app import ImportReport
from sojourn.ports.store import Listing, Store
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.importer_contract import ImporterContract, ImporterHistory
from sojourn.testing.store_steps import ODD, begin, say
from sojourn.text.jsonl_export import list_files, render_file, to_jsonl
from tests.servers.store import temporary_store

# What belongs to the store that a session is in, and not to the session.
LOCAL = ("revision", "driver", "last_seq", "handoff_state", "handoff_platform", "handoff_error")
PICTURE = b"\x89PNG" + bytes(range(256))
CALL = ToolCall(id="c1", name="shell", arguments='{"command":"ls" }')


@pytest.fixture
async def stores() -> AsyncIterator[tuple[Store, Store]]:
    both = temporary_store(redactor=str), temporary_store(redactor=str)
    yield both
    for one in both:
        await one.close()


async def fill(store: Store) -> dict[str, SessionId]:
    """Sessions with everything that is hard to write down and read again."""
    first = await begin(
        store,
        "Hello",
        Message(role="assistant", content=None, tool_calls='[{"id":"c1","name":"shell","arguments":{"a":  1}}]'),
        tool_result(CALL, "a\nb", effect_disposition="none"),
        assistant("Done.", [CALL], reasoning="hm", reasoning_details='[{"b":1,  "a":2}]', extra='"just a text"'),
        title="The first one",
        details={"system_prompt": "Be kind.", "git_branch": "main"},
    )
    await say(store, first, user(ODD), Message(role="user", content='[{"type":  "text","text":"x"}]', structured=True))
    old = await store.get(first)
    await store.change(old, replace(old, tags=("later", "work"), pinned=True))
    hash = await store.put_blob(first, PICTURE, media_type="image/png", name="a.png")
    await say(
        store, first, user_message("see", (Attachment(hash=hash, media_type="image/png", name="a.png", size=260),))
    )
    child = await begin(store, "Look into it", source="subagent", parent=first)
    return {"first": first, "child": child}


async def export(store: Store, path: Path, *, only: str = "") -> list[dict[str, Any]]:
    """Writes an export as the command does; returns its sessions without what is local."""
    lines: list[str] = []
    for found in await store.find(Listing(archived=None, limit=1000)):
        if only in ("", found.id):
            session, rows = await store.get(found.id), [row async for row in store.read(found.id, messages_only=True)]
            lines += to_jsonl(session, rows)
            for one in list_files(rows):
                lines.append(render_file(session, one, *await store.get_blob(session.id, one.hash)))
    path.write_text("".join(lines), "utf-8")
    shapes = sorted((json.loads(line) for line in lines), key=lambda shape: str(shape.get("id")))
    for shape in shapes:
        for name in LOCAL:
            shape.pop(name, None)
        for name in ("source_home", "source_id"):
            shape.get("details", {}).pop(name, None)
    return shapes


async def bring(store: Store, path: Path) -> ImportReport:
    found = SojournImporter().claims(path)
    assert found is not None
    return await import_history(store, SojournImporter(), found)


async def test_what_is_exported_arrives_as_it_was(stores: tuple[Store, Store], tmp_path: Path) -> None:
    here, there = stores
    await fill(here)
    before = await export(here, tmp_path / "one.jsonl")
    report = await bring(there, tmp_path / "one.jsonl")
    assert (report.found, report.imported, report.skipped, report.notes) == (2, 2, (), ())
    assert await export(there, tmp_path / "two.jsonl") == before
    assert (await there.verify()).clean


async def test_a_later_export_brings_only_what_is_new(stores: tuple[Store, Store], tmp_path: Path) -> None:
    here, there = stores
    made = await fill(here)
    await export(here, tmp_path / "one.jsonl")
    await bring(there, tmp_path / "one.jsonl")
    await say(here, made["first"], "One more thing")
    before = await export(here, tmp_path / "later.jsonl")
    report = await bring(there, tmp_path / "later.jsonl")
    assert (report.imported, report.updated, report.unchanged, report.new_messages) == (0, 1, 1, 1)
    assert [one["messages"] for one in await export(there, tmp_path / "two.jsonl") if "messages" in one] == [
        one["messages"] for one in before if "messages" in one
    ]


async def test_a_session_that_is_here_already_stays_as_it_is(stores: tuple[Store, Store], tmp_path: Path) -> None:
    here, _ = stores
    await fill(here)
    before = await export(here, tmp_path / "one.jsonl")
    report = await bring(here, tmp_path / "one.jsonl")
    assert (report.imported, report.unchanged) == (0, 2)
    assert all("here already" in note for note in report.notes)
    assert await export(here, tmp_path / "two.jsonl") == before


async def test_copies_of_a_session_that_did_not_come_are_found(stores: tuple[Store, Store], tmp_path: Path) -> None:
    here, there = stores
    made = await fill(here)
    branch = await here.branch(made["first"], 1, source="cli")
    assert branch.copied == 1
    await export(here, tmp_path / "one.jsonl", only=branch.id)
    await bring(there, tmp_path / "one.jsonl")
    assert (await there.get(branch.id)).copied == 0
    await export(here, tmp_path / "all.jsonl")
    third = temporary_store(redactor=str)
    await bring(third, tmp_path / "all.jsonl")
    assert (await third.get(branch.id)).copied == 1
    await third.close()


async def test_a_file_that_was_changed_on_the_way_is_left_out_and_told(
    stores: tuple[Store, Store], tmp_path: Path
) -> None:
    here, there = stores
    await fill(here)
    await export(here, tmp_path / "one.jsonl")
    text = (tmp_path / "one.jsonl").read_text("utf-8")
    (tmp_path / "one.jsonl").write_text(
        text.replace('"data": "iVBO', '"data": "AAAA').replace('"data": "iV', '"data": "AA')
    )
    report = await bring(there, tmp_path / "one.jsonl")
    assert report.imported == 2
    assert any("damaged" in note for note in report.notes)


def line(number: int, *texts: str) -> str:
    said = [
        {"id": f"s{number}:{at}", "seq": at, "role": "user" if at % 2 else "assistant", "content": text,
         "timestamp": "2026-01-01T00:00:00.000Z", "active": True, "compacted": False}
        for at, text in enumerate(texts, 1)
    ]  # fmt: skip
    head: dict[str, Any] = {
        "id": f"s{number}",
        "source": "cli",
        "driver": None,
        "last_seq": 2,
        "copied": 0,
        "details": {},
    }
    return json.dumps({**head, "started_at": f"2026-01-0{number}T00:00:00.000Z", "messages": said}) + "\n"


class TestExport(ImporterContract):
    @pytest.fixture
    def history(self, tmp_path: Path) -> ImporterHistory:
        path = tmp_path / "alex" / "history.jsonl"
        path.parent.mkdir()
        path.write_text("".join(line(number, "Hello", "Hi.") for number in (1, 2, 3)))

        def grow() -> int:
            path.write_text(line(1, "Hello", "Hi.") + line(2, "Hello", "Hi.") + line(3, "Hello", "Hi.", "And?", "Yes."))
            return 2

        def spoil() -> str:
            path.write_text(line(1, "Hello", "Hi.") + line(2, "Hello")[:90] + "\n" + line(3, "Hello", "Hi."))
            return "line 2"

        return ImporterHistory(
            importer=SojournImporter(),
            user_home=path.parent,
            sessions=3,
            roles={"user": 3, "assistant": 3},
            grow=grow,
            spoil=spoil,
            named=path,
        )

    @pytest.fixture
    async def store(self) -> AsyncIterator[SqliteStore]:
        store = temporary_store(redactor=str)
        yield store
        await store.close()

    @pytest.fixture
    def import_history(self) -> Any:
        return import_history
