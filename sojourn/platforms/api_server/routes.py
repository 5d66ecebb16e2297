"""The routes under `/api/plugins/api_server/`: a program posts messages, waits for answers or follows the chat."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from sojourn.core.places import Sender
from sojourn.platforms import rooms_api
from sojourn.platforms.api_server import NAME, ApiServerSettings
from sojourn.platforms.api_server.chats import Chats, Replies, ReplyFinder
from sojourn.platforms.rooms import parse_room_name
from sojourn.platforms.rooms_adapter import AGENT_SENDER
from sojourn.ports.app import PluginContext

Chat = Annotated[str, Path(max_length=300, description="A name of your choice; one for several people starts with #.")]
Wait = Annotated[float, Query(ge=0, le=86_400, description="Seconds to wait for the answer; 0: do not wait.")]
Who = Annotated[str, Query(min_length=1, max_length=100, description="Whose conversation, where several write.")]
Idempotency = Annotated[
    str, Header(max_length=200, pattern=r"^[!-~]*$", description="A message with the same key is posted once.")
]
_FAULTS = rooms_api.FAULTS | {503: {"description": "No gateway serves this platform."}}


class ThreadBody(BaseModel):
    """The name of a thread."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=200)


def router(app: PluginContext) -> APIRouter:
    api = APIRouter()
    _add_write_routes(api, app)
    _add_read_routes(api, app)
    return api


def _add_write_routes(api: APIRouter, app: PluginContext) -> None:
    settings: ApiServerSettings = app.configured(NAME)

    async def to_reply(message: Any, wait: float) -> dict[str, Any]:
        finder = app.shared(ReplyFinder)
        replies = await finder.wait(message, min(wait, settings.longest_wait)) if wait else await finder.find(message)
        return {"message": rooms_api.to_json(message), **_to_json(replies)}

    @api.post("/chats/{chat}/messages", status_code=201, summary="Post a message", responses=_FAULTS)
    async def say(
        chat: Chat, body: rooms_api.RoomMessageBody, wait: Wait = 0, idempotency_key: Idempotency = ""
    ) -> dict[str, Any]:
        """The message is stored when this answers. With `wait`, the response has the replies that came in time:
        `status` is `done`, `asked` (press a button) or `running` (read again later)."""
        await app.shared(ReplyFinder).require_gateway()
        by = Sender(id=body.sender, name=body.name)
        message = await app.shared(Chats).say(chat, body.text, by, thread=body.thread, key=idempotency_key)
        return await to_reply(message, wait)

    @api.get("/chats/{chat}/messages/{n}", summary="A message and its replies", responses=_FAULTS)
    async def one(chat: Chat, n: rooms_api.Number, wait: Wait = 0) -> dict[str, Any]:
        return await to_reply(await app.shared(Chats).get(chat, n), wait)

    @api.post("/chats/{chat}/messages/{n}/press", status_code=201, summary="Press a button", responses=_FAULTS)
    async def press(chat: Chat, n: rooms_api.Number, body: rooms_api.ButtonPressBody, wait: Wait = 0) -> dict[str, Any]:
        """Answers a question of a turn; with `wait`, the response has the next replies of that turn."""
        await app.shared(ReplyFinder).require_gateway()
        by = Sender(id=body.sender, name=body.name)
        return await to_reply(await app.shared(Chats).press(chat, n, body.value, by), wait)

    @api.post("/chats/{chat}/threads", status_code=201, summary="Start a thread", responses=_FAULTS)
    async def open_thread(chat: Chat, body: ThreadBody) -> dict[str, str]:
        """Starts a conversation inside a chat, with a session of its own."""
        return {"thread": await app.shared(Chats).open_thread(chat, body.name, AGENT_SENDER)}


def _add_read_routes(api: APIRouter, app: PluginContext) -> None:
    @api.get("/chats", summary="Chats with messages")
    async def chats() -> dict[str, list[str]]:
        return {"chats": await app.shared(Chats).list_names()}

    @api.get("/chats/{chat}", summary="A chat, its threads and their sessions", responses=_FAULTS)
    async def about(chat: Chat, sender: Who = "owner") -> dict[str, Any]:
        """`session` is the bound session; null before the first message, or after a hand-off elsewhere."""
        finder, by, room = app.shared(ReplyFinder), Sender(id=sender), parse_room_name(chat)
        threads = [
            {"thread": f"t{one.n}", "name": one.text, "session": await finder.session(room, f"t{one.n}", by)}
            for one in await app.shared(Chats).read(room, limit=0)
            if one.opens
        ]
        return {"chat": room, "session": await finder.session(room, None, by), "threads": threads}

    @api.get("/chats/{chat}/messages", summary="Read a chat", responses=_FAULTS)
    async def read(
        chat: Chat, after: rooms_api.After = 0, thread: rooms_api.Thread = None, limit: rooms_api.Limit = 100
    ) -> dict[str, Any]:
        return await rooms_api.read_room(app.shared(Chats), chat, after, thread, limit)

    @api.get("/chats/{chat}/events", summary="Follow a chat", responses=_FAULTS)
    async def follow(chat: Chat, after: rooms_api.After = 0, thread: rooms_api.Thread = None) -> StreamingResponse:
        """Events called `message`; an edited message comes again with the same number."""
        return rooms_api.follow_room(app.shared(Chats), chat, after, thread)


def _to_json(replies: Replies) -> dict[str, Any]:
    return {"status": replies.status, "replies": [rooms_api.to_json(one) for one in replies.messages]}
