"""A library in a shared store: one record for each template, so that several machines use the same ones."""

from __future__ import annotations

from dataclasses import replace

from sojourn.core.errors import BadInput, Conflict
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Record, RecordStore
from sojourn.templates.library import (
    About,
    Library,
    LibraryContents,
    NoteKind,
    Step,
    StoredTemplate,
    Unreadable,
    sort_newest_first,
    to_conflict,
    to_not_found,
)
from sojourn.templates.model import SessionTemplate, check_file_name, check_name

KIND = "template"
_PAGE_RECORDS = 500  # read at once


class RecordLibrary(Library):
    """Library over records. A change is a compare-and-swap, repeated after a conflict."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    async def all(self) -> LibraryContents:
        stored: list[StoredTemplate] = []
        unreadable: list[Unreadable] = []
        for record in await self._list_records(KIND):
            try:
                stored.append(_to_stored(record))
            except BadInput as error:
                unreadable.append(Unreadable(record.key, str(error)))
        return LibraryContents(sort_newest_first(stored), tuple(unreadable))

    async def _list_records(self, kind: str) -> list[Record]:
        found: list[Record] = []
        while page := await self._store.list_records(kind, after=found[-1].key if found else "", limit=_PAGE_RECORDS):
            found += page
        return found

    async def get(self, name: str) -> StoredTemplate:
        return _to_stored(await self._get_record(check_file_name(name)))

    async def _get_record(self, name: str) -> Record:
        record = await self._store.get_record(KIND, name)
        if record is None:
            raise to_not_found(name)
        return record

    async def save(self, stored: StoredTemplate, *, replace: bool = False) -> None:
        record = Record(kind=KIND, key=check_name(stored.template.name), value=_to_value(stored))
        try:
            await self._store.put_record(record, expect=None if replace else 0)
        except Conflict as error:
            raise to_conflict(record.key) from error

    async def delete(self, name: str) -> bool:
        return await self._store.delete_record(KIND, check_file_name(name))

    async def change(self, name: str, step: Step) -> StoredTemplate:
        while True:
            record = await self._get_record(check_file_name(name))
            new = step(_to_stored(record))
            if new.template.name != name:
                await self.save(new)
                await self.delete(name)
                return new
            try:
                await self._store.put_record(replace(record, value=_to_value(new)), expect=record.revision)
            except Conflict:
                continue
            return new

    async def notes(self, kind: NoteKind) -> dict[str, Json]:
        return {record.key: record.value for record in await self._list_records(f"{KIND}-{kind}")}

    async def read_note(self, kind: NoteKind, key: str) -> Json | None:
        record = await self._store.get_record(f"{KIND}-{kind}", key)
        return None if record is None else record.value

    async def note(self, kind: NoteKind, key: str, value: Json | None) -> None:
        if value is None:
            await self._store.delete_record(f"{KIND}-{kind}", key)
        else:  # what a session taught goes when the session goes
            session = SessionId(key) if kind == "outcome" else None
            await self._store.put_record(Record(kind=f"{KIND}-{kind}", key=key, value=value, session=session))


def _to_value(stored: StoredTemplate) -> dict[str, Json]:
    return {"template": stored.template.to_dict(), "about": stored.about.to_dict()}


def _to_stored(record: Record) -> StoredTemplate:
    value = record.value if isinstance(record.value, dict) else {}
    template = SessionTemplate.from_dict(value.get("template"))
    template.name = record.key
    return StoredTemplate(template, About.from_dict(value.get("about")))
