"""Live streams: the log of a session, and the change feed of all sessions.

The `id:` of a frame is the number of its entry, so `Last-Event-ID` continues exactly where a connection broke.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query

from sojourn.http import sse
from sojourn.http.dependencies import (
    MAX_INTEGER,
    ExactForm,
    ResolvedSession,
    ServiceDep,
    StoreDep,
    StreamsDep,
    problem_responses,
)
from sojourn.http.sse import STREAM_RESPONSES, EventStream, to_frames

router = APIRouter(prefix="/api", tags=["live"], default_response_class=EventStream)
After = Annotated[int | None, Query(ge=0, le=MAX_INTEGER, description="Only what has a higher number.")]
LastEventId = Annotated[int | None, Header(ge=0, le=MAX_INTEGER, description="Wins over `after`; browsers send it.")]
Include = Annotated[
    Literal["messages"] | None, Query(description="Also the rows of the transcript, in frames called `message`.")
]


async def _cursor(store: StoreDep, after: After = None, last_event_id: LastEventId = None) -> int | None:
    """Where to go on from. A store that cannot be used says so here, before an answer has begun."""
    await store.last_change()
    return after if last_event_id is None else last_event_id


async def _cursor_or_now(store: StoreDep, place: Annotated[int | None, Depends(_cursor)]) -> int:
    return await store.last_change() if place is None else place


@router.get(
    "/sessions/{id}/events", summary="Follow a session", responses=STREAM_RESPONSES | problem_responses(404, 409)
)
async def events(
    session: ResolvedSession,
    service: ServiceDep,
    streams: StreamsDep,
    place: Annotated[int | None, Depends(_cursor)],
    exactly: ExactForm,
    include: Include = None,
) -> EventStream:
    """Every event kept in the session's log after a number (default: from the beginning), then what follows.

    Frames are called `metadata`, `progress`, `chunk`, `error`, `done`; with `include=messages` also `message`.
    """
    frame = sse.exact_frame if exactly else sse.log_frame if include else sse.event_frame
    return EventStream(streams, to_frames(service.watch(session.id, after=place or 0), frame))


@router.get("/changes", summary="Follow all sessions", responses=STREAM_RESPONSES)
async def changes(store: StoreDep, streams: StreamsDep, place: Annotated[int, Depends(_cursor_or_now)]) -> EventStream:
    """What happens to any session after a number (default: from now on).

    Frames are called `created`, `log`, `changed`, `control`, `deleted`; the same change may be told twice.
    """
    return EventStream(streams, to_frames(store.watch_changes(after=place), sse.change_frame, sse.cursor_frame(place)))
