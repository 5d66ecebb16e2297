"""WeCom adapter: private chats and groups with an AI bot, over one WebSocket.

The answer to a message is a stream, which grows until it is finished; whatever else is said is a message of its own.
WeCom allows one connection for each bot, and neither repeats nor keeps what nobody received.
"""

from __future__ import annotations

import base64
import hashlib
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place, build_session_key
from sojourn.platforms.aes_cbc import decrypt_file
from sojourn.platforms.downloads import VendorDownloads, attach_files, guess_media_type
from sojourn.platforms.json_values import read_object, read_text
from sojourn.platforms.markdown import escape_markdown
from sojourn.platforms.newest_values import NewestValues
from sojourn.platforms.refusals import check_length
from sojourn.platforms.single_connection import SingleConnection, try_connection
from sojourn.platforms.wecom import NAME, WecomSettings, messages
from sojourn.platforms.wecom.connection import WecomConnection
from sojourn.platforms.wecom.messages import CARD_PREFIX, hide_mentions
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_MEDIA_HOSTS = ("work.weixin.qq.com", "weixin.qq.com", "qpic.cn", "myqcloud.com")
_MARKS = "\\`*_[]<>()#~|"
_STREAM_PREFIX = "stream/"
_MORE = " …"  # ends a text that is still growing
_STREAM_SECONDS = 300.0  # WeCom ends a stream after six to ten minutes
_EDIT_SECONDS = 3.0  # between two changes: WeCom takes thirty messages a minute in a chat
_PRESS_SECONDS = 4.5  # WeCom lets a card be replaced within 5 seconds after a press
_CHUNK_BYTES = 512 * 1024
_MAX_CHUNKS = 100  # of one file


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyContext:
    """What an answer belongs to: the callback's id, the connection it came on, and when."""

    request: str
    connection: WecomConnection
    at: float

    def is_usable(self, seconds: float) -> bool:
        return self.connection.is_open and time.monotonic() - self.at < seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingAnswer:
    """A stream that is not finished: what it answers, what it shows, and since when."""

    context: ReplyContext
    content: str
    at: float


class Wecom:
    """One AI bot."""

    info = PlatformInfo(name=NAME, label="WeCom", max_chars=20_480, counting="bytes")

    def __init__(self, app: PluginContext) -> None:
        self._settings: WecomSettings = app.configured(NAME)
        self._store = app.store
        self.account = self._settings.bot_id
        origin = self._settings.ws_url.replace("ws", "http", 1)
        self._downloads = VendorDownloads("WeCom", _MEDIA_HOSTS, origin=origin)
        self._line = SingleConnection(lambda: WecomConnection.open(self._settings))
        self._tickets = NewestValues[ReplyContext]()  # of the newest message in each place
        self._streams = NewestValues[GrowingAnswer]()  # by their ids
        self._presses = NewestValues[ReplyContext]()  # by the id of the card's task

    async def identify(self) -> BotProfile:
        """WeCom does not name the bot."""
        await try_connection(self._store, f"{NAME}:{self.account}", lambda: WecomConnection.open(self._settings))
        return BotProfile(name=self._settings.name or self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        connection = await self._line.get()
        try:
            while (frame := await connection.pushes.get()) is not None:
                if (inbound := await self._to_inbound(connection, frame)) is not None:
                    yield inbound
        finally:
            await connection.close()
        if connection.is_replaced:
            hint = "Stop the other one, then start this gateway again: WeCom allows one connection for each bot."
            raise self._line.shut_out(KeyRefused("Another program has taken over this bot.", hint=hint))
        raise PlatformDown("The connection to WeCom was lost.")

    async def _to_inbound(self, connection: WecomConnection, frame: Mapping[str, Any]) -> Inbound | None:
        body, request = read_object(frame, "body"), read_text(read_object(frame, "headers"), "req_id")
        context = ReplyContext(request=request, connection=connection, at=time.monotonic())
        if frame.get("cmd") == "aibot_event_callback" and (press := messages.to_press(body)) is not None:
            self._presses[press[1]] = context
            return press[0]
        bare = messages.to_inbound(body, self._settings.name) if frame.get("cmd") == "aibot_msg_callback" else None
        if bare is None:
            return None
        inbound = await attach_files(bare, (self._fetch(*one) for one in messages.read_media(body)))
        if inbound is not None and request:
            self._tickets[build_session_key(inbound.place)] = context
        return inbound

    async def _fetch(self, url: str, key: str) -> File:
        data, _ = await self._downloads.fetch_bytes(url)
        data = decrypt_file(data, key) if key else data
        return File(name="file", media_type=guess_media_type(data) or "application/octet-stream", data=data)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Answers the newest message with a stream. It is left open if the text ends in an ellipsis, for edits."""
        content = self._to_content(text, plain)
        ticket = self._tickets.pop(build_session_key(place), None)
        if ticket is not None and ticket.is_usable(_STREAM_SECONDS):
            sent = Sent(place=place, id=f"{_STREAM_PREFIX}{uuid.uuid4().hex}")
            try:
                await self._write_stream(ticket, sent.id, content)
            except SendRefused as error:
                if error.kind != "forbidden":
                    raise
            else:
                return sent
        return await self._push(place, "markdown", {"content": content})

    async def _write_stream(self, context: ReplyContext, id: str, content: str) -> None:
        is_growing = content.endswith(_MORE)
        await self._put_stream(context, id, content, is_finished=not is_growing)
        if is_growing:
            self._streams[id] = GrowingAnswer(context=context, content=content, at=time.monotonic())
        else:
            self._streams.pop(id, None)

    async def _put_stream(self, context: ReplyContext, id: str, content: str, *, is_finished: bool) -> None:
        stream = {"id": id.removeprefix(_STREAM_PREFIX), "finish": is_finished, "content": content}
        body = {"msgtype": "stream", "stream": stream}
        await context.connection.request("aibot_respond_msg", body, reply_to=context.request)

    async def _push(self, place: Place, kind: str, content: Mapping[str, Any]) -> Sent:
        """Sends a message that is not an answer."""
        chat_type = 2 if place.kind == "group" else 1
        body = {"chatid": place.chat, "chat_type": chat_type, "msgtype": kind, kind: content}
        await (await self._line.get()).request("aibot_send_msg", body)
        return Sent(place=place, id=f"message/{uuid.uuid4().hex}")  # WeCom gives none

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        """Changes an answer that is still growing, or a card within seconds after one of its buttons was pressed."""
        content = self._to_content(text, plain)
        if sent.id.startswith(CARD_PREFIX):
            task = sent.id.removeprefix(CARD_PREFIX)
            press = self._presses.pop(task, None)
            if press is None or not press.is_usable(_PRESS_SECONDS):
                raise SendRefused("WeCom replaces a card only just after a press.", kind="forbidden")
            card = messages.build_settled_card(text, task)
            body = {"response_type": "update_template_card", "template_card": card}
            await press.connection.request("aibot_respond_update_msg", body, reply_to=press.request)
            return
        answer = self._streams.get(sent.id)
        if answer is None or not answer.context.is_usable(_STREAM_SECONDS):
            await self._end_stream(sent.id)
            raise SendRefused("WeCom changes an answer only while it is growing.", kind="forbidden")
        if not content.endswith(_MORE) or time.monotonic() - answer.at >= _EDIT_SECONDS:
            await self._write_stream(answer.context, sent.id, content)

    async def _end_stream(self, id: str) -> None:
        """Ends an answer that grows for too long, so that it does not look as if it went on. The gateway sends all of
        it once more, because WeCom may not show what comes so late."""
        answer = self._streams.pop(id, None)
        if answer is not None and answer.context.connection.is_open:
            with suppress(SendRefused, PlatformDown):
                await self._put_stream(answer.context, id, answer.content, is_finished=True)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        """A card shows no Markdown."""
        check_length(text, self.info)
        task = uuid.uuid4().hex
        await self._push(place, "template_card", messages.build_card(text, task, place, buttons))
        return Sent(place=place, id=f"{CARD_PREFIX}{task}")

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        """A file has no caption there, so the caption is a message before it."""
        media = await self._upload(file)
        if caption:
            await self._push(place, "markdown", {"content": self._to_content(caption, False)})
        return await self._push(place, _media_kind(file), {"media_id": media})

    async def _upload(self, file: File) -> str:
        connection, data = await self._line.get(), file.data
        chunks = [data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES)] or [b""]
        if len(chunks) > _MAX_CHUNKS:
            raise SendRefused("The file is too large for WeCom.", kind="too_long")
        about = {
            "type": _media_kind(file),
            "filename": file.name or "file",
            "total_size": len(data),
            "total_chunks": len(chunks),
            "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        }
        upload = read_text(await connection.request("aibot_upload_media_init", about), "upload_id")
        for n, chunk in enumerate(chunks):
            part = {"upload_id": upload, "chunk_index": n, "base64_data": base64.b64encode(chunk).decode()}
            await connection.request("aibot_upload_media_chunk", part)
        media = read_text(await connection.request("aibot_upload_media_finish", {"upload_id": upload}), "media_id")
        if not media:
            raise SendRefused("WeCom did not accept the file.", kind="unknown")
        return media

    def _to_content(self, text: str, plain: bool) -> str:
        content = hide_mentions(escape_markdown(text, _MARKS) if plain else text)
        check_length(content, self.info)
        return content

    def home(self, chat: str) -> Place:
        return messages.parse_chat(chat.strip())

    async def close(self) -> None:
        await self._line.close()
        await self._downloads.close()


def _media_kind(file: File) -> str:
    return "image" if file.media_type in ("image/png", "image/jpeg") else "file"
