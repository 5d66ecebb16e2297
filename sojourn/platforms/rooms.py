"""Rooms: a chat of our own, kept in the store. Each room numbers what is said in it, without gaps.

A number is taken by writing under it, which fails if somebody else has: so whoever has read number 7 knows that no
6 comes later. What a person says is also put on a pile of things to hear, from where a listener takes it when it
is safely kept: what was not taken is there for the next one.

`local` has such rooms, and so have the programs that talk to us through the HTTP API (`api_server`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from sojourn.core.codec import decode_value, encode_value
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.places import Sender
from sojourn.ports.app import HasStore
from sojourn.ports.platform import Button
from sojourn.ports.store import Record

LOCAL = "local"
TO_HEAR = "local_to_hear"
MAX_TEXT_CHARS = 100_000
_PAGE_SIZE = 500
_WATCHED_FOR_EDITS = 40  # of the newest notes, changes are told too


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomMessage:
    """One thing said in a room. `opens`: it begins a thread, whose id is `t` and its number."""

    room: str
    n: int
    text: str
    by: str
    name: str = ""
    ours: bool = False  # the agent said it
    thread: str | None = None
    opens: bool = False
    buttons: tuple[Button, ...] = ()
    pressed: str = ""  # it is a button that somebody pressed, and `answers` is the number it stood under
    answers: int = 0
    key: str = ""  # what its writer calls it: the same key twice is the same note
    at: float = 0.0
    revision: int = 1

    @property
    def id(self) -> str:
        return f"{self.room}/key/{self.key}" if self.key else f"{self.room}/{self.n}"

    @property
    def sender(self) -> Sender:
        return Sender(id=self.by, name=self.name, is_bot=self.ours)


def parse_room_name(words: str) -> str:
    """A room's name as it is kept. BadInput."""
    name = words.strip()
    if not name or len(name) > 100 or ".." in name or name.startswith("/") or not name.isprintable():
        raise BadInput(f"{words!r} cannot be a room.", hint="A room has a short name, like home or #garden.")
    return name


class Rooms:
    """All rooms of one platform in this store; those who write in other processes are seen as well."""

    def __init__(self, kit: HasStore, platform: str = LOCAL) -> None:
        self._store = kit.store
        self._notes, self._unheard, self._keys = (f"{platform}_{kind}" for kind in ("note", "to_hear", "key"))
        self._last: dict[str, int] = {}  # the highest number seen of each room
        self._writing = asyncio.Lock()

    # writing
    async def say(
        self,
        room: str,
        text: str,
        by: Sender,
        *,
        thread: str | None = None,
        ours: bool = False,
        opens: bool = False,
        buttons: Sequence[Button] = (),
        key: str = "",
    ) -> RoomMessage:
        """Kept when this returns. What the agent says is not put on the pile. NotFound for a thread that is none."""
        if len(text) > MAX_TEXT_CHARS:
            raise BadInput(f"{len(text):,} characters are too many.", hint=f"At most {MAX_TEXT_CHARS:,} at once.")
        room = parse_room_name(room)
        if thread is not None:
            await self._check_thread(room, thread)
        said = RoomMessage(
            room=room,
            n=0,
            text=text,
            by=by.id,
            name=by.name,
            ours=ours,
            thread=thread,
            opens=opens,
            buttons=tuple(buttons),
            key=key,
            at=time.time(),
        )
        return await self._put(said)

    async def press(self, room: str, n: int, value: str, by: Sender) -> RoomMessage:
        """Somebody presses a button: that is said and heard like words. NotFound if it is not there (any more)."""
        under = await self.one(room, n)
        found = [one for one in under.buttons if one.value == value]
        if not found:
            raise NotFound(f"Message {n} in {room} has no such button.", hint="It may have been answered already.")
        said = RoomMessage(
            room=under.room,
            n=0,
            text=found[0].label,
            by=by.id,
            name=by.name,
            thread=under.thread,
            pressed=value,
            answers=n,
            at=time.time(),
        )
        return await self._put(said)

    async def _put(self, note: RoomMessage) -> RoomMessage:
        async with self._writing:
            if note.key and (known := await self._store.get_record(self._keys, _prefix(note.room) + note.key)):
                return await self.one(note.room, known.value["n"])
            note = await self._keep(note)
        if not note.ours:
            await self._store.put_record(
                Record(kind=self._unheard, key=_key(note.room, note.n), value=encode_value(note))
            )
        if note.key:  # last: whoever dies before says it again, and who listens knows it by its id
            about = Record(kind=self._keys, key=_prefix(note.room) + note.key, value={"n": note.n})
            await self._store.put_record(about)
        return note

    async def one(self, room: str, n: int) -> RoomMessage:
        kept = await self._store.get_record(self._notes, _key(parse_room_name(room), n))
        if kept is None:
            raise NotFound(f"There is no message {n} in {room}.", hint="It may be another room.")
        return _from_record(kept)

    async def _keep(self, note: RoomMessage) -> RoomMessage:
        n = await self._newest(note.room)
        while True:
            n += 1
            numbered = replace(note, n=n)
            try:
                await self._store.put_record(
                    Record(kind=self._notes, key=_key(note.room, n), value=encode_value(numbered)), expect=0
                )
            except Conflict:
                continue  # somebody else has that number
            finally:
                self._last[note.room] = n
            return numbered

    async def _newest(self, room: str) -> int:
        """The highest number known here; a room nobody has looked at yet is read once."""
        if room not in self._last:
            found = await self.read(room, limit=0)
            self._last.setdefault(room, found[-1].n if found else 0)
        return self._last[room]

    async def edit(self, room: str, n: int, text: str) -> None:
        """Shows this instead, without buttons."""
        changed = replace(await self.one(room, n), text=text, buttons=())
        await self._store.put_record(Record(kind=self._notes, key=_key(changed.room, n), value=encode_value(changed)))

    async def open_thread(self, room: str, name: str, by: Sender) -> str:
        """A fresh thread; its first line is its name."""
        note = await self.say(room, name, by, ours=True, opens=True)
        return f"t{note.n}"

    async def _check_thread(self, room: str, thread: str) -> None:
        number = thread[1:] if thread.startswith("t") else ""
        found = await self._store.get_record(self._notes, _key(room, int(number))) if number.isdecimal() else None
        if found is None or not _from_record(found).opens:
            raise NotFound(f'There is no thread "{thread}" in {room}.', hint="Threads are begun by a hand-off.")

    # reading
    async def read(self, room: str, *, after: int = 0, limit: int = 100) -> list[RoomMessage]:
        """From that number on, oldest first; 0 reads to the end."""
        room, notes = parse_room_name(room), list[RoomMessage]()
        while not limit or len(notes) < limit:
            size = min(_PAGE_SIZE, limit - len(notes)) if limit else _PAGE_SIZE
            page = await self._store.list_records(
                self._notes, prefix=_prefix(room), after=_key(room, after), limit=size
            )
            notes += [_from_record(one) for one in page]
            if len(page) < size:
                break
            after = notes[-1].n
        return notes

    async def watch(self, room: str, *, after: int = 0) -> AsyncGenerator[RoomMessage, None]:
        """What is there after that number and what comes; a note that is changed later is told again."""
        revisions: dict[int, int] = {}
        async with aclosing(self._store.watch_gateway("records")) as bell:
            async for _ in bell:
                since = max(0, min(after, max(revisions, default=after)) - _WATCHED_FOR_EDITS) if revisions else after
                for note in await self.read(room, after=since, limit=0):
                    if note.n > after or revisions.get(note.n, note.revision) != note.revision:
                        yield note
                    revisions[note.n], after = note.revision, max(after, note.n)
                for old in [n for n in revisions if n <= after - _WATCHED_FOR_EDITS]:
                    del revisions[old]

    async def names(self) -> list[str]:
        """The rooms in which something was said."""
        found, after = list[str](), ""
        while page := await self._store.list_records(self._notes, after=after, limit=1):
            room = unquote(page[0].key.partition("/")[0])
            found.append(room)
            after = _prefix(room) + "\uffff"
        return found

    # hearing
    async def list_unheard(self, limit: int = _PAGE_SIZE) -> list[RoomMessage]:
        """What people said and no listener has taken yet."""
        return [
            decode_value(RoomMessage, one.value) for one in await self._store.list_records(self._unheard, limit=limit)
        ]

    async def heard(self, note: RoomMessage) -> None:
        await self._store.delete_record(self._unheard, _key(note.room, note.n))

    async def waits(self, note: RoomMessage) -> bool:
        """Whether no listener has taken it yet."""
        return await self._store.get_record(self._unheard, _key(note.room, note.n)) is not None


def _prefix(room: str) -> str:
    return quote(room, safe="") + "/"


def _key(room: str, n: int) -> str:
    return f"{_prefix(room)}{n:012}"


def _from_record(record: Record) -> RoomMessage:
    return replace(decode_value(RoomMessage, record.value), revision=record.revision)
