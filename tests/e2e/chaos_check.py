"""What must hold after chaos, and everything one needs to know when it does not."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import chain
from typing import Any

from sojourn.app import App
from sojourn.core.errors import SojournError
from sojourn.core.events import Done, Metadata
from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, SessionId
from sojourn.gateway.payloads import decode_inbound
from sojourn.gateway.render import DUPLICATE_MARK
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.store import Listing
from sojourn.service.turn_record import KIND
from tests.e2e.chaos import Actor, Gateways

MANY = 1_000_000
STUCK = 90.0  # seconds in which nothing at all gets on
_GREETING = "[Sojourn: this session"


async def under_way(kit: App, actors: Sequence[Actor]) -> dict[str, list[Any]]:
    """All that is not finished yet, by name."""
    states = [await kit.store.get_handoff_state(actor.session) for actor in actors if actor.session]
    found: dict[str, list[Any]] = {
        "not heard": [one.key for one in await kit.store.list_records("local_to_hear", limit=MANY)],
        "incoming": [one.id for one in await kit.store.incoming(states=("waiting", "running"), limit=MANY)],
        "outgoing": [one.id for one in await kit.store.outgoing(states=("pending", "sending"), limit=MANY)],
        "turns": [one.key for one in await kit.store.list_records(KIND, limit=MANY)],
        "hand-offs": [(one.id, one.state) for one in states if one and one.is_live],
    }
    return {name: some for name, some in found.items() if some}


async def calm(kit: App, actors: Sequence[Actor], gateways: Gateways) -> None:
    """Until nothing is under way any more. A slow machine takes longer; stuck is what makes no progress at all."""
    left: dict[str, list[Any]] = {}
    since = time.monotonic()
    while time.monotonic() - since < STUCK:
        with suppress(SojournError):
            found = await under_way(kit, actors)
            if not found:
                return
            if found != left:
                left, since = found, time.monotonic()
        await asyncio.sleep(0.2)
    raise AssertionError("\n".join([f"stuck: {left}", *await _stuck(kit, left), *gateways.met()[-50:]]))


async def _stuck(kit: App, left: dict[str, list[Any]]) -> list[str]:
    """The rows themselves."""
    rows: list[Any] = [
        *await kit.store.incoming(states=("waiting", "running"), limit=MANY),
        *await kit.store.outgoing(states=("pending", "sending"), limit=MANY),
        *await kit.store.list_records(KIND, limit=MANY),
        *[await kit.store.get_handoff(id) for id, _ in left.get("hand-offs", ())],
    ]
    return [f"  {type(one).__name__}: {_short(one)}" for one in rows[:30]]


class Check:
    """Everything that was said, kept and shown, read once."""

    def __init__(self, kit: App, actors: Sequence[Actor], gateways: Gateways) -> None:
        self._kit, self._actors, self._gateways = kit, actors, gateways
        self._logs: dict[SessionId, list[Recorded]] = {}
        self._incoming: dict[str, Incoming] = {}
        self._problems: list[str] = []
        self.told = Counter[str]()

    async def run(self) -> Counter[str]:
        store = self._kit.store
        for one in await store.find(Listing(limit=MANY, archived=None)):
            self._logs[one.id] = [kept async for kept in store.read(one.id)]
        self._incoming = {one.message_id: one for one in await store.incoming(limit=MANY)}
        for session, log in self._logs.items():
            self._one_writer(session, log)
        await self._once()
        for actor in self._actors:
            await self._room(actor)
            await self._desk(actor)
            await self._one_owner(actor)
            self.told.update(actor.asked)
        assert not self._problems, "\n".join([f"{len(self._problems)} problems", *self._problems[:20]])
        return self.told

    # in the transcripts
    def _one_writer(self, session: SessionId, log: Sequence[Recorded]) -> None:
        """A turn ends before the next one begins, and once; numbers have no gap."""
        now, ended = None, Counter(one.turn for one in log if isinstance(one.item, Done))
        for kept in log:
            if isinstance(kept.item, Metadata):
                if now is not None:
                    told = [f"two writers in {session}: {kept.turn} begins within {now}"]
                    told += [f"{one.seq} {one.at:.3f} {one}" for one in log if one.turn in (kept.turn, now)]
                    self._problems.append("\n  ".join([*told, *self._gateways.met(str(kept.turn), str(now))]))
                now = kept.turn
            elif isinstance(kept.item, Done):
                now = None
        begun = {one.turn for one in log if isinstance(one.item, Metadata)}
        self._problems += [f"turn {turn} of {session} ends {ended[turn]} times" for turn in begun if ended[turn] != 1]

    async def _once(self) -> None:
        """Whatever was answered stands in one transcript, once, and so does its answer."""
        done = {
            one.turn
            for log in self._logs.values()
            for one in log
            if isinstance(one.item, Done) and one.item.status == "completed"
        }
        for role in ("user", "assistant"):
            said: dict[str, list[Recorded]] = {}
            for kept in chain.from_iterable(self._logs.values()):
                item = kept.item
                if isinstance(item, Message) and item.role == role and item.active and kept.turn in done:
                    said.setdefault(str(item.content), []).append(kept)
            for actor in self._actors:
                for words in [words for words in said if words.startswith(f"actor {actor.number} ")]:
                    if len(said[words]) > 1:
                        where = [(one.session, one.seq, one.turn) for one in said[words]]
                        await self._problem(f"{role} twice in the transcripts: {words} {where}", actor, words)

    # as people see it
    async def _room(self, actor: Actor) -> None:
        notes = await actor.rooms.read(actor.room, limit=0)
        answers = [one for one in notes if one.ours and not one.opens]
        sure = Counter(one.text for one in answers if not one.text.startswith(DUPLICATE_MARK))
        maybe = Counter(one.text.removeprefix(DUPLICATE_MARK) for one in answers if one.text.startswith(DUPLICATE_MARK))
        for words in [*actor.in_room, *actor.unsure]:
            if sure[words] > 1:
                await self._problem(f"answered twice: {words}", actor, words)
        for words in actor.in_room:
            if not sure[words] and not maybe[words] and not await self._told_where(actor, words):
                await self._problem(f"lost: {words}", actor, words)
        greeted = Counter(
            one.thread for one in answers if one.text.startswith(_GREETING)
        )  # each hand-off has a thread of its own
        self._problems += [f"greeted twice in {actor.room}/{thread}" for thread, n in greeted.items() if n > 1]
        self.told.update({"said in rooms": len(actor.in_room), "unsure": len(actor.unsure)})
        self.told.update({"marked as perhaps twice": sum(maybe.values())})

    async def _told_where(self, actor: Actor, words: str) -> bool:
        """Whether they were told that the session had just gone to another surface."""
        row = self._incoming.get(actor.in_room[words])
        if row is None or row.state != "done":
            return False
        log = self._logs.get(row.session, []) if row.session else []
        keys = {f"in:{row.id}:reply", *(one.public_id for one in log if one.turn == row.turn)}
        sent = await self._kit.store.outgoing(place=row.place, limit=MANY)
        reply = [one for one in sent if one.key.removesuffix("/0") in keys and "is driven from" in str(one.payload)]
        self.told["told that it is elsewhere"] += bool(reply)
        return bool(reply) and reply[0].state == "delivered"

    async def _desk(self, actor: Actor) -> None:
        assert actor.session is not None
        log = self._logs[actor.session]
        kept = {str(one.item.content) for one in log if isinstance(one.item, Message) and one.item.role == "user"}
        status = {one.turn: one.item.status for one in log if isinstance(one.item, Done)}
        for words, turn in actor.at_desk.items():
            if words not in kept or turn not in status:
                await self._problem(f"lost at the desk: {words}", actor, words)
            self.told[f"turn at a desk {status.get(turn)}"] += 1
        for words in actor.refused & kept:
            await self._problem(f"refused, and yet kept: {words}", actor, words)

    async def _one_owner(self, actor: Actor) -> None:
        assert actor.session is not None
        if len(bound := await self._kit.store.bindings(session=actor.session)) > 1:
            self._problems.append(f"two places have {actor.session}: {bound}")
        live = [one for one in await self._kit.store.handoffs(actor.session, limit=MANY) if one.is_live]
        if live:
            self._problems.append(f"hand-offs without end: {live}")

    # what happened
    async def _problem(self, what: str, actor: Actor, words: str) -> None:
        """With all that is known about these words."""
        store, row = self._kit.store, self._row_of(actor, words)
        assert actor.session is not None
        session = (row.session if row else None) or actor.session
        told = [
            f"\n=== {what}",
            f"incoming: {row and _short(row)}",
            f"actor's: {_short(await store.get(actor.session))}",
        ]
        told += [f"hand-off: {_short(one)}" for one in await store.handoffs(actor.session, limit=MANY)]
        sent = await store.outgoing(session=session, limit=MANY)
        sent += await store.outgoing(place=row.place, limit=MANY) if row else []
        near = {one.id: one for one in sent if row is None or f"in:{row.id}:" in one.key or words in str(one.payload)}
        told += [f"outgoing: {_short(one)}" for one in near.values()]
        turns = {row.turn if row else None, actor.at_desk.get(words)} - {None}
        turns |= {one.turn for one in self._logs[session] if words in str(getattr(one.item, "content", ""))}
        told += [f"log of {session}: {one}" for one in self._logs[session] if one.turn in turns]
        names = [f"incoming {row.id} ", *map(str, turns)] if row else [*map(str, turns)]
        told += [f"gateways: {line}" for line in self._gateways.met(*names)][:40] if names else []
        self._problems.append("\n".join(told))

    def _row_of(self, actor: Actor, words: str) -> Incoming | None:
        known = self._incoming.get(actor.in_room.get(words, ""))
        return known or next((one for one in self._incoming.values() if decode_inbound(one).text == words), None)


def _short(row: Any) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in asdict(row).items() if value not in ("", None, 0, False))
