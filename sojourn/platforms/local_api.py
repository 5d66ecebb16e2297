"""The routes under `/api/plugins/local/`: rooms to write into, read and follow."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import StreamingResponse

from sojourn.core.places import Sender
from sojourn.platforms.rooms import Rooms, parse_room_name
from sojourn.platforms.rooms_api import ButtonPressBody, RoomMessageBody, is_in, to_json, to_sse_frames
from sojourn.ports.app import Shared

Room = Annotated[str, Path(max_length=300, description="Its name; one for several people starts with #.")]
Number = Annotated[int, Path(ge=1, le=10**12, description="The message's number in the room.")]
After = Annotated[int, Query(ge=0, le=10**12, description="Only messages with a higher number.")]
Thread = Annotated[str | None, Query(max_length=20, description="Only this thread; empty: only the room itself.")]
_FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The room name is not valid."},
    404: {"description": "The thread, message or button does not exist."},
}


def router(app: Shared) -> APIRouter:
    api = APIRouter()

    @api.get("/rooms", summary="Rooms with messages")
    async def rooms() -> dict[str, list[str]]:
        return {"rooms": await app.shared(Rooms).list_names()}

    @api.post("/rooms/{room}/messages", status_code=201, summary="Post a message", responses=_FAULTS)
    async def say(room: Room, body: RoomMessageBody) -> dict[str, Any]:
        """The message is stored when this answers; the gateway handles it."""
        by = Sender(id=body.sender, name=body.name)
        return to_json(await app.shared(Rooms).say(room, body.text, by, thread=body.thread))

    @api.post("/rooms/{room}/messages/{n}/press", status_code=201, summary="Press a button", responses=_FAULTS)
    async def press(room: Room, n: Number, body: ButtonPressBody) -> dict[str, Any]:
        """Answers a question of a turn."""
        by = Sender(id=body.sender, name=body.name)
        return to_json(await app.shared(Rooms).press(room, n, body.value, by))

    @api.get("/rooms/{room}/messages", summary="Read a room", responses=_FAULTS)
    async def read(
        room: Room, after: After = 0, thread: Thread = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> dict[str, Any]:
        messages = await app.shared(Rooms).read(room, after=after, limit=limit)
        return {"messages": [to_json(one) for one in messages if is_in(one, thread)]}

    @api.get("/rooms/{room}/events", summary="Follow a room", responses=_FAULTS)
    async def follow(room: Room, after: After = 0, thread: Thread = None) -> StreamingResponse:
        """Events called `message`; an edited message comes again with the same number."""
        messages = app.shared(Rooms).watch(parse_room_name(room), after=after)
        return StreamingResponse(to_sse_frames(messages, thread), media_type="text/event-stream")

    return api
