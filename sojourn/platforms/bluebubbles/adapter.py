"""BlueBubbles adapter: iMessage and SMS through a Mac.

The Mac's database is the truth: it is asked for what stands behind the last stored row, so nothing is lost while we are
away. A webhook, which BlueBubbles fires once and does not sign, only says that there is news; its address has a secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, nullcontext

from sojourn.core.errors import SendRefused
from sojourn.core.places import Place
from sojourn.platforms.bluebubbles import NAME, BluebubblesSettings
from sojourn.platforms.bluebubbles.api import BluebubblesApi
from sojourn.platforms.bluebubbles.messages import ImessageRow, build_place, parse_row
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.http_receiver import HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.json_values import read_text
from sojourn.platforms.markdown import render_plain
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.request_checks import RequestRefused, is_equal
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_WEBHOOK_POLL_SECONDS = 60.0  # in case a request was lost
_GUID_SECONDS = 10 * 365 * 86_400.0  # a chat keeps its GUID until another is seen
_REACTIONS = {"❤": "love", "👍": "like", "👎": "dislike", "😂": "laugh", "‼": "emphasize", "❓": "question"}

_log = logging.getLogger(__name__)


class Bluebubbles:
    """One Apple account on one Mac."""

    info = PlatformInfo(name=NAME, label="iMessage", max_chars=4000)

    def __init__(self, app: PluginContext) -> None:
        self._settings: BluebubblesSettings = app.configured(NAME)
        self.account = self._settings.server.rstrip("/")
        self._api, self._news = BluebubblesApi(self._settings), asyncio.Event()
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._guids = ReplyTickets(app.store, NAME, self.account)  # what the Mac calls each chat
        key = self._settings.password.reveal().encode()
        self._secret = hmac.new(key, b"sojourn webhook", hashlib.sha256).hexdigest()
        self._receiver = HttpReceiver[None](app.store, NAME, self._settings, self._read_request, timeout_seconds=1)

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            info = await self._api.fetch_info()
        account = read_text(info, "detected_imessage") or read_text(info, "detected_icloud")
        return BotProfile(name=account or "BlueBubbles", address=account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage(), self._serve():
            await self._prepare()
            after = (await self._cursors.load())["row"]
            while True:
                self._news.clear()
                found = [parse_row(one, self._settings.mention_name) for one in await self._api.list_messages(after)]
                rows = [row for row in found if row is not None and row.number > after]
                for row in rows:
                    if (inbound := await self._to_inbound(row)) is not None:
                        yield inbound
                    after = row.number
                    await self._cursors.save({"row": after})
                if not rows:
                    await self._wait_for_news()

    def _serve(self) -> AbstractAsyncContextManager[None]:
        return self._receiver.serve() if self._settings.webhook_url else nullcontext()

    async def _prepare(self) -> None:
        """Begins behind the newest message on the first start, and says what the Mac lacks."""
        info = await self._api.fetch_info()
        if self._settings.private_api and not (info.get("private_api") and info.get("helper_connected")):
            _log.warning("BlueBubbles: the Private API is not connected. On the Mac: Settings, Private API.")
        if "row" not in await self._cursors.load():
            await self._cursors.save({"row": await self._api.find_last_row()})
        if self._settings.webhook_url:
            await self._api.register_webhook(f"{self._settings.webhook_url.rstrip('/')}/{self._secret}", self._secret)

    async def _wait_for_news(self) -> None:
        seconds = _WEBHOOK_POLL_SECONDS if self._settings.webhook_url else max(1, self._settings.poll_seconds)
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer:
        """What a request says is not read: the server is asked."""
        if request.method != "POST" or not is_equal(request.path, self._secret):
            raise RequestRefused("its address has no secret")
        self._news.set()
        return RequestAnswer(status=200)

    async def _to_inbound(self, row: ImessageRow) -> Inbound | None:
        if row.inbound is None:
            return None
        await self._guids.save(row.inbound.place, row.guid, expires_at=time.time() + _GUID_SECONDS)
        return await attach_files(row.inbound, (self._api.download(one) for one in row.attachments))

    async def _find_guid(self, place: Place) -> str:
        """What the Mac calls a chat; empty for a person who has not written."""
        if (known := await self._guids.find(place)) is not None:
            return known.value
        return f"iMessage;+;{place.chat}" if place.kind == "group" else ""

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        shown, is_private = text if plain else render_plain(text), self._settings.private_api
        if guid := await self._find_guid(place):
            id = await self._api.send_text(guid, shown, is_private=is_private, reply_to=reply_to)
        else:
            id = await self._api.start_chat(place.chat, shown, is_private=is_private)
        return Sent(place=place, id=id)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        """A caption is a message of its own: iMessage has none."""
        guid = await self._find_guid(place)
        if not guid:
            raise SendRefused("The person has to write first; then files can be sent.", kind="not_found")
        if caption:
            await self.send(place, caption, plain=True)
        return Sent(place=place, id=await self._api.send_file(guid, file, is_private=self._settings.private_api))

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()


class BluebubblesPrivate(Bluebubbles):
    """With the Private API: reactions and a typing sign."""

    async def react(self, sent: Sent, sign: str) -> None:
        reaction = _REACTIONS.get(sign.removesuffix("\ufe0f"), "")
        if not reaction:
            hint = f"There are: {' '.join(_REACTIONS)}"
            raise SendRefused(f"iMessage has no reaction {sign}.", kind="bad_format", hint=hint)
        guid = await self._find_guid(sent.place)
        if not guid:
            raise SendRefused("There is no such chat.", kind="not_found")
        await self._api.react(guid, sent.id, reaction)

    async def typing(self, place: Place) -> None:
        """Marks the chat as read as well."""
        if guid := await self._find_guid(place):
            await self._api.mark_read(guid)
            await self._api.show_typing(guid)


def make(app: PluginContext) -> Bluebubbles:
    settings: BluebubblesSettings = app.configured(NAME)
    return (BluebubblesPrivate if settings.private_api else Bluebubbles)(app)
