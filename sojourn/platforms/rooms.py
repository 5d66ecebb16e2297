"""Rooms: a chat of our own in the store, used by `local` and `api_server`. Each room numbers its messages without gaps.

A message takes its number with a conditional write, so a reader that has seen number 7 will not see a new 6. Messages
of people are also stored as unread; the adapter deletes that record when the gateway has stored the message.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.places import Sender
from sojourn.ports.app import HasStore
from sojourn.ports.platform import Button
from sojourn.ports.store import Record
from sojourn.text.codec import decode_value, encode_value
from sojourn.text.redaction import mark_identifiers

LOCAL = "local"
MAX_TEXT_CHARS = 100_000
_PAGE_ROWS = 500
_EDIT_WINDOW_MESSAGES = 40  # the newest messages, whose edits `watch` reports


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomMessage:
    """A message in a room. `opens`: it starts a thread, whose id is `t` and this number."""

    room: str
    n: int
    text: str
    by: str
    name: str = ""
    ours: bool = False  # written by the agent
    thread: str | None = None
    opens: bool = False
    buttons: tuple[Button, ...] = ()
    pressed: str = ""  # the value of a pressed button; `answers` is the number of its message
    answers: int = 0
    key: str = ""  # idempotency key of the writer
    at: float = 0.0
    revision: int = 1

    @property
    def id(self) -> str:
        return f"{self.room}/key/{self.key}" if self.key else f"{self.room}/{self.n}"

    @property
    def sender(self) -> Sender:
        return Sender(id=self.by, name=self.name, is_bot=self.ours)


def parse_room_name(text: str) -> str:
    """Normalizes a room's name. BadInput."""
    name = text.strip()
    if not name or len(name) > 100 or ".." in name or name.startswith("/") or not name.isprintable():
        raise BadInput(f"{text!r} is not a valid room name.", hint="Use a short name, like home or #garden.")
    return name


class Rooms:
    """All rooms of one platform in this store, shared by all processes."""

    def __init__(self, app: HasStore, platform: str = LOCAL) -> None:
        self._store = app.store
        kinds = ("note", "to_hear", "key")
        self._message_kind, self._unread_kind, self._key_kind = (f"{platform}_{kind}" for kind in kinds)
        self._last: dict[str, int] = {}  # the highest number seen of each room
        self._write_lock = asyncio.Lock()

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
        """Stores a message. NotFound if the thread does not exist."""
        if len(text) > MAX_TEXT_CHARS:
            raise BadInput(f"{len(text):,} characters are too many.", hint=f"At most {MAX_TEXT_CHARS:,} at once.")
        room = parse_room_name(room)
        if thread is not None:
            await self._check_thread(room, thread)
        message = RoomMessage(
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
        return await self._put(message)

    async def press(self, room: str, n: int, value: str, by: Sender) -> RoomMessage:
        """Stores the press of a button as a message. NotFound if the button does not exist (any more)."""
        question = await self.get(room, n)
        buttons = [button for button in question.buttons if button.value == value]
        if not buttons:
            raise NotFound(f"Message {n} in {room} has no such button.", hint="It may have been answered already.")
        press = RoomMessage(
            room=question.room,
            n=0,
            text=buttons[0].label,
            by=by.id,
            name=by.name,
            thread=question.thread,
            pressed=value,
            answers=n,
            at=time.time(),
        )
        return await self._put(press)

    async def _put(self, message: RoomMessage) -> RoomMessage:
        async with self._write_lock:
            key = _prefix(message.room) + message.key
            if message.key and (existing := await self._store.get_record(self._key_kind, key)):
                return await self.get(message.room, existing.value["n"])
            message = await self._append(message)
        if not message.ours:
            await self._save(self._unread_kind, message)
        if message.key:  # last: after a crash the writer repeats the message, and the gateway knows its id
            await self._store.put_record(Record(kind=self._key_kind, key=key, value={"n": message.n}))
        return message

    async def _save(self, kind: str, message: RoomMessage, *, expect: int | None = None) -> None:
        value = mark_identifiers(encode_value(message))
        record = Record(kind=kind, key=_key(message.room, message.n), value=value)
        await self._store.put_record(record, expect=expect)

    async def get(self, room: str, n: int) -> RoomMessage:
        if (message := await self._find(parse_room_name(room), n)) is None:
            raise NotFound(f"There is no message {n} in {room}.", hint="It may be another room.")
        return message

    async def _find(self, room: str, n: int) -> RoomMessage | None:
        record = await self._store.get_record(self._message_kind, _key(room, n))
        return _from_record(record) if record else None

    async def _append(self, message: RoomMessage) -> RoomMessage:
        n = await self._find_last_number(message.room)
        while True:
            n += 1
            numbered = replace(message, n=n)
            try:
                await self._save(self._message_kind, numbered, expect=0)
            except Conflict:
                continue  # another writer took that number
            finally:
                self._last[message.room] = n
            return numbered

    async def _find_last_number(self, room: str) -> int:
        """The highest number seen by this process; a new room is read once."""
        if room not in self._last:
            found = await self.read(room, limit=0)
            self._last.setdefault(room, found[-1].n if found else 0)
        return self._last[room]

    async def edit(self, room: str, n: int, text: str) -> None:
        """Replaces the text and removes the buttons."""
        await self._save(self._message_kind, replace(await self.get(room, n), text=text, buttons=()))

    async def open_thread(self, room: str, name: str, by: Sender) -> str:
        """Starts a thread; its first message is its name."""
        message = await self.say(room, name, by, ours=True, opens=True)
        return f"t{message.n}"

    async def _check_thread(self, room: str, thread: str) -> None:
        number = thread[1:] if thread.startswith("t") else ""
        first = await self._find(room, int(number)) if number.isdecimal() else None
        if first is None or not first.opens:
            raise NotFound(f'There is no thread "{thread}" in {room}.', hint="A hand-off starts a thread.")

    async def read(self, room: str, *, after: int = 0, limit: int = 100) -> list[RoomMessage]:
        """Messages after a number, oldest first; `limit` 0 reads all."""
        room, messages = parse_room_name(room), list[RoomMessage]()
        while not limit or len(messages) < limit:
            size = min(_PAGE_ROWS, limit - len(messages)) if limit else _PAGE_ROWS
            page = await self._store.list_records(
                self._message_kind, prefix=_prefix(room), after=_key(room, after), limit=size
            )
            messages += [_from_record(row) for row in page]
            if len(page) < size:
                break
            after = messages[-1].n
        return messages

    async def watch(self, room: str, *, after: int = 0) -> AsyncGenerator[RoomMessage, None]:
        """Yields messages after a number, then new ones; an edited message is yielded again."""
        revisions: dict[int, int] = {}
        async with aclosing(self._store.watch_gateway("records")) as wakeups:
            async for _ in wakeups:
                since = max(0, after - _EDIT_WINDOW_MESSAGES) if revisions else after
                for message in await self.read(room, after=since, limit=0):
                    if message.n > after or revisions.get(message.n, message.revision) != message.revision:
                        yield message
                    revisions[message.n], after = message.revision, max(after, message.n)
                for old in [n for n in revisions if n <= after - _EDIT_WINDOW_MESSAGES]:
                    del revisions[old]

    async def list_names(self) -> list[str]:
        """The names of rooms with messages."""
        found, after = list[str](), ""
        while page := await self._store.list_records(self._message_kind, after=after, limit=1):
            room = unquote(page[0].key.partition("/")[0])
            found.append(room)
            after = _prefix(room) + "\uffff"
        return found

    async def list_unread(self, limit: int = _PAGE_ROWS) -> list[RoomMessage]:
        """Messages of people that the gateway has not stored yet."""
        return [
            decode_value(RoomMessage, row.value)
            for row in await self._store.list_records(self._unread_kind, limit=limit)
        ]

    async def mark_read(self, message: RoomMessage) -> None:
        await self._store.delete_record(self._unread_kind, _key(message.room, message.n))

    async def is_unread(self, message: RoomMessage) -> bool:
        """Whether the gateway has not stored it yet."""
        return await self._store.get_record(self._unread_kind, _key(message.room, message.n)) is not None


def _prefix(room: str) -> str:
    return quote(room, safe="") + "/"


def _key(room: str, n: int) -> str:
    return f"{_prefix(room)}{n:012}"


def _from_record(record: Record) -> RoomMessage:
    return replace(decode_value(RoomMessage, record.value), revision=record.revision)
