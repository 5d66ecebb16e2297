"""Matrix adapter: an account on any homeserver. Rooms of two people are private chats.

The server's sync token is saved after the messages that came with it are stored. Encrypted rooms are not supported:
their messages are logged as unread, and sending there is refused.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import Any

from aiohttp import ClientError
from nio import (
    AsyncClient,
    AsyncClientConfig,
    ErrorResponse,
    MatrixRoom,
    MegolmEvent,
    MessageDirection,
    Response,
    RoomInfo,
    RoomMessage,
    RoomMessageMedia,
    RoomMessageNotice,
    SyncResponse,
)

from sojourn.core.errors import (
    BadInput,
    KeyRefused,
    PlatformDown,
    Refusal,
    SendRefused,
    SojournError,
    ThreadsUnsupported,
)
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.matrix import MatrixSettings
from sojourn.platforms.matrix.content import build_relation, build_text_content, is_join, strip_reply_quote
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

NAME = "matrix"
_REPLY_TIMEOUT_SECONDS = 120.0  # of any request
_LONG_POLL_MS = 30_000  # of one sync request
_FILTER = {
    "room": {"state": {"lazy_load_members": True}, "timeline": {"limit": 20}, "ephemeral": {"types": []}},
    "presence": {"types": []},
}
_KINDS: Mapping[str, Refusal] = {
    "M_FORBIDDEN": "forbidden",
    "M_GUEST_ACCESS_FORBIDDEN": "forbidden",
    "M_NOT_FOUND": "not_found",
    "M_TOO_LARGE": "too_long",
    "M_LIMIT_EXCEEDED": "rate_limited",
    "M_BAD_JSON": "bad_format",
}

logger = logging.getLogger(__name__)


class Matrix:
    """One account on one homeserver."""

    info = PlatformInfo(name=NAME, label="Matrix", max_chars=16_000, prefix="!")

    def __init__(self, app: PluginContext) -> None:
        self._settings: MatrixSettings = app.configured(NAME)
        self.account = self._settings.user
        if not self.account.startswith("@") or ":" not in self.account:
            raise BadInput(f'"{self.account}" is not a Matrix user.', hint="It looks like @sojourn:example.org.")
        self._threads: dict[str, bool] = {}  # thread → whether it is addressed to us
        self._cursors = CursorStore(app.store, NAME, self.account)
        config = AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, encryption_enabled=False)
        self._client = AsyncClient(self._settings.homeserver.rstrip("/"), self.account, config=config)
        self._client.user_id, self._client.access_token = self.account, self._settings.access_token.reveal()

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            await self._request(self._client.whoami(), "identify itself")
            profile = await self._request(self._client.get_profile(self.account), "read its profile")
            return BotProfile(name=profile.displayname or self.account, address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        saved = await self._cursors.load()
        since, handled = str(saved.get("since", "")), [str(one) for one in saved.get("heard", ())]
        async with refusals_as_outage():
            response = await self._sync(since, first=True)
            if not since:  # earlier messages are ignored
                since, handled = response.next_batch, []
                await self._cursors.save({"since": since, "heard": handled})
                response = await self._sync(since)
            while True:
                messages = [one for one in await self._messages(response, since) if one[1].event_id not in handled]
                for room, event in messages:
                    yield await self._to_inbound(room, event)
                    handled.append(event.event_id)
                    if event is not messages[-1][1]:
                        await self._cursors.save({"since": since, "heard": handled})
                if messages:
                    await self._cursors.save({"since": response.next_batch, "heard": []})
                since, handled = response.next_batch, []
                response = await self._sync(since)

    async def _sync(self, since: str, *, first: bool = False) -> SyncResponse:
        timeout = 0 if first else _LONG_POLL_MS
        sync = self._client.sync(timeout, _FILTER, since or None, full_state=first or None)
        response: SyncResponse = await self._request(sync, "sync")
        for room in response.rooms.invite if self._settings.join else ():
            await self._request(self._client.join(room), "join a room")
        return response

    async def _messages(self, response: SyncResponse, since: str) -> list[tuple[MatrixRoom, RoomMessage]]:
        """The messages of people, in the order of each room."""
        found = []
        for id, info in response.rooms.join.items():
            room = self._client.rooms[id]
            events = info.timeline.events
            joined = [n for n, one in enumerate(events) if is_join(one.source, self.account)]
            if joined and not _is_private(room):
                events = events[joined[-1] :]  # messages from before we joined are ignored
            elif info.timeline.limited and not joined:
                events = await self._fetch_missed(id, info, since) + events
            for one in events:
                if isinstance(one, MegolmEvent):
                    logger.warning("an encrypted message in %s was not read; use a room without encryption", id)
                elif isinstance(one, RoomMessage) and self._is_for_us(one):
                    found.append((room, one))
        return found

    async def _fetch_missed(self, room: str, info: RoomInfo, since: str) -> list[Any]:
        """Fetches the messages between the last sync token and this response, oldest first."""
        found, start = list[Any](), info.timeline.prev_batch
        while start:
            request = self._client.room_messages(room, start, since, MessageDirection.back, 100)
            page = await self._request(request, "read a room")
            found += page.chunk
            start = page.end if page.chunk else None
        return found[::-1]

    def _is_for_us(self, event: RoomMessage) -> bool:
        """Whether a person wrote it: not we, not a notice of a bot, not an edit."""
        relation = event.source["content"].get("m.relates_to") or {}
        return not (
            event.sender == self.account
            or isinstance(event, RoomMessageNotice)
            or relation.get("rel_type") == "m.replace"
        )

    async def _to_inbound(self, room: MatrixRoom, event: RoomMessage) -> Inbound:
        content = event.source["content"]
        relation = content.get("m.relates_to") or {}
        thread = str(relation["event_id"]) if relation.get("rel_type") == "m.thread" else None
        answers = (relation.get("m.in_reply_to") or {}).get("event_id", "")
        text, files = strip_reply_quote(str(content.get("body", "")), bool(answers)), tuple[File, ...]()
        if isinstance(event, RoomMessageMedia):
            text = text if content.get("filename") not in (None, text) else ""
            try:
                files = (await self._fetch_file(event.url, content),)
            except SendRefused as error:  # retrying would block the next messages
                text = f"{text}\n[{content.get('body')} could not be downloaded: {error}]".strip()
        return Inbound(
            id=event.event_id,
            place=self._place(room.room_id, thread),
            text=text,
            files=files,
            sender=Sender(id=event.sender, name=room.user_name(event.sender) or event.sender),
            at=event.server_timestamp / 1000,
            reply_to="" if relation.get("is_falling_back") else str(answers),
            mentioned=_is_private(room) or self._is_mentioned(content) or await self._is_ours(room.room_id, thread),
            named=self._is_mentioned(content),
        )

    def _is_mentioned(self, content: Mapping[str, Any]) -> bool:
        body, name = str(content.get("body", "")).lower(), self.account[1:].partition(":")[0].lower()
        return self.account in (content.get("m.mentions") or {}).get("user_ids", ()) or name in body

    async def _is_ours(self, room: str, thread: str | None) -> bool:
        """Whether we started a thread, or its first message mentions us."""
        if thread is None:
            return False
        if thread not in self._threads:
            try:
                first = (await self._request(self._client.room_get_event(room, thread), "read a thread")).event
            except SendRefused:  # from before we joined
                return False
            self._threads[thread] = first.sender == self.account or self._is_mentioned(first.source["content"])
        return self._threads[thread]

    async def _fetch_file(self, url: str, content: Mapping[str, Any]) -> File:
        download = await self._request(self._client.download(url), "fetch a file")
        kind = str((content.get("info") or {}).get("mimetype") or download.content_type or "application/octet-stream")
        name = str(content.get("filename") or content.get("body") or "file")
        return File(name=name, media_type=kind, data=download.body)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        return await self._post(place, {**build_text_content(text, plain=plain), **build_relation(place, reply_to)})

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        new = build_text_content(text, plain=plain)
        change = {"rel_type": "m.replace", "event_id": sent.id}
        await self._post(sent.place, {**new, "body": f"* {text}", "m.new_content": new, "m.relates_to": change})

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        saved = await self._request(self._upload(file), "send a file")
        content = {
            "msgtype": "m.image" if file.media_type.startswith("image/") else "m.file",
            "filename": file.name,
            "body": caption or file.name,
            "url": saved.content_uri,
            "info": {"mimetype": file.media_type, "size": len(file.data)},
            "m.mentions": {},
        }
        return await self._post(place, {**content, **build_relation(place, "")})

    async def _upload(self, file: File) -> Response:
        answer, _ = await self._client.upload(
            io.BytesIO(file.data), file.media_type, file.name, filesize=len(file.data)
        )
        return answer

    async def typing(self, place: Place) -> None:
        await self._request(self._client.room_typing(place.chat, True, 10_000), "show typing")

    async def react(self, sent: Sent, sign: str) -> None:
        about = {"rel_type": "m.annotation", "event_id": sent.id, "key": sign}
        await self._post(sent.place, {"m.relates_to": about}, kind="m.reaction")

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the room.")
        root = await self._post(parent, build_text_content(name, plain=True))
        return self._place(parent.chat, root.id)

    async def _post(self, place: Place, content: Mapping[str, Any], kind: str = "m.room.message") -> Sent:
        room = self._client.rooms.get(place.chat)
        if room is not None and room.encrypted:
            why, hint = f"{place.chat} is encrypted, which is not supported.", "Use a room without encryption."
            raise SendRefused(why, kind="forbidden", hint=hint)
        answer = await self._request(self._client.room_send(place.chat, kind, dict(content)), "send")
        return Sent(place=place, id=answer.event_id)

    async def _request(self, call: Awaitable[Any], what: str) -> Any:
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):  # the SDK has no timeout for the first sync
                answer = await call
        except (ClientError, TimeoutError) as error:
            raise PlatformDown(f"The homeserver does not answer: {str(error) or type(error).__name__}.") from error
        if isinstance(answer, ErrorResponse):
            raise self._to_error(answer, what)
        return answer

    def _to_error(self, answer: ErrorResponse, what: str) -> SojournError:
        code, why = answer.status_code or "", answer.message
        status = answer.transport_response.status if answer.transport_response is not None else 0
        if code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"):
            hint = "Set SOJOURN_MATRIX_ACCESS_TOKEN to one that is valid."
            return KeyRefused(f"{self._settings.homeserver} refuses the access token of {self.account}.", hint=hint)
        kind: Refusal = _KINDS.get(code, "transient" if status >= 500 else "unknown")
        wait = answer.retry_after_ms / 1000 if answer.retry_after_ms else None
        return SendRefused(f"Matrix could not {what}: {why}.", kind=kind, retry_after=wait)

    def _place(self, room: str, thread: str | None = None) -> Place:
        room_state = self._client.rooms.get(room)
        name = (room_state.display_name or "") if room_state is not None else ""
        if thread:
            return Place(platform=NAME, chat=room, kind="thread", thread=thread, parent=room, name=name)
        kind: PlaceKind = "dm" if room_state is None or _is_private(room_state) else "group"
        return Place(platform=NAME, chat=room, kind=kind, name=name)

    def home(self, chat: str) -> Place:
        """A room (!id:server), or a person (@name:server) with a private room. An unknown room counts as private, as
        most home channels are."""
        name = chat.strip()
        if name.startswith("@"):
            shared = [id for id, room in self._client.rooms.items() if _is_private(room) and name in room.users]
            if not shared:
                raise BadInput(f"There is no room with {name} alone.", hint="Let them invite Sojourn to a chat first.")
            name = shared[0]
        if not name.startswith("!"):
            raise BadInput(f'"{chat}" is not a room.', hint="A room looks like !abc:example.org, a person like @ann:…")
        return self._place(name)

    async def close(self) -> None:
        await self._client.close()


def _is_private(room: MatrixRoom) -> bool:
    return bool(room.member_count <= 2)
