"""The routes under `/api/plugins/local/`: rooms to write into, read and follow."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import StreamingResponse

from sojourn.core.places import Sender
from sojourn.platforms import rooms_api
from sojourn.platforms.rooms import Rooms
from sojourn.ports.app import Shared

Room = Annotated[str, Path(max_length=300, description="Its name; one for several people starts with #.")]


def router(app: Shared) -> APIRouter:
    api = APIRouter()

    @api.get("/rooms", summary="Rooms with messages")
    async def rooms() -> dict[str, list[str]]:
        return {"rooms": await app.shared(Rooms).list_names()}

    @api.post("/rooms/{room}/messages", status_code=201, summary="Post a message", responses=rooms_api.FAULTS)
    async def say(room: Room, body: rooms_api.RoomMessageBody) -> dict[str, Any]:
        """The message is stored when this answers; the gateway handles it."""
        by = Sender(id=body.sender, name=body.name)
        return rooms_api.to_json(await app.shared(Rooms).say(room, body.text, by, thread=body.thread))

    @api.post("/rooms/{room}/messages/{n}/press", status_code=201, summary="Press a button", responses=rooms_api.FAULTS)
    async def press(room: Room, n: rooms_api.Number, body: rooms_api.ButtonPressBody) -> dict[str, Any]:
        """Answers a question of a turn."""
        by = Sender(id=body.sender, name=body.name)
        return rooms_api.to_json(await app.shared(Rooms).press(room, n, body.value, by))

    @api.get("/rooms/{room}/messages", summary="Read a room", responses=rooms_api.FAULTS)
    async def read(
        room: Room, after: rooms_api.After = 0, thread: rooms_api.Thread = None, limit: rooms_api.Limit = 100
    ) -> dict[str, Any]:
        return await rooms_api.read_room(app.shared(Rooms), room, after, thread, limit)

    @api.get("/rooms/{room}/events", summary="Follow a room", responses=rooms_api.FAULTS)
    async def follow(room: Room, after: rooms_api.After = 0, thread: rooms_api.Thread = None) -> StreamingResponse:
        """Events called `message`; an edited message comes again with the same number."""
        return rooms_api.follow_room(app.shared(Rooms), room, after, thread)

    return api
