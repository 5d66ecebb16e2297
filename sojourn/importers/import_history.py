"""Import: reads another program's history into the store, each session once, resuming where it stopped."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from sojourn.core.errors import SojournError, SourceUnreadable
from sojourn.core.sessions import OWNER, Principal
from sojourn.core.settings import Settings
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory, HistoryReader, Importer, SessionEntry, Transcript
from sojourn.ports.store_admin import Ingest, Ingested, Progress

_BATCH_BYTES = 2_000_000  # a transaction holds about this much text, so that no other writer waits long
_BATCH_SESSIONS = 50
_Batch = tuple[list[tuple[str, Transcript]], int]  # sessions with their fingerprints, and how many were read for it
FORGOTTEN = "it was forgotten here"


@dataclass
class _Counts:
    """The counts of a running import, named as in its report."""

    found: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    new_messages: int = 0
    removed_upstream: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, one: Ingested) -> None:
        if one.outcome == "forgotten":
            self.skipped.append((one.native_id, one.note))
        elif one.outcome == "imported":
            self.imported += 1
        elif one.outcome == "updated" and (one.new_messages or one.changed_messages):
            self.updated += 1
        else:
            self.unchanged += 1
        self.new_messages += one.new_messages
        self.removed_upstream += one.removed_upstream
        if one.note and one.outcome != "forgotten":
            self.notes.append(f"{one.native_id}: {one.note}")


def get_machine(settings: Settings) -> str | None:
    """The label of this machine on what it imports."""
    return str(settings["import.machine"]).strip() or platform.node() or None


async def import_history(
    store: Ingest,
    source: Importer,
    found: FoundHistory,
    *,
    dry_run: bool = False,
    principal: Principal = OWNER,
    progress: Progress | None = None,
    machine: str | None = None,
) -> ImportReport:
    """Imports one history; a dry run reports what would happen and writes nothing.

    machine: the label of this machine, for sessions that say no other
    """
    begun, counts = time.monotonic(), _Counts()
    home = getattr(source, "store_home", "") or str(found.home)  # under which its sessions are known
    problem = found.problem
    if not problem:
        try:
            with source.open(found.home) as reader:
                listed = await asyncio.to_thread(_list_sessions, reader)
                counts.found = len(listed)
                todo = _select_changed(listed, await store.list_fingerprints(source.name, home), counts)
                forgotten = await store.list_forgotten(source.name, home, [one.native_id for one in todo])
                counts.skipped += [(one.native_id, FORGOTTEN) for one in todo if one.native_id in forgotten]
                todo = [one for one in todo if one.native_id not in forgotten]
                if dry_run:
                    counts.imported, todo = len(todo), []
                done = 0
                async with aclosing(_read_ahead(_batches(reader, todo, counts, machine))) as batches:
                    async for batch, read in batches:
                        for one in await store.ingest(source.name, home, batch, principal=principal):
                            counts.add(one)
                        done += read
                        if progress:
                            progress("importing sessions", done, len(todo))
        except SourceUnreadable as error:
            problem = str(error)
    if not dry_run and (counts.imported or counts.updated):
        await store.index((lambda done, of: progress("making searchable", done, of)) if progress else None)
    return ImportReport(
        source=source.name,
        home=str(found.home),
        **vars(counts) | {"skipped": tuple(counts.skipped), "notes": tuple(counts.notes)},
        problem=problem,
        dry_run=dry_run,
        seconds=time.monotonic() - begun,
    )


async def _read_ahead(batches: Iterator[_Batch]) -> AsyncGenerator[_Batch, None]:
    """Yields batches; while one is stored, the next one is read. Ends only when nothing reads any more."""
    upcoming = asyncio.create_task(asyncio.to_thread(next, batches, None))
    try:
        while (found := await asyncio.shield(upcoming)) is not None:
            upcoming = asyncio.create_task(asyncio.to_thread(next, batches, None))
            yield found
    finally:
        await asyncio.gather(upcoming, return_exceptions=True)


def _list_sessions(reader: HistoryReader) -> list[SessionEntry]:
    return list(reader.sessions())


def _select_changed(listed: list[SessionEntry], known: dict[str, str], counts: _Counts) -> list[SessionEntry]:
    """Selects new and changed sessions; counts the others."""
    todo: list[SessionEntry] = []
    for one in listed:
        if one.problem:
            counts.skipped.append((one.native_id, one.problem))
        elif known.get(one.native_id) == one.fingerprint:
            counts.unchanged += 1
        else:
            todo.append(one)
    return todo


def _batches(reader: HistoryReader, todo: list[SessionEntry], counts: _Counts, machine: str | None) -> Iterator[_Batch]:
    """Yields batches of whole sessions; reports an unreadable one and goes on."""
    batch: list[tuple[str, Transcript]] = []
    size = read = 0
    for one in todo:
        read += 1
        try:
            found = reader.read(one.native_id)
        except SojournError as error:
            counts.skipped.append((one.native_id, str(error)))
            continue
        counts.notes += [f"{one.native_id}: {warning}" for warning in found.warnings]
        batch.append((one.fingerprint, replace(found, fields={"machine": machine, **found.fields})))
        size += sum(len(message.content or "") + len(message.tool_calls or "") for message in found.messages)
        if size > _BATCH_BYTES or len(batch) >= _BATCH_SESSIONS:
            yield batch, read
            batch, size, read = [], 0, 0
    if batch or read:
        yield batch, read
