"""Session merge: brings the path of another machine into the session here; a fork makes a branch, and loses nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.core.errors import NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Lease, Session, SessionId
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Record, Store, Transaction
from sojourn.sync.session_path import PathStep, count_common, hash_state, join_flags, name_branch, to_step
from sojourn.sync.session_values import SessionValues, StampedValues
from sojourn.text.jsonl_export import list_files

_MOVED = "sync_moved"  # messages that went into a branch, and are hidden in their session
_OWN_EXPORT = "sojourn"  # the source under which the store keeps ids and columns of ours
_LOCAL = ("handoff_state", "handoff_platform", "handoff_error", "trashed_at", "driver", "driver_fence")


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingSession:
    """A session of another machine: its columns, its path, its values and its files."""

    id: SessionId
    columns: Mapping[str, Any]
    path: Sequence[PathStep]
    values: StampedValues
    files: Mapping[str, tuple[str, str, bytes]] = field(default_factory=dict)  # by hash: name, media type, bytes


@dataclass(slots=True)
class MergeCounts:
    """What merging has changed here."""

    sessions: set[SessionId] = field(default_factory=set)
    messages: int = 0
    branches: list[SessionId] = field(default_factory=list)


class SessionMerge:
    """Merges sessions into the store. Each is changed under its turn lease: SessionBusy while a turn runs."""

    def __init__(self, store: Store, values: SessionValues, *, holder: str) -> None:
        self._store, self._values, self._holder = store, values, holder
        self.counts = MergeCounts()

    async def read_path(self, session: SessionId) -> list[PathStep]:
        """The path of a session here, without what went into branches."""
        record = await self._store.get_record(_MOVED, session)
        moved = set(record.value["seqs"]) if record else set()
        rows = [row async for row in self._store.read(session, messages_only=True)]
        return [to_step(row) for row in rows if row.seq not in moved]

    async def merge(self, incoming: IncomingSession) -> bool:
        """Merges a session; False if it was deleted here or does not belong to the owner."""
        try:
            found = await self._store.get(incoming.id)
        except NotFound:
            return await self._add(incoming)
        if found.principal != OWNER:
            return False
        lease = await self._lease(found)
        try:
            await self._merge_path(found, lease, incoming)
        finally:
            await self._store.renew(lease, 0)
        await self._values.apply(found.id, incoming.values)
        return True

    async def _lease(self, session: Session) -> Lease:
        return await self._store.lease(session.id, holder=self._holder, surface=session.driver or "cli", seconds=120)

    async def _add(self, incoming: IncomingSession) -> bool:
        columns = {name: value for name, value in incoming.columns.items() if name not in _LOCAL}
        origin = str(columns.get("branched_from") or "").rpartition(":")[0]
        if origin and not await self._exists(SessionId(origin)):
            columns |= {"branched_from": None, "copied": 0}  # its copies belong to a session that is not here
        own = {
            "title": None,  # set with the values
            "cwd": None,
            "numbers": [one.seq for one in incoming.path],
            "files": list(incoming.files.values()),
        }
        messages = [one.message for one in incoming.path]
        transcript = Transcript(native_id=incoming.id, fields={**columns, **own}, messages=messages)
        fingerprint = hash_state(incoming.path, {})
        [done] = await self._store.ingest(_OWN_EXPORT, "sync", [(fingerprint, transcript)], principal=OWNER)
        if done.outcome != "imported" or done.session != incoming.id:
            return False
        self._count(incoming.id, len(messages))
        await self._values.apply(incoming.id, incoming.values, is_new=True)
        return True

    async def _exists(self, session: SessionId) -> bool:
        try:
            await self._store.get(session)
        except NotFound:
            return False
        return True

    async def _merge_path(self, found: Session, lease: Lease, incoming: IncomingSession) -> None:
        ours, theirs = await self.read_path(found.id), incoming.path
        common = count_common(ours, theirs)
        our_tail, their_tail = ours[common:], theirs[common:]
        moved: Sequence[PathStep] = ()
        if our_tail and their_tail:
            is_ours_older = our_tail[0].order < their_tail[0].order
            loser = theirs if is_ours_older else ours
            await self._add_branch(found, loser, common, incoming)
            moved, their_tail = ((), ()) if is_ours_older else (our_tail, their_tail)
        flags = join_flags(ours[:common], theirs[:common])
        if not (their_tail or flags or moved):
            return
        for name, media_type, data in incoming.files.values():
            await self._store.put_blob(found.id, data, media_type=media_type, name=name)
        added = [one.message for one in their_tail]

        def write(store: Transaction) -> None:
            _hide(store, lease, moved)
            for seq, (active, compacted) in flags.items():
                store.set_flags(lease, [seq], active=active, compacted=compacted)
            store.append(lease, added)

        await self._store.transact(write)
        self._count(found.id, len(added))

    async def _add_branch(
        self, found: Session, path: Sequence[PathStep], common: int, incoming: IncomingSession
    ) -> None:
        """Makes the branch of a path that forks, or merges the path into the branch that is there."""
        branch = name_branch(found.id, path[common])
        files = dict(incoming.files)
        for row in [row async for row in self._store.read(found.id, messages_only=True)]:
            for one in list_files([row]):
                if one.hash not in files:
                    data, media_type = await self._store.get_blob(found.id, one.hash)
                    files[one.hash] = (one.name, media_type, data)
        title = f"{found.title or found.preview or found.id} (branch)"[:100]
        values: dict[str, Json] = {
            "title": title,
            "tags": [],
            "pinned": False,
            "archived": False,
            "trashed_at": None,
            "model": found.model,
            "cwd": incoming.values.values.get("cwd"),
        }
        columns = {
            "source": found.source,
            "program": found.program,
            "started_at": path[0].message.timestamp or time.time(),
            "branched_from": f"{found.id}:{path[common - 1].seq or common}" if common else None,
            "copied": common,
        }
        numbered = [replace(one, seq=number) for number, one in enumerate(path, 1)]
        is_new = not await self._exists(branch)
        made = IncomingSession(
            id=branch, columns=columns, path=numbered, values=StampedValues(values=values, stamp=(0.0, "")), files=files
        )
        if await self.merge(made) and is_new:
            self.counts.branches.append(branch)

    def _count(self, session: SessionId, messages: int) -> None:
        self.counts.sessions.add(session)
        self.counts.messages += messages


def _hide(store: Transaction, lease: Lease, moved: Sequence[PathStep]) -> None:
    """Hides messages that are in a branch now, and notes that they no longer count here."""
    if not moved:
        return
    seqs = [one.seq for one in moved]
    record = store.get_record(_MOVED, lease.session)
    known = list(record.value["seqs"]) if record else []
    value: Json = {"seqs": sorted({*known, *seqs})}
    store.put_record(Record(kind=_MOVED, key=lease.session, value=value, session=lease.session))
    store.set_flags(lease, seqs, active=False, compacted=False)
