"""The routes under `/api/plugins/api_server/`: a program says something, waits for the answer or follows the chat."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from sojourn.core.places import Sender
from sojourn.platforms.api_server import NAME, ApiServerSettings
from sojourn.platforms.api_server.chats import Chats
from sojourn.platforms.api_server.replies import Replies, ReplyFinder
from sojourn.platforms.rooms import parse_room_name
from sojourn.platforms.rooms_adapter import AGENT_SENDER
from sojourn.platforms.rooms_api import ButtonPressBody, RoomMessageBody, is_in, to_json, to_sse_frames
from sojourn.ports.app import PluginContext

Chat = Annotated[str, Path(max_length=300, description="A name you choose; # begins one for several people.")]
Number = Annotated[int, Path(ge=1, le=10**12, description="The message's number in the chat.")]
After = Annotated[int, Query(ge=0, le=10**12, description="Only what has a higher number.")]
Thread = Annotated[str | None, Query(max_length=20, description="Only this thread; empty: only the chat itself.")]
Wait = Annotated[float, Query(ge=0, le=86_400, description="Seconds to wait for the answer; 0: it comes later.")]
Who = Annotated[str, Query(min_length=1, max_length=100, description="Whose conversation, where several write.")]
Idempotency = Annotated[str, Header(max_length=200, pattern=r"^[!-~]*$", description="The same key is said once.")]
_FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"description": "That cannot be a chat."},
    404: {"description": "There is no such thread, message or button."},
    503: {"description": "No gateway serves this platform."},
}


class ThreadBody(BaseModel):
    """What a thread is about."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=200)


def router(kit: PluginContext) -> APIRouter:
    api = APIRouter()
    _add_write_routes(api, kit)
    _add_read_routes(api, kit)
    return api


def _add_write_routes(api: APIRouter, kit: PluginContext) -> None:
    settings: ApiServerSettings = kit.configured(NAME)

    async def answered(note: Any, wait: float) -> dict[str, Any]:
        answers = kit.shared(ReplyFinder)
        found = await answers.wait(note, min(wait, settings.longest_wait)) if wait else await answers.to(note)
        return {"message": to_json(note), **_to_json(found)}

    @api.post("/chats/{chat}/messages", status_code=201, summary="Say something", responses=_FAULTS)
    async def say(
        chat: Chat, words: RoomMessageBody, wait: Wait = 0, idempotency_key: Idempotency = ""
    ) -> dict[str, Any]:
        """Kept when this answers. With `wait`, the answers come along if they are there in time: `status` is `done`,
        `asked` (press a button) or `running` (read on later)."""
        await kit.shared(ReplyFinder).require_gateway()
        by = Sender(id=words.sender, name=words.name)
        note = await kit.shared(Chats).say(chat, words.text, by, thread=words.thread, key=idempotency_key)
        return await answered(note, wait)

    @api.get("/chats/{chat}/messages/{n}", summary="How it goes with a message", responses=_FAULTS)
    async def one(chat: Chat, n: Number, wait: Wait = 0) -> dict[str, Any]:
        return await answered(await kit.shared(Chats).one(chat, n), wait)

    @api.post("/chats/{chat}/messages/{n}/press", status_code=201, summary="Press a button", responses=_FAULTS)
    async def press(chat: Chat, n: Number, pressed: ButtonPressBody, wait: Wait = 0) -> dict[str, Any]:
        """Answers a question that a turn asks; with `wait`, what the turn says then comes along."""
        await kit.shared(ReplyFinder).require_gateway()
        by = Sender(id=pressed.sender, name=pressed.name)
        return await answered(await kit.shared(Chats).press(chat, n, pressed.value, by), wait)

    @api.post("/chats/{chat}/threads", status_code=201, summary="Begin a thread", responses=_FAULTS)
    async def open_thread(chat: Chat, headline: ThreadBody) -> dict[str, str]:
        """A conversation of its own inside of a chat, with a session of its own."""
        return {"thread": await kit.shared(Chats).open_thread(chat, headline.name, AGENT_SENDER)}


def _add_read_routes(api: APIRouter, kit: PluginContext) -> None:
    @api.get("/chats", summary="Chats in which something was said")
    async def chats() -> dict[str, list[str]]:
        return {"chats": await kit.shared(Chats).names()}

    @api.get("/chats/{chat}", summary="A chat, its threads and their sessions", responses=_FAULTS)
    async def about(chat: Chat, sender: Who = "owner") -> dict[str, Any]:
        """`session` is where it goes on; null before the first words, or when it went elsewhere."""
        answers, by, room = kit.shared(ReplyFinder), Sender(id=sender), parse_room_name(chat)
        threads = [
            {"thread": f"t{one.n}", "name": one.text, "session": await answers.session(room, f"t{one.n}", by)}
            for one in await kit.shared(Chats).read(room, limit=0)
            if one.opens
        ]
        return {"chat": room, "session": await answers.session(room, None, by), "threads": threads}

    @api.get("/chats/{chat}/messages", summary="Read a chat", responses=_FAULTS)
    async def read(
        chat: Chat, after: After = 0, thread: Thread = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> dict[str, Any]:
        notes = await kit.shared(Chats).read(chat, after=after, limit=limit)
        return {"messages": [to_json(one) for one in notes if is_in(one, thread)]}

    @api.get("/chats/{chat}/events", summary="Follow a chat", responses=_FAULTS)
    async def follow(chat: Chat, after: After = 0, thread: Thread = None) -> StreamingResponse:
        """Frames called `message`; one that is changed later comes again under its number."""
        notes = kit.shared(Chats).watch(parse_room_name(chat), after=after)
        return StreamingResponse(to_sse_frames(notes, thread), media_type="text/event-stream")


def _to_json(found: Replies) -> dict[str, Any]:
    return {"status": found.status, "replies": [to_json(one) for one in found.notes]}
