"""Feishu and Lark adapter: private chats, groups and threads, over the long connection or a webhook.

An event is acknowledged when it is stored; Feishu pushes it again otherwise. A private chat is named by the open id of
the person, so that it is the same place in messages, settings and hand-offs.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import quote

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from sojourn.core.errors import SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.feishu import NAME, FeishuSettings, messages
from sojourn.platforms.feishu.api import MESSAGES, FeishuApi
from sojourn.platforms.feishu.comments import EVENT as COMMENT_EVENT
from sojourn.platforms.feishu.comments import DocumentComments, is_document, parse_documents, to_comment
from sojourn.platforms.feishu.frames import DATA, FrameParts, build_ping, decode_frame
from sojourn.platforms.feishu.messages import CARD_PREFIX, Resource, build_place, build_text, to_press, to_received
from sojourn.platforms.feishu.webhook import build_receiver
from sojourn.platforms.json_socket import open_connection
from sojourn.platforms.json_values import parse_object, read_object, read_text, to_json
from sojourn.platforms.newest_values import NewestValues
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_MESSAGE_EVENT, _PRESS_EVENT = "im.message.receive_v1", "card.action.trigger"
_ROOT_SECONDS = 10 * 365 * 86_400.0  # a thread keeps its first message
_MORE = " …"  # ends a text that is still growing
_GROWING_EDITS = 17  # of the twenty that Feishu allows; the others are for the complete text
_SIGN_NAMES = ["GLANCE", "THUMBSUP", "ThumbsDown", "CheckMark", "CrossMark", "PARTY", "THANKS", "THINKING", "OneSecond"]
_SIGN_NAMES += ["HEART", "Fire", "OK", "APPLAUSE", "Typing"]
_SIGNS = dict(zip("👀👍👎✅❌🎉🙏🤔⏳❤🔥👌👏✍", _SIGN_NAMES, strict=True))


class Feishu:
    """One self-built app of one company."""

    info = PlatformInfo(name=NAME, label="Feishu", max_chars=8000)

    def __init__(self, app: PluginContext) -> None:
        settings: FeishuSettings = app.configured(NAME)
        self.account = f"{settings.base_url.rstrip('/')}#{settings.app_id}"
        self._api = FeishuApi(settings)
        self._roots = ReplyTickets(app.store, NAME, self.account)  # the first message of each thread
        self._receiver = build_receiver(app.store, settings, is_wanted=self._is_wanted) if settings.webhook else None
        self._comments, self._documents = DocumentComments(self._api), parse_documents(settings.comments)
        self._bot = ""
        self._edits = NewestValues[int]()  # of messages

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            bot = await self._api.fetch_bot()
        self._bot = read_text(bot, "open_id")
        return BotProfile(name=read_text(bot, "app_name") or self.account, picture=read_text(bot, "avatar_url"))

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        listen = self._listen_to_socket if self._receiver is None else self._listen_to_webhook
        async with refusals_as_outage(), aclosing(listen()) as heard:
            async for inbound in heard:
                yield inbound

    async def _listen_to_webhook(self) -> AsyncGenerator[Inbound, None]:
        assert self._receiver is not None
        await self.identify()
        async with aclosing(self._receiver.receive()) as events:
            async for event in events:
                if (inbound := await self._to_inbound(event)) is not None:
                    yield inbound

    async def _listen_to_socket(self) -> AsyncGenerator[Inbound, None]:
        address, service, seconds = await self._api.open_stream()
        await self.identify()
        async with open_connection("Feishu", address) as connection:
            ping_task = asyncio.create_task(_ping(connection, service, seconds))
            try:
                parts = FrameParts()
                while True:
                    data = await connection.recv()
                    try:
                        frame = decode_frame(data) if isinstance(data, bytes) else None
                    except ValueError:
                        continue
                    if frame is None or frame.method != DATA or (payload := parts.add(frame)) is None:
                        continue
                    began, document = time.monotonic(), parse_object(payload)
                    if (inbound := await self._to_inbound(document)) is not None:
                        yield inbound
                    reply = frame.to_reply(_build_reply(document), int(1000 * (time.monotonic() - began)))
                    await connection.send(reply.encode())
            finally:
                ping_task.cancel()

    def _is_wanted(self, document: Mapping[str, Any]) -> bool:
        """Whether a person has written, or pressed a button."""
        header, event = read_object(document, "header"), read_object(document, "event")
        if header.get("event_type") == _PRESS_EVENT:
            return to_press(event, read_text(header, "event_id")) is not None
        if header.get("event_type") == COMMENT_EVENT:
            return to_comment(document, self._bot, self._documents) is not None
        received = to_received(event, self._bot) if header.get("event_type") == _MESSAGE_EVENT else None
        return received is not None and bool(received.inbound.text or received.resources)

    async def _to_inbound(self, document: Mapping[str, Any]) -> Inbound | None:
        """Maps an event; the same for the long connection and for a webhook."""
        header, event = read_object(document, "header"), read_object(document, "event")
        if header.get("event_type") == _PRESS_EVENT:
            return to_press(event, read_text(header, "event_id"))
        if header.get("event_type") == COMMENT_EVENT:
            comment = to_comment(document, self._bot, self._documents)
            return await self._comments.read(comment) if comment is not None else None
        received = to_received(event, self._bot) if header.get("event_type") == _MESSAGE_EVENT else None
        if received is None:
            return None
        inbound = received.inbound
        if received.root and inbound.place.thread:
            await self._save_root(inbound.place, received.root)
        return await attach_files(inbound, (self._fetch(inbound.id, one) for one in received.resources))

    async def _fetch(self, message: str, one: Resource) -> File:
        data, kind = await self._api.fetch_resource(message, one.key, one.kind)
        return File(name=one.name or one.kind, media_type=kind, data=data)

    async def _save_root(self, place: Place, root: str) -> None:
        await self._roots.save(place, root, expires_at=time.time() + _ROOT_SECONDS)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Ignores `reply_to`: in some groups a reply would start a thread, which is another place."""
        check_length(text, self.info)
        if is_document(place):
            return await self._comments.send(place, text, plain=plain)
        return await self._post(place, *build_text(text, plain=plain))

    async def _post(self, place: Place, kind: str, content: Mapping[str, Any]) -> Sent:
        root = await self._roots.find(place) if place.thread else None
        data = await self._api.post(place, kind, content, root.value if root else "")
        return Sent(place=place, id=str(data["message_id"]))

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        check_length(text, self.info)
        if is_document(place):
            choices = ", ".join(one.label for one in buttons)
            return await self.send(place, f"{text}\n\nAnswer with: {choices}", plain=plain)
        sent = await self._post(place, "interactive", messages.build_card(text, place, buttons, plain=plain))
        return Sent(place=place, id=f"{CARD_PREFIX}{sent.id}")

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        """Feishu allows twenty edits of a message, so a text that goes on growing is not shown more often."""
        check_length(text, self.info)
        if is_document(sent.place):
            await self._comments.edit(sent, text, plain=plain)
            return
        path = f"{MESSAGES}/{_quote_id(sent)}"
        if sent.id.startswith(CARD_PREFIX):
            body = {"content": to_json(messages.build_card(text, sent.place, (), plain=plain))}
            await self._api.call("PATCH", path, json=body)
        elif self._count_edit(sent.id) <= _GROWING_EDITS or not text.endswith(_MORE):
            kind, content = build_text(text, plain=plain)
            await self._api.call("PUT", path, json={"msg_type": kind, "content": to_json(content)})

    def _count_edit(self, id: str) -> int:
        self._edits[id] = self._edits.get(id, 0) + 1
        return self._edits[id]

    async def react(self, sent: Sent, sign: str) -> None:
        if is_document(sent.place):
            raise SendRefused("Comments are not reacted to.", kind="forbidden")
        name = _SIGNS.get(sign.removesuffix("\ufe0f"), sign.strip(":"))
        if not name.isascii():
            raise SendRefused(f"Feishu has no reaction {sign}.", kind="bad_format")
        path = f"{MESSAGES}/{_quote_id(sent)}/reactions"
        await self._api.call("POST", path, json={"reaction_type": {"emoji_type": name}})

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        if is_document(place):
            raise SendRefused("A comment takes no files.", kind="forbidden")
        key, value = await self._api.upload(file)
        if key == "image_key":
            return await self._post(place, "post", messages.build_picture(value, caption))
        if caption:
            await self.send(place, caption)
        return await self._post(place, "file", {key: value})

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Sends one line, and opens a thread with a reply to it."""
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the group.")
        try:
            root = await self.send(parent, name, plain=True)
            reply = await self._api.post(parent, *build_text("It goes on here.", plain=True), root.id)
        except SendRefused as error:
            if error.kind not in ("forbidden", "not_found"):
                raise
            raise ThreadsUnsupported(f"Feishu does not allow a thread there. {error}", hint=error.hint) from error
        if not reply.get("thread_id"):
            raise ThreadsUnsupported("Feishu has opened no thread there.", hint="It goes on in the chat itself.")
        thread = build_place(parent.chat, str(reply["thread_id"]))
        await self._save_root(thread, root.id)
        return thread

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()


async def _ping(connection: ClientConnection, service: int, seconds: float) -> None:
    """Tells the server that we are there; a lost connection is noticed by whoever receives."""
    with suppress(ConnectionClosed):
        while True:
            await connection.send(build_ping(service).encode())
            await asyncio.sleep(seconds)


def _build_reply(document: Mapping[str, Any]) -> bytes:
    answer: dict[str, Any] = {"code": 200}
    if read_object(document, "header").get("event_type") == _PRESS_EVENT:
        answer["data"] = base64.b64encode(b"{}").decode()
    return to_json(answer).encode()


def _quote_id(sent: Sent) -> str:
    return quote(sent.id.removeprefix(CARD_PREFIX), safe="")
