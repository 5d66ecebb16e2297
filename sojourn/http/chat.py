"""One call to talk: begins or continues a session and streams the answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import APIRouter, Request
from pydantic import Field

from sojourn.core.errors import Conflict
from sojourn.core.events import Done
from sojourn.core.sessions import Recorded, SessionId
from sojourn.http import sse
from sojourn.http.dependencies import find_caller
from sojourn.http.sse import STREAM_RESPONSES, EventStream, Streams, to_frames
from sojourn.http.turns import TURN_FAULTS, Key, TurnBody
from sojourn.ports.app import AppContext
from sojourn.ports.service import Caller, Service, Turn
from sojourn.ports.store import Log, Record, Store

router = APIRouter(prefix="/api/chat", tags=["chat"])
_SESSION_BY_KEY = "begun_by_key"  # a record's kind: under `<principal>/<key>`, the session that a request began


class ChatBody(TurnBody):
    """Something to say, in a session that is there or in a new one."""

    session_id: str | None = Field(
        default=None, min_length=1, max_length=255, description="The full id; left out: a new session."
    )


async def filter_turn(turn: Turn, log: Log) -> AsyncGenerator[Recorded, None]:
    """What belongs to one turn, to its end."""
    async with aclosing(log) as found:
        async for recorded in found:
            if recorded.turn == turn.id:
                yield recorded
                if isinstance(recorded.item, Done):
                    return


async def _open_session(wanted: ChatBody, key: str | None, service: Service, store: Store, caller: Caller) -> SessionId:
    """A session for a request that names none: a new one, or the one it got when it was sent before."""
    mark = f"{caller.principal}/{key}"
    if key and (known := await store.get_record(_SESSION_BY_KEY, mark)):
        return SessionId(str(known.value))
    opened = await service.open(caller, model=wanted.model or None, runtime=wanted.runtime, cwd=wanted.cwd)
    if key:
        record = Record(kind=_SESSION_BY_KEY, key=mark, value=opened.id, principal=caller.principal, session=opened.id)
        try:
            await store.put_record(record, expect=0)
        except Conflict:  # the same request, twice at once
            await store.delete(opened.id)
            return await _open_session(wanted, key, service, store, caller)
    return opened.id


@router.post(
    "/stream",
    summary="Say something and stream the answer",
    response_class=EventStream,
    responses=STREAM_RESPONSES | TURN_FAULTS,
)
async def stream(request: Request, wanted: ChatBody, idempotency_key: Key = None) -> EventStream:
    """The first event is `metadata`, with `session_id` and `turn_id`; the stream ends after this turn's `done`.

    The same `Idempotency-Key` without a session is the same session and the same turn.

    Hanging up stops nothing. A stream that broke is resumed with `GET /api/sessions/{id}/events` and `Last-Event-ID`:
    the numbers are the same.
    """
    context: AppContext = request.app.state.context  # each dependency that FastAPI solves costs as much as a statement
    streams: Streams = request.app.state.streams
    streams.check_room(request.scope)
    service, store, caller = context.service, context.store, await find_caller(request)
    wanted.require_content()
    if wanted.session_id is None:
        session = await _open_session(wanted, idempotency_key, service, store, caller)
    else:
        session = SessionId(wanted.session_id)
        if wanted.attachments:  # `say` looks for the session itself; attachments are stored before
            await service.get(session, principal=caller.principal)
    said = await wanted.to_request(session, idempotency_key, service, store)
    turn = await service.say(session, said, caller, when_busy=wanted.when_busy)
    request.app.state.activity.add_session(session)
    log = service.watch(session, after=turn.after, principal=caller.principal)
    names = {"Sojourn-Session": session, "Sojourn-Turn": turn.id}
    return EventStream(streams, to_frames(filter_turn(turn, log), sse.event_frame), names)
