"""Live: a session's log and the feed of all sessions as server-sent events.

The `id:` of a frame is the number of what it tells, so `Last-Event-ID` goes on exactly where a
broken connection ended. Comments keep a quiet line alive. Closing a stream stops nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic_core import to_json

from sojourn.core.errors import SojournError
from sojourn.core.events import encode
from sojourn.core.messages import Message
from sojourn.core.sessions import Change, Recorded
from sojourn.http import shapes
from sojourn.http.params import BIGGEST, Named, StoreHere, faults
from sojourn.http.texts import moment, parsed, plain

router = APIRouter(prefix="/api", tags=["live"], default_response_class=EventSourceResponse)
logger = logging.getLogger(__name__)
T = TypeVar("T")
Place = Annotated[int | None, Query(ge=0, le=BIGGEST, description="Only what has a higher number.")]
LastEventId = Annotated[int | None, Header(ge=0, le=BIGGEST, description="Wins over `after`; browsers send it.")]


class Streams:
    """The open streams of a server, so that it can end them and stop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Timeout] = set()
        self._closed = False

    def close(self) -> None:
        """Every stream ends at once, and cleanly; new ones end before they begin."""
        self._closed = True
        for wait in self._waiting:
            wait.reschedule(0)

    async def frames(
        self, source: AsyncIterator[T], frame: Callable[[T], ServerSentEvent]
    ) -> AsyncGenerator[ServerSentEvent, None]:
        """A frame for each item, until the source ends, the server closes or the store fails."""
        following = aiter(source)
        try:
            while not self._closed:
                try:
                    async with asyncio.timeout(None) as wait:
                        self._waiting.add(wait)
                        try:
                            item = await anext(following)
                        finally:
                            self._waiting.discard(wait)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if wait.expired():
                        return
                    raise
                yield frame(item)
        except SojournError as error:
            logger.warning("a stream ended early: %s", error)  # the client comes back and is told why
        finally:
            await following.aclose()  # type: ignore[attr-defined]  # all our sources are generators


def _told(recorded: Recorded) -> ServerSentEvent:
    """A message as in a transcript; an event with its own fields, and when and in which turn it was kept."""
    item = recorded.item
    if isinstance(item, Message):
        data = shapes.Message.of(recorded, item).model_dump_json()
        return ServerSentEvent(event="message", id=str(recorded.seq), raw_data=data)
    name, text = encode(item)
    values = {**plain(parsed(text)), "at": moment(recorded.at), "turn_id": recorded.turn}
    return ServerSentEvent(event=name, id=str(recorded.seq), raw_data=to_json(values, inf_nan_mode="null").decode())


def _changed(change: Change) -> ServerSentEvent:
    values = {"n": change.n, "session": plain(change.session), "kind": change.kind, "at": moment(change.at)}
    return ServerSentEvent(event=change.kind, id=str(change.n), raw_data=to_json(values).decode())


async def _place(store: StoreHere, after: Place = None, last_event_id: LastEventId = None) -> int | None:
    """Where to go on from. A store that cannot be used says so here, before an answer has begun."""
    await store.last_change()
    return after if last_event_id is None else last_event_id


async def _place_or_now(store: StoreHere, place: Annotated[int | None, Depends(_place)]) -> int:
    return await store.last_change() if place is None else place


@router.get("/sessions/{id}/events", summary="Follow a session", responses=faults(404, 409))
async def events(
    request: Request, session: Named, store: StoreHere, place: Annotated[int | None, Depends(_place)]
) -> AsyncIterator[ServerSentEvent]:
    """Everything kept in the session's log after a number (default: from the beginning), then what follows.

    Frames are called `metadata`, `progress`, `chunk`, `error`, `done`, and `message` for rows of the transcript.
    """
    streams: Streams = request.app.state.streams
    async with aclosing(streams.frames(store.watch(session.id, after=place or 0), _told)) as frames:
        async for frame in frames:
            yield frame


@router.get("/changes", summary="Follow all sessions")
async def changes(
    request: Request, store: StoreHere, place: Annotated[int, Depends(_place_or_now)]
) -> AsyncIterator[ServerSentEvent]:
    """What happens to any session after a number (default: from now on).

    Frames are called `created`, `log`, `changed`, `control`, `deleted`; the same change may be told twice.
    """
    streams: Streams = request.app.state.streams
    yield ServerSentEvent(id=str(place), comment="from here")
    async with aclosing(streams.frames(store.watch_changes(after=place), _changed)) as frames:
        async for frame in frames:
            yield frame
