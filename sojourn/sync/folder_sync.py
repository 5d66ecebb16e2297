"""FolderSync: one run of `sojourn sync`: writes what is new here, then reads what is new from each other machine."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, Conflict, NotDriving, NotFound, SessionBusy
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Session, SessionId
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing, Record
from sojourn.sync.bundles import BadBundle, Cursor, GroupKey, list_bundles, list_machines
from sojourn.sync.run_lease import hold_run
from sojourn.sync.session_merge import IncomingSession, SessionMerge
from sojourn.sync.session_path import hash_state, parse_step, root_of
from sojourn.sync.session_values import PathMap, SessionValues, parse_values
from sojourn.text.jsonl_export import encode_session, list_files, parse_session

_MACHINE, _FOLDER, _SENT = "sync_machine", "sync_folder", "sync_sent"
_PAGE_SESSIONS = 500
_BUNDLE_CHARS = 20_000_000  # what is collected before a bundle is written
_FORGOTTEN = "forgotten"
_HASH = re.compile("[0-9a-f]{64}")


@dataclass
class SyncReport:
    """What a run did. `waiting` and `refused` are lines for a person."""

    sent: int = 0
    received: int = 0
    messages: int = 0
    branches: list[str] = field(default_factory=list)
    forgotten: int = 0
    waiting: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


class FolderSync:
    """One home and one folder. Its state is in the store, so that a restored backup reads again what it has lost."""

    def __init__(self, app: AppContext, key: GroupKey, folder: Path, paths: Mapping[str, str]) -> None:
        self._app, self._store, self._key, self._folder = app, app.store, key, folder
        self._paths = PathMap(paths)
        self.report = SyncReport()

    async def run(self, *, as_new_machine: bool = False) -> SyncReport:
        """Conflict while another run works on the folder."""
        async with hold_run(self._store, self._key.group) as self._lease:
            if as_new_machine:
                await self._renew_machine()
            await self._open()
            await self._receive(self._machine)  # after a crash, or when the home was put back from a backup
            await self._send()
            for machine in list_machines(self._folder):
                await self._receive(machine)
            await self._forget_marked()
            await self._send()
        await self._store.index()
        self.report.received = len(self._merge.counts.sessions)
        self.report.messages = self._merge.counts.messages
        self.report.branches = list(self._merge.counts.branches)
        return self.report

    async def _open(self) -> None:
        record = await self._store.get_record(_MACHINE, "this")
        if record is None:
            record = await self._store.put_record(
                Record(kind=_MACHINE, key="this", value={"id": os.urandom(8).hex()}), expect=0
            )
        self._machine = str(record.value["id"])
        state = await self._store.get_record(_FOLDER, self._key.group)
        known = state.value if state else {}
        self._cursors = {name: Cursor(number=one[0], hash=one[1]) for name, one in known.get("cursors", {}).items()}
        self._changes, self._marks_sent = int(known.get("changes", 0)), set(known.get("marks", ()))
        values = SessionValues(self._store, self._machine, self._paths)
        self._values, self._merge = values, SessionMerge(self._store, values, holder=f"sync (pid {os.getpid()})")
        self._marks = await self._read_marks()
        self._check_own_lane()

    def _check_own_lane(self) -> None:
        """Copies of one home that are used side by side write other bundles under the same numbers. BadInput."""
        path = self._folder / self._machine / f"{self._own.number:08}.bundle"
        if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() != self._own.hash:
            raise BadInput(
                f"{path} is not what this home wrote: a copy of this home writes there too.",
                hint="`sojourn sync --new-machine FOLDER` goes on as a machine of its own; nothing is lost.",
            )

    @property
    def _own(self) -> Cursor:
        return self._cursors.get(self._machine, Cursor())

    async def _renew_machine(self) -> None:
        """Goes on as a machine that the folder does not know yet."""
        await self._store.put_record(Record(kind=_MACHINE, key="this", value={"id": os.urandom(8).hex()}))
        await self._store.delete_record(_FOLDER, self._key.group)

    async def _save(self) -> None:
        cursors = {name: [one.number, one.hash] for name, one in self._cursors.items()}
        value = {"cursors": cursors, "changes": self._changes, "marks": sorted(self._marks_sent)}
        await self._store.put_record(Record(kind=_FOLDER, key=self._key.group, value=value))

    # what is new here
    async def _send(self) -> None:
        upto = await self._store.last_change()
        entries: list[dict[str, Any]] = []
        sent: list[tuple[SessionId, str]] = []
        marks = self._marks = await self._read_marks()
        if new := sorted(marks - self._marks_sent):
            entries.append({"type": _FORGOTTEN, "hashes": new})
        size = 0
        async for session in self._list_changed():
            found = await self._encode(session)
            if found is None:
                continue
            entry, state = found
            entries.append(entry)
            sent.append((session.id, state))
            size += sum(len(one.get("content") or "") for one in entry["session"]["messages"])
            if size > _BUNDLE_CHARS:
                await self._write(entries, sent)
                entries, sent, size = [], [], 0
        await self._write(entries, sent)
        self._changes, self._marks_sent = upto, marks
        await self._save()

    async def _write(self, entries: list[dict[str, Any]], sent: list[tuple[SessionId, str]]) -> None:
        if not entries:
            return
        await self._lease.renew()
        try:
            cursor = self._key.write_bundle(self._folder, self._machine, self._own, entries)
        except OSError as error:
            raise BadInput(
                f"{self._folder} cannot be written: {error.strerror or error}.", hint="Nothing is lost; sync again."
            ) from error
        self._cursors[self._machine] = cursor
        await self._save()
        for session, state in sent:
            await self._remember(session, state)
        self.report.sent += len(sent)

    async def _remember(self, session: SessionId, state: str) -> None:
        key = f"{self._key.group}/{session}"
        try:
            await self._store.put_record(Record(kind=_SENT, key=key, value={"state": state}, session=session))
        except NotFound:  # deleted meanwhile
            return

    async def _list_changed(self) -> AsyncIterator[Session]:
        """The owner's sessions that changed since the last run; all of them in the first."""
        changed = {} if self._changes else dict.fromkeys(await self._list_ids())
        after = self._changes
        while after and (feed := await self._store.changes(after=after)):
            changed |= dict.fromkeys(one.session for one in feed if one.kind != "deleted" and one.session)
            after = feed[-1].n
        for session in changed:
            await self._lease.renew()
            found = await self._find(session)
            if found is not None and found.principal == OWNER:
                yield found

    async def _encode(self, session: Session) -> tuple[dict[str, Any], str] | None:
        """A session as an entry, and its state; None if the folder has it already."""
        path, values = await self._merge.read_path(session.id), await self._values.load(session)
        state = hash_state(path, values.to_json())
        record = await self._store.get_record(_SENT, f"{self._key.group}/{session.id}")
        if record is not None and record.value.get("state") == state:
            return None
        kept = {one.seq for one in path}
        rows = [row async for row in self._store.read(session.id, messages_only=True) if row.seq in kept]
        files = []
        for one in list_files(rows):
            try:
                data, media_type = await self._store.get_blob(session.id, one.hash)
            except NotFound:  # the message names a file that was never stored
                continue
            files.append({"name": one.name, "media_type": media_type, "data": base64.b64encode(data).decode()})
        shape = encode_session(session, rows)
        return {"type": "session", "session": shape, "values": values.to_json(), "files": files}, state

    # what is new elsewhere
    async def _receive(self, machine: str) -> None:
        """Reads the bundles of a machine in order, as far as they are there, whole and genuine."""
        bundles = list_bundles(self._folder, machine) if (self._folder / machine).is_dir() else {}
        last = self._cursors.get(machine, Cursor())
        while (number := last.number + 1) in bundles:
            try:
                cursor, entries = self._key.read_bundle(bundles[number], machine, last)
                for entry in entries:
                    await self._lease.renew()
                    await self._merge_entry(entry)
            except BadBundle as error:
                self.report.refused.append(f"{bundles[number]}: {error}. Nothing of it was taken; later ones wait.")
                return
            except (Conflict, NotDriving) as error:  # a turn runs, or a hand-off
                self.report.waiting.append(f"{bundles[number]}: {error}")
                return
            self._cursors[machine] = last = cursor
            await self._save()
        if bundles and max(bundles) > last.number:
            self.report.waiting.append(f"Bundle {last.number + 1} of machine {machine} is not here yet.")

    async def _merge_entry(self, entry: Mapping[str, Any]) -> None:
        if entry.get("type") == _FORGOTTEN:
            await self._add_marks(one for one in entry.get("hashes") or () if isinstance(one, str))
            return
        incoming = _parse_entry(entry)
        if incoming is None or self._is_forgotten(incoming.id):
            return
        await self._merge.merge(incoming)
        found = await self._find(incoming.id)
        if found is None:
            return
        theirs = hash_state(incoming.path, incoming.values.to_json())
        path, values = await self._merge.read_path(found.id), await self._values.load(found)
        if hash_state(path, values.to_json()) == theirs:
            await self._remember(found.id, theirs)  # the folder has it: it need not be sent again

    async def _find(self, session: SessionId) -> Session | None:
        try:
            return await self._store.get(session)
        except NotFound:
            return None

    # what was forgotten
    async def _read_marks(self) -> set[str]:
        found: set[str] = set()
        after: tuple[Any, ...] | None = None
        while rows := await self._store.export_rows("tombstones", after=after, limit=10_000):
            found |= {str(row[0]) for row in rows}
            after = rows[-1][:1]
        return found

    def _is_forgotten(self, session: str) -> bool:
        return not self._marks.isdisjoint({_mark(session), _mark(root_of(session))})

    async def _add_marks(self, hashes: Iterable[str]) -> None:
        """Keeps marks, also of sessions that are not here: a late bundle must not bring them."""
        new = {one for one in hashes if _HASH.fullmatch(one)} - await self._read_marks()
        await self._store.import_rows("tombstones", [(one, time.time()) for one in sorted(new)])
        self._marks |= new

    async def _forget_marked(self) -> None:
        """Forgets sessions that were forgotten elsewhere, and the branches that syncing made of them."""
        for session in await self._list_ids() if self._marks else ():
            if self._is_forgotten(session):
                try:
                    removed = await self._app.forget(session)
                except NotFound:  # went along with its parent
                    continue
                except SessionBusy as error:
                    self.report.waiting.append(str(error))
                    continue
                self.report.forgotten += len(removed.sessions)

    async def _list_ids(self) -> list[SessionId]:
        found: list[SessionId] = []
        for trashed in (False, True):
            before: tuple[float, str] | None = None
            while page := await self._store.find(
                Listing(archived=None, trashed=trashed, limit=_PAGE_SESSIONS, before=before)
            ):
                found += [one.id for one in page if one.principal == OWNER]
                before = (page[-1].last_active, page[-1].id)
        return found


def _mark(session: str) -> str:
    """The hash under which the store keeps that a session was forgotten."""
    return hashlib.sha256(f"session\0{session}".encode("utf-8", "surrogatepass")).hexdigest()


def _parse_entry(entry: Mapping[str, Any]) -> IncomingSession | None:
    shape, values = entry.get("session"), parse_values(entry.get("values"))
    if not isinstance(shape, dict) or values is None or not isinstance(shape.get("id"), str):
        return None
    said = [one for one in shape.get("messages") or () if isinstance(one, dict)]
    path = [parse_step(one) for one in said]
    files = {hashlib.sha256(one[2]).hexdigest(): one for one in _parse_files(entry.get("files"))}
    return IncomingSession(
        id=SessionId(shape["id"]), columns=parse_session(shape), path=path, values=values, files=files
    )


def _parse_files(files: Json) -> Iterator[tuple[str, str, bytes]]:
    for one in files if isinstance(files, list) else ():
        try:
            data = base64.b64decode(str(one["data"]), validate=True)
        except (binascii.Error, ValueError, KeyError, TypeError):
            continue
        yield str(one.get("name") or ""), str(one.get("media_type") or "application/octet-stream"), data
