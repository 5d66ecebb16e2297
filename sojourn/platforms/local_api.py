"""The routes under `/api/plugins/local/`: rooms to write into, read and follow."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import StreamingResponse

from sojourn.core.places import Sender
from sojourn.platforms.rooms import Rooms, parse_room_name
from sojourn.platforms.rooms_api import ButtonPressBody, RoomMessageBody, is_in, to_json, to_sse_frames
from sojourn.ports.app import Shared

Room = Annotated[str, Path(max_length=300, description="Its name; # begins one for several people.")]
Number = Annotated[int, Path(ge=1, le=10**12, description="The message's number in the room.")]
After = Annotated[int, Query(ge=0, le=10**12, description="Only what has a higher number.")]
Thread = Annotated[str | None, Query(max_length=20, description="Only this thread; empty: only the room itself.")]
_FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"description": "That cannot be a room."},
    404: {"description": "There is no such thread, message or button."},
}


def router(kit: Shared) -> APIRouter:
    api = APIRouter()

    @api.get("/rooms", summary="Rooms in which something was said")
    async def rooms() -> dict[str, list[str]]:
        return {"rooms": await kit.shared(Rooms).names()}

    @api.post("/rooms/{room}/messages", status_code=201, summary="Say something", responses=_FAULTS)
    async def say(room: Room, words: RoomMessageBody) -> dict[str, Any]:
        """Kept when this answers; the gateway hears it."""
        by = Sender(id=words.sender, name=words.name)
        return to_json(await kit.shared(Rooms).say(room, words.text, by, thread=words.thread))

    @api.post("/rooms/{room}/messages/{n}/press", status_code=201, summary="Press a button", responses=_FAULTS)
    async def press(room: Room, n: Number, pressed: ButtonPressBody) -> dict[str, Any]:
        """Answers a question that a turn asks."""
        by = Sender(id=pressed.sender, name=pressed.name)
        return to_json(await kit.shared(Rooms).press(room, n, pressed.value, by))

    @api.get("/rooms/{room}/messages", summary="Read a room", responses=_FAULTS)
    async def read(
        room: Room, after: After = 0, thread: Thread = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> dict[str, Any]:
        notes = await kit.shared(Rooms).read(room, after=after, limit=limit)
        return {"messages": [to_json(one) for one in notes if is_in(one, thread)]}

    @api.get("/rooms/{room}/events", summary="Follow a room", responses=_FAULTS)
    async def follow(room: Room, after: After = 0, thread: Thread = None) -> StreamingResponse:
        """Frames called `message`; one that is changed later comes again under its number."""
        notes = kit.shared(Rooms).watch(parse_room_name(room), after=after)
        return StreamingResponse(to_sse_frames(notes, thread), media_type="text/event-stream")

    return api
