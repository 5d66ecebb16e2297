"""Brings foreign histories in: what is new, exactly once, and again from where it stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from sojourn.core.errors import SojournError, SourceUnreadable
from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.admin import Progress
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory, HistoryReader, Importer, SessionEntry, Transcript
from sojourn.ports.ingest import Ingest, Ingested

_BATCH_BYTES = 2_000_000  # a transaction holds about this much text, so that no other writer waits long
_BATCH_SESSIONS = 50
FORGOTTEN = "it was forgotten here"


@dataclass(slots=True)
class _Tally:
    """The report while it is being made."""

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


async def rescue(
    store: Ingest,
    source: Importer,
    found: FoundHistory,
    *,
    dry_run: bool = False,
    principal: Principal = OWNER,
    progress: Progress | None = None,
) -> ImportReport:
    """Imports one history; a dry run says what would happen and writes nothing."""
    begun, home, tally = time.monotonic(), str(found.home), _Tally()
    problem = found.problem
    if not problem:
        try:
            with source.open(found.home) as reader:
                listed = list(reader.sessions())
                tally.found = len(listed)
                todo = _to_read(listed, await store.known(source.name, home), tally)
                away = await store.forgotten(source.name, home, [one.native_id for one in todo])
                tally.skipped += [(one.native_id, FORGOTTEN) for one in todo if one.native_id in away]
                todo = [one for one in todo if one.native_id not in away]
                if dry_run:
                    tally.imported = len(todo)
                else:
                    await _bring(store, source.name, home, reader, todo, principal, tally, progress)
        except SourceUnreadable as error:
            problem = str(error)
    if not dry_run and (tally.imported or tally.updated):
        await store.index((lambda done, of: progress("making searchable", done, of)) if progress else None)
    return ImportReport(
        source=source.name,
        home=home,
        found=tally.found,
        imported=tally.imported,
        updated=tally.updated,
        unchanged=tally.unchanged,
        skipped=tuple(tally.skipped),
        new_messages=tally.new_messages,
        removed_upstream=tally.removed_upstream,
        notes=tuple(tally.notes),
        problem=problem,
        dry_run=dry_run,
        seconds=time.monotonic() - begun,
    )


def _to_read(listed: list[SessionEntry], known: dict[str, str], tally: _Tally) -> list[SessionEntry]:
    """Sessions that are new or changed; the others are counted."""
    todo: list[SessionEntry] = []
    for one in listed:
        if one.problem:
            tally.skipped.append((one.native_id, one.problem))
        elif known.get(one.native_id) == one.fingerprint:
            tally.unchanged += 1
        else:
            todo.append(one)
    return todo


async def _bring(
    store: Ingest,
    source: str,
    home: str,
    reader: HistoryReader,
    todo: list[SessionEntry],
    principal: Principal,
    tally: _Tally,
    progress: Progress | None,
) -> None:
    done = 0
    for batch, read in _batches(reader, todo, tally):
        for one in await store.ingest(source, home, batch, principal=principal):
            tally.add(one)
        done += read
        if progress:
            progress("importing sessions", done, len(todo))


def _batches(
    reader: HistoryReader, todo: list[SessionEntry], tally: _Tally
) -> Iterator[tuple[list[tuple[str, Transcript]], int]]:
    """Whole sessions in bites; one that cannot be read is reported and does not hide the others."""
    batch: list[tuple[str, Transcript]] = []
    size = read = 0
    for one in todo:
        read += 1
        try:
            found = reader.read(one.native_id)
        except SojournError as error:
            tally.skipped.append((one.native_id, str(error)))
            continue
        tally.notes += [f"{one.native_id}: {warning}" for warning in found.warnings]
        batch.append((one.fingerprint, found))
        size += sum(len(message.content or "") + len(message.tool_calls or "") for message in found.messages)
        if size > _BATCH_BYTES or len(batch) >= _BATCH_SESSIONS:
            yield batch, read
            batch, size, read = [], 0, 0
    if batch or read:
        yield batch, read
