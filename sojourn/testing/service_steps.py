"""Small steps the tests of the service contract are made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, TypeVar

from sojourn.core.events import Chunk, Done, Event, Failed, Progress
from sojourn.core.messages import Json, Message, text_of, tool_calls_of
from sojourn.core.sessions import Principal, Recorded, SessionId, TurnId
from sojourn.ports.service import Caller, Service, Turn, TurnRequest

T = TypeVar("T", bound=Event | Message)
ME = Caller(surface="cli", holder="chat on laptop (pid 4711)")
PHONE = Caller(surface="telegram", holder="my phone")
GUEST = Caller(surface="telegram", principal=Principal("guest"), holder="a guest")
NOBODY = SessionId("20200101_000000_deadbeef")
SECONDS = 20.0


async def opened(service: Service, by: Caller = ME, **fields: Any) -> SessionId:
    return (await service.open(by, **fields)).id


async def follow(service: Service, turn: Turn) -> list[Recorded]:
    """Everything a turn keeps, until it is over."""
    return await collect(
        service, turn.session, lambda kept: isinstance(kept.item, Done), after=turn.after, turn=turn.id
    )


async def collect(
    service: Service,
    session: SessionId,
    last: Callable[[Recorded], bool],
    *,
    after: int = 0,
    turn: TurnId | None = None,
) -> list[Recorded]:
    """What is kept, of one turn or of all, up to and with the first that is `last`."""
    found: list[Recorded] = []
    async with asyncio.timeout(SECONDS), aclosing(service.watch(session, after=after)) as log:
        async for kept in log:
            if turn in (None, kept.turn):
                found.append(kept)
                if last(kept):
                    break
    return found


async def until(service: Service, turn: Turn, last: Callable[[Any], bool]) -> Recorded:
    """Waits until a turn has kept such an item."""
    found = await collect(service, turn.session, lambda one: last(one.item), after=turn.after, turn=turn.id)
    return found[-1]


async def talk(service: Service, session: SessionId, text: str, by: Caller = ME, **fields: Any) -> list[Recorded]:
    """Says something and follows the turn to its end."""
    return await follow(service, await service.say(session, TurnRequest(text=text, **fields), by))


def of(kind: type[T], kept: list[Recorded]) -> list[T]:
    return [one.item for one in kept if isinstance(one.item, kind)]


def join_chunks(kept: list[Recorded]) -> str:
    """What a person saw of the answer."""
    return "".join(one.text for one in of(Chunk, kept))


def merge_chunks(kept: list[Recorded]) -> list[tuple[int, Event | Message]]:
    """The items with their numbers; chunks in a row are one, because that is how they are kept when a turn is over."""
    merged: list[tuple[int, Event | Message]] = []
    for one in kept:
        item, last = one.item, merged[-1][1] if merged else None
        if isinstance(item, Chunk) and isinstance(last, Chunk):
            merged[-1] = one.seq, Chunk(last.text + item.text)
        else:
            merged.append((one.seq, item))
    return merged


def stages(kept: list[Recorded], stage: str) -> list[dict[str, Json]]:
    return [dict(one.detail) for one in of(Progress, kept) if one.stage == stage]


def ended(kept: list[Recorded]) -> tuple[str, list[str]]:
    """The status of the one done, which is last, and the codes of the errors before."""
    [done] = of(Done, kept)
    assert kept[-1].item is done
    return done.status, [one.code for one in of(Failed, kept)]


async def transcript(service: Service, session: SessionId) -> list[tuple[str, str]]:
    """The live messages: who, and what."""
    kept = [one.item for one in await service.messages(session)]
    return [(item.role, text_of(item)) for item in kept if isinstance(item, Message) and item.active]


async def unpaired(service: Service, session: SessionId) -> list[str]:
    """Calls without a result, and results without a call."""
    kept = [one.item for one in await service.messages(session) if isinstance(one.item, Message)]
    asked = [call.id for message in kept for call in tool_calls_of(message)]
    given = [message.tool_call_id for message in kept if message.role == "tool"]
    return sorted(set(asked) ^ {one for one in given if one}) + ([] if len(asked) == len(given) else ["twice"])


def is_chunk(text: str) -> Callable[[Any], bool]:
    """A chunk that ends with a word; those that waited together are one."""
    return lambda item: isinstance(item, Chunk) and item.text.split()[-1:] == [text]


def is_asked(item: Any) -> bool:
    return isinstance(item, Progress) and item.stage == "approval" and item.detail.get("status") == "asked"
