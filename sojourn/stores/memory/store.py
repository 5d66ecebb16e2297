"""The store port over dictionaries."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.events import Yielded
from sojourn.core.health import Health
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Change, Control, Lease, Principal, Recorded, Session, SessionId, TurnId
from sojourn.core.tables import TABLES
from sojourn.ports.admin import Progress, StoreStats, VerifyReport
from sojourn.ports.importer import Transcript
from sojourn.ports.ingest import Ingested
from sojourn.ports.store import Listing, Log, Removed, SearchHit, SearchQuery, SideWrites
from sojourn.stores.memory import along as kept_along
from sojourn.stores.memory import ingest, log, sessions, upkeep
from sojourn.stores.memory.bindings import MemoryBindings
from sojourn.stores.memory.boxes import MemoryBoxes
from sojourn.stores.memory.data import Data
from sojourn.stores.memory.gateways import MemoryGateways
from sojourn.stores.memory.handoffs import MemoryHandoffs
from sojourn.stores.memory.history import MemoryHistory
from sojourn.stores.memory.records import MemoryRecords
from sojourn.stores.memory.search import search as search_in
from sojourn.text.redaction import Redactor, redact


class MemoryStore(MemoryRecords, MemoryHandoffs, MemoryBoxes, MemoryBindings, MemoryGateways):
    """Everything in this process, nothing on disk. Each call is done before another one begins."""

    def __init__(self, *, redactor: Redactor = redact, clock: Callable[[], float] = time.time) -> None:
        super().__init__(Data(redactor, clock))

    # sessions
    async def create(
        self,
        *,
        principal: Principal = OWNER,
        source: str = "cli",
        title: str | None = None,
        parent: SessionId | None = None,
        model: str | None = None,
        cwd: str | None = None,
        id: SessionId | None = None,
        details: Mapping[str, Json] | None = None,
    ) -> Session:
        with self._writing() as data:
            return sessions.create(
                data,
                principal=principal,
                source=source,
                title=title,
                parent=parent,
                model=model,
                cwd=cwd,
                id=id,
                details=details,
            )

    async def get(self, session: SessionId, *, principal: Principal | None = None) -> Session:
        return sessions.get(self._data, session, principal=principal)

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        return sessions.resolve(self._data, words, principal=principal)

    async def find(self, listing: Listing) -> list[Session]:
        return sessions.find(self._data, listing)

    async def count(self, listing: Listing) -> int:
        return sessions.count(self._data, listing)

    async def change(self, old: Session, new: Session) -> Session:
        with self._writing() as data:
            return sessions.change(data, old, new)

    async def search(self, search: SearchQuery) -> list[SearchHit]:
        return search_in(self._data, search)

    # the log
    async def append(
        self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, along: SideWrites | None = None
    ) -> list[Recorded]:
        with self._writing() as data:
            if along is None:
                return log.append(data, lease, items, turn)
            with data.whole():
                return kept_along.append(data, lease, items, turn, along)

    async def read(self, session: SessionId, *, after: int = 0, messages_only: bool = False) -> Log:
        for item in log.read(self._data, session, after, messages_only):
            yield item

    async def watch(self, session: SessionId, *, after: int = 0) -> Log:
        self._data.session(session)
        with self._listening() as rung:
            while True:
                rung.clear()
                try:
                    for item in log.read(self._data, session, after, messages_only=False):
                        after = item.seq
                        yield item
                except NotFound:
                    return  # it was deleted while we watched
                await rung.wait()

    async def set_flags(self, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
        with self._writing() as data:
            return log.set_flags(data, lease, seqs, active=active, compacted=compacted)

    async def end(self, lease: Lease, reason: str) -> Session:
        with self._writing() as data:
            return log.end(data, lease, reason)

    # who may write
    async def drive(self, session: SessionId, surface: str, *, fence: int | None = None) -> Session:
        with self._writing() as data:
            return log.drive(data, session, surface, fence=fence)

    async def lease(self, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease:
        with self._writing() as data:
            data.touched.add(session)  # whoever held it before learns that it is gone
            return log.lease(data, session, holder=holder, surface=surface, seconds=seconds)

    async def renew(self, lease: Lease, seconds: float = 30.0) -> Lease:
        with self._writing() as data:
            return log.renew(data, lease, seconds)

    # words to a running turn
    async def send_control(self, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control:
        with self._writing() as data:
            return log.send_control(data, session, kind, payload, by)

    async def controls(self, lease: Lease) -> AsyncGenerator[Control, None]:
        with self._listening() as rung:
            while True:
                rung.clear()
                for control in log.take_controls(self._data, lease):
                    yield control
                await rung.wait()

    # the feed
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        return [change for change in self._data.changes.values() if change.n > after][:limit]

    async def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]:
        with self._listening() as rung:
            while True:
                rung.clear()
                for change in await self.changes(after=after, limit=2**31):
                    after = change.n
                    yield change
                await rung.wait()

    async def last_change(self) -> int:
        return max((change.n for change in self._data.changes.values()), default=0)

    # taking away
    async def delete(self, session: SessionId, *, lease: Lease | None = None) -> Removed:
        with self._writing() as data, data.whole():
            return upkeep.delete(data, session, lease)

    async def forget(self, session: SessionId) -> Removed:
        with self._writing() as data, data.whole():
            return upkeep.forget(data, session)

    # attachments
    async def put_blob(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> str:
        return upkeep.put_blob(self._data, session, data, media_type=media_type, name=name)

    async def get_blob(self, session: SessionId, hash: str) -> tuple[bytes, str]:
        return upkeep.get_blob(self._data, session, hash)

    # bringing in
    async def known(self, source: str, home: str) -> dict[str, str]:
        return ingest.known(self._data, source, home)

    async def forgotten(self, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
        return {native for native in native_ids if ingest.is_away(self._data, source, home, native)}

    async def ingest(
        self, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
    ) -> list[Ingested]:
        with self._writing() as data, data.whole():
            return [ingest.bring_in(data, source, home, mark, found, principal) for mark, found in batch]

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        return 0  # everything is findable at once

    # scanners
    def history(self) -> MemoryHistory:
        return MemoryHistory(self._data)

    # looking after
    async def health(self) -> Health:
        return Health(state="healthy", store="memory")

    async def stats(self) -> StoreStats:
        return upkeep.stats(self._data)

    async def verify(self, progress: Progress | None = None) -> VerifyReport:
        return upkeep.verify(self._data)

    async def backup(self, target: Path, progress: Progress | None = None) -> Path:
        raise BadInput("A store in memory has no copy.", hint="Move it into a file with `sojourn store migrate`.")

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        raise BadInput("A store in memory has no copy.", hint="Open the copy itself as a store.")

    # moving
    async def export_rows(self, table: str, *, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]:
        return upkeep.export_rows(self._data, table, after, limit)

    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._data.whole():
            upkeep.import_rows(self._data, table, rows)

    async def is_empty(self) -> bool:
        return not any(self._data.tables.values())

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        for table in TABLES:
            yield table.name, table.columns, table.key

    async def close(self) -> None:
        """Nothing to let go of; the dictionaries go with the object."""
