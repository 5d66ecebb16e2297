"""A Telegram Bot API server: the same routes, responses and errors, for one bot and a few chats."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from html.parser import HTMLParser
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.telegram import TelegramSettings
from sojourn.platforms.telegram.adapter import Telegram
from sojourn.ports.platform import Button, File, PlatformAdapter
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import hang_up
from tests.servers.platform_server import WiredHarness, wired

BOT, TOKEN = 700100, "700100:AAE-harness-Token_of_a_bot_that_is_not_there"
NAME = "sojourn_rig_bot"
ANN, BEN = Sender(id="501", name="Ann"), Sender(id="502", name="Ben")
FORUM, GROUP, NO_TOPICS = -1001, -1002, 503
CHATS: dict[int, dict[str, Any]] = {
    501: {"id": 501, "type": "private", "first_name": "Ann"},
    502: {"id": 502, "type": "private", "first_name": "Ben"},
    NO_TOPICS: {"id": NO_TOPICS, "type": "private", "first_name": "Cy"},
    FORUM: {"id": FORUM, "type": "supergroup", "title": "Garden", "is_forum": True},
    GROUP: {"id": GROUP, "type": "supergroup", "title": "Kitchen"},
}
TAGS = {"b", "i", "s", "u", "a", "code", "pre", "blockquote"}


class Refused(Exception):
    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.body: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


class Rendered(HTMLParser):
    """Text as people see it. Telegram refuses what does not close, and tags it does not know."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self._open = "", list[str]()
        self.feed(html)
        self.close()
        if self._open:
            raise Refused(400, f"Bad Request: can't parse entities: Can't find end tag for {self._open[-1]}")

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in TAGS:
            raise Refused(400, f'Bad Request: can\'t parse entities: Unsupported start tag "{tag}"')
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            raise Refused(400, f"Bad Request: can't parse entities: Unmatched end tag {tag}")

    def handle_data(self, data: str) -> None:
        self.text += data


class TelegramServer:
    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.posts: dict[tuple[int, int | None], list[PostedMessage]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.files: dict[str, bytes] = {}
        self.queries: list[str] = []  # buttons that still show that they work
        self.faults: list[Refused] = []
        self.dead, self.url, self.webhook = False, "", False
        self._numbers, self._changed = count(1), asyncio.Condition()
        self._polls: list[web.Request] = []  # each new one ends those before it

    # the wire
    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/file/bot{token}/{path:.+}", self._file)
        app.router.add_post("/bot{token}/{method}", self._call)
        return app

    async def _file(self, request: web.Request) -> web.Response:
        data = self.files.get(request.match_info["path"])
        return web.Response(body=data) if data is not None else web.json_response({"ok": False}, status=404)

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        try:
            if request.match_info["token"] != TOKEN:
                raise Refused(401, "Unauthorized")
            given = dict((await request.post()).items())
            self.calls.append((method, given))
            if method == "getUpdates":
                result: Any = await self._get_updates(request, given)
            else:
                if self.dead and method not in ("getMe", "deleteWebhook"):
                    hang_up(request)
                result = getattr(self, f"_{method}")(given)
        except Refused as error:
            return web.json_response(error.body, status=error.body["error_code"])
        return web.json_response({"ok": True, "result": result})

    async def _get_updates(self, request: web.Request, given: dict[str, Any]) -> list[dict[str, Any]]:
        if self.webhook:
            raise Refused(409, "Conflict: can't use getUpdates method while webhook is active")
        if "offset" in given:
            self.updates = [one for one in self.updates if one["update_id"] >= int(given["offset"])]
        async with self._changed:
            self._polls.append(request)
            self._changed.notify_all()
            try:
                async with asyncio.timeout(float(given.get("timeout", 0))):
                    await self._changed.wait_for(lambda: self.updates or request is not self._polls[-1])
            except TimeoutError:
                pass
            finally:
                is_stale = request is not self._polls[-1]
                self._polls = [one for one in self._polls if one is not request]
        if is_stale:
            raise Refused(409, "Conflict: terminated by other getUpdates request")
        wanted = set(json.loads(given["allowed_updates"]))
        return [one for one in self.updates if wanted & one.keys()]

    # what a bot may call
    def _getMe(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"id": BOT, "is_bot": True, "first_name": "Sojourn", "username": NAME}

    def _deleteWebhook(self, given: dict[str, Any]) -> bool:  # noqa: N802
        self.webhook = False
        return True

    def _sendMessage(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return self._post(given, self._visible(given, "text", 4096))

    def _sendPhoto(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return self._post(given, self._visible(given, "caption", 1024), given["photo"])

    def _sendDocument(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return self._post(given, self._visible(given, "caption", 1024), given["document"])

    def _editMessageText(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        text, wanted = self._visible(given, "text", 4096), f"{given['chat_id']}/{given['message_id']}"
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == wanted:
                    if (one.text, one.buttons) == (text, _buttons(given)):
                        raise Refused(400, "Bad Request: message is not modified")
                    posts[at] = PostedMessage(id=one.id, text=text, by=one.by, buttons=_buttons(given))
                    return self._message(int(given["chat_id"]), None, int(given["message_id"]), text)
        raise Refused(400, "Bad Request: message to edit not found")

    def _answerCallbackQuery(self, given: dict[str, Any]) -> bool:  # noqa: N802
        if given["callback_query_id"] not in self.queries:
            raise Refused(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        self.queries.remove(given["callback_query_id"])
        return True

    def _sendChatAction(self, given: dict[str, Any]) -> bool:  # noqa: N802
        assert given["action"] == "typing"
        return True

    def _setMessageReaction(self, given: dict[str, Any]) -> bool:  # noqa: N802
        [sign] = json.loads(given["reaction"])
        assert sign["type"] == "emoji"
        wanted = f"{given['chat_id']}/{given['message_id']}"
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == wanted:
                    posts[at] = replace(one, reactions=(sign["emoji"],))
                    return True
        raise Refused(400, "Bad Request: message to react not found")

    def _createForumTopic(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        chat = self._chat(given)
        if not (chat.get("is_forum") or chat["id"] in (501, 502)):  # Ann and Ben have topics switched on
            raise Refused(400, "Bad Request: the chat is not a forum")
        if len(given["name"]) > 128:
            raise Refused(400, "Bad Request: TOPIC_TITLE_INVALID")
        topic = next(self._numbers)
        self.posts[(chat["id"], topic)] = []
        return {"message_thread_id": topic, "name": given["name"], "icon_color": 7322096}

    def _getFile(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        if given["file_id"] not in self.files:
            raise Refused(400, "Bad Request: file is too big")
        return {"file_id": given["file_id"], "file_unique_id": "u", "file_path": given["file_id"]}

    def _chat(self, given: dict[str, Any]) -> dict[str, Any]:
        if int(given["chat_id"]) not in CHATS:
            raise Refused(400, "Bad Request: chat not found")
        return CHATS[int(given["chat_id"])]

    def _visible(self, given: dict[str, Any], field: str, most: int) -> str:
        if self.faults:
            raise self.faults.pop(0)
        text = str(given.get(field, ""))
        if given.get("parse_mode") == "HTML":
            text = Rendered(text).text
        if len(text.encode("utf-16-le")) // 2 > most:
            raise Refused(400, f"Bad Request: message {'caption ' if field == 'caption' else ''}is too long")
        return text

    def _post(self, given: dict[str, Any], text: str, upload: Any = None) -> dict[str, Any]:
        chat, topic = self._chat(given)["id"], int(given["message_thread_id"]) if "message_thread_id" in given else None
        if (chat, topic) not in self.posts and topic is not None:
            raise Refused(400, "Bad Request: message thread not found")
        number = next(self._numbers)
        files = () if upload is None else (_file_of(upload),)
        posted = PostedMessage(id=f"{chat}/{number}", text=text, by=str(BOT), files=files, buttons=_buttons(given))
        self.posts.setdefault((chat, topic), []).append(posted)
        return self._message(chat, topic, number, text)

    def _message(self, chat: int, topic: int | None, number: int, text: str) -> dict[str, Any]:
        sender = {"id": BOT, "is_bot": True, "first_name": "Sojourn", "username": NAME}
        made = {"message_id": number, "date": int(time.time()), "chat": CHATS[chat], "from": sender, "text": text}
        return made | ({"message_thread_id": topic, "is_topic_message": True} if topic else {})

    # what people do
    async def say(self, chat: int, topic: int | None, by: Sender, **content: Any) -> str:
        number = next(self._numbers)
        sender = {"id": int(by.id), "is_bot": by.is_bot, "first_name": by.name}
        message = self._message(chat, topic, number, "") | {"from": sender}
        del message["text"]
        posted = PostedMessage(id=f"{chat}/{number}", text=str(content.get("text", "")), by=by.id)
        self.posts.setdefault((chat, topic), []).append(posted)
        async with self._changed:
            self.updates.append({"update_id": next(self._numbers), "message": message | content})
            self._changed.notify_all()
        return posted.id

    async def press(self, chat: int, topic: int | None, posted: PostedMessage, value: str, by: Sender) -> None:
        keys = [[{"text": one.label, "callback_data": one.value}] for one in posted.buttons]
        message = self._message(chat, topic, int(posted.id.rpartition("/")[2]), posted.text)
        sender = {"id": int(by.id), "is_bot": by.is_bot, "first_name": by.name}
        self.queries.append(str(next(self._numbers)))
        query = {"id": self.queries[-1], "from": sender, "chat_instance": "1", "data": value}
        query["message"] = message | {"reply_markup": {"inline_keyboard": keys}}
        async with self._changed:
            self.updates.append({"update_id": next(self._numbers), "callback_query": query})
            self._changed.notify_all()

    async def until_polled(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._polls or self.updates)  # with news it need not wait

    async def drop_connections(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._polls)
            for request in self._polls:
                hang_up(request)


def _buttons(given: dict[str, Any]) -> tuple[Button, ...]:
    rows = json.loads(given.get("reply_markup", "{}")).get("inline_keyboard", [])
    if any(len(one["callback_data"].encode()) > 64 for row in rows for one in row):
        raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
    return tuple(Button(label=one["text"], value=one["callback_data"]) for row in rows for one in row)


def _file_of(upload: Any) -> File:
    return File(name=upload.filename, media_type=upload.content_type, data=upload.file.read())


class TelegramHarness(WiredHarness[TelegramServer]):
    lacks: Mapping[str, str] = {"own messages": "Telegram does not tell a bot its own messages"}
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": "501", "group": str(FORUM)}
    threads: Sequence[PlaceKind] = ("dm", "group")
    people = (ANN, BEN)

    def __init__(self, server: TelegramServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, token: str = TOKEN) -> Telegram:
        settings = TelegramSettings(token=Secret(token), base_url=self.server.url, poll_seconds=5)
        return Telegram(With(self.kit, settings))

    def connect_wrongly(self) -> PlatformAdapter:
        return self.connect("700100:wrong")

    async def until_listening(self) -> None:
        await self.server.until_polled()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        chat, topic = int(place.chat), int(place.thread) if place.thread else None
        if chat < 0:  # in a group only what names the bot is meant for it
            text, named = f"@{NAME} {text}", [{"type": "mention", "offset": 0, "length": len(NAME) + 1}]
            return await self.server.say(chat, topic, by, text=text, entities=named)
        if files:
            self.server.files[files[0].name] = files[0].data
            document = {"file_id": files[0].name, "file_unique_id": "u", "file_name": files[0].name}
            document["mime_type"] = files[0].media_type
            return await self.server.say(chat, topic, by, caption=text, document=document)
        return await self.server.say(chat, topic, by, text=text)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.server.posts.get((int(place.chat), int(place.thread) if place.thread else None), [])

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        topic = int(place.thread) if place.thread else None
        await self.server.press(int(place.chat), topic, posted, button.value, by)

    def refusals(self, retry_after: float | None) -> Mapping[str, Refused]:
        return {
            "bad_format": Refused(400, "Bad Request: can't parse entities: Can't find end of the entity"),
            "rate_limited": Refused(429, "Too Many Requests: retry after 7", retry_after=retry_after),
            "forbidden": Refused(403, "Forbidden: bot was blocked by the user"),
            "not_found": Refused(400, "Bad Request: chat not found"),
        }


@asynccontextmanager
async def telegram_rig():
    async with wired(TelegramServer()) as server:
        harness = TelegramHarness(server)
        yield harness
        await harness.kit.close()
