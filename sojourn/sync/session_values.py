"""Session values: title, tags and the like; the latest change wins, by its time and then by its machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from sojourn.core.errors import Conflict, NotFound, TitleTaken
from sojourn.core.messages import Json
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.store import Record, Store

_KIND = "sync_values"
_NAMES = ("title", "tags", "pinned", "archived", "trashed_at", "model", "cwd")
_TICK_SECONDS = 1e-6


class PathMap:
    """Folders that have another place on each machine: the person's home, and named ones."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = sorted(
            ((name, folder.rstrip("/\\")) for name, folder in folders.items()), key=lambda one: -len(one[1])
        )  # the longest first

    def to_shared(self, path: str | None) -> str | None:
        for name, folder in self._folders:
            below = path[len(folder) :] if path and path.startswith(folder) else None
            if below is not None and below[:1] in ("", "/", "\\"):
                return f"{name}:{below.replace(os.sep, '/').lstrip('/')}"
        return path

    def to_local(self, path: str | None) -> str | None:
        for name, folder in self._folders:
            if path and path.startswith(f"{name}:"):
                below = PurePosixPath(path[len(name) + 1 :])
                return folder if ".." in below.parts or below == PurePosixPath(".") else str(Path(folder) / below)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedValues:
    """The values of a session as all machines see them, and who changed them last."""

    values: Mapping[str, Json]
    stamp: tuple[float, str]

    @property
    def order(self) -> tuple[tuple[float, str], str]:
        return self.stamp, json.dumps(self.values, sort_keys=True)

    def to_json(self) -> dict[str, Json]:
        return {"values": dict(self.values), "stamp": list(self.stamp)}


def parse_values(shape: Json) -> StampedValues | None:
    """The values of an entry; None if they are not what they should be."""
    if not isinstance(shape, dict) or not isinstance(shape.get("values"), dict):
        return None
    values, stamp = {name: shape["values"].get(name) for name in _NAMES}, shape.get("stamp")
    texts = all(values[name] is None or isinstance(values[name], str) for name in ("title", "model", "cwd"))
    tags, at = values["tags"], values["trashed_at"]
    fitting = (
        texts
        and isinstance(tags, list)
        and all(isinstance(one, str) for one in tags)
        and isinstance(values["pinned"], bool)
        and isinstance(values["archived"], bool)
        and (at is None or isinstance(at, int | float))
    )
    if not fitting or not isinstance(stamp, list) or len(stamp) != 2 or not isinstance(stamp[0], int | float):
        return None
    return StampedValues(values=values, stamp=(float(stamp[0]), str(stamp[1])))


class SessionValues:
    """Reads, stamps and applies the values of sessions on this machine."""

    def __init__(self, store: Store, machine: str, paths: PathMap) -> None:
        self._store, self._machine, self._paths = store, machine, paths

    def _read(self, session: Session) -> dict[str, Json]:
        found = {name: getattr(session, name) for name in _NAMES}
        return {**found, "tags": list(session.tags), "cwd": self._paths.to_shared(session.cwd)}

    async def load(self, session: Session) -> StampedValues:
        """The values now; a change that nobody has stamped yet is this machine's."""
        record, now = await self._store.get_record(_KIND, session.id), self._read(session)
        known = parse_values(record.value) if record else None
        if record is not None and known is not None and record.value.get("here") == now:
            return known
        at = max(time.time(), known.stamp[0] + _TICK_SECONDS if known else 0.0)
        return await self._save(session, StampedValues(values=now, stamp=(at, self._machine)))

    async def _save(self, session: Session, given: StampedValues) -> StampedValues:
        value = {**given.to_json(), "here": self._read(session)}
        await self._store.put_record(Record(kind=_KIND, key=session.id, value=value, session=session.id))
        return given

    async def apply(self, session: SessionId, given: StampedValues, *, is_new: bool = False) -> None:
        """Sets values that are later than ours. A title that another session has gets a number here."""
        found = await self._store.get(session)
        if not is_new and given.order <= (await self.load(found)).order:
            return
        wanted = {**given.values, "tags": tuple(given.values["tags"]), "cwd": self._paths.to_local(given.values["cwd"])}
        try:
            changed = await self._change(found, wanted)
        except TitleTaken:
            changed = await self._change(found, {**wanted, "title": found.title})
            await self._store.set_title(session, str(wanted["title"]), instead_of=found.title)
            changed = await self._store.get(changed.id)
        await self._save(changed, given)

    async def _change(self, found: Session, wanted: Mapping[str, Any]) -> Session:
        for _ in range(10):
            new = replace(found, **wanted)
            try:
                return found if new == found else await self._store.change(found, new)
            except TitleTaken:
                raise
            except Conflict:
                found = await self._store.get(found.id)
        raise NotFound(f"Session {found.id} changes all the time.", hint="Sync again.")
