"""WeCom application adapter: private chats of members with a self-built app, over encrypted callbacks.

WeCom repeats a callback three times if it is not acknowledged within five seconds. Buttons stay: what was sent cannot
be edited.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from sojourn.core.errors import BadConfig, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer, RequestRefused
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.wecom_app import NAME, WecomAppSettings
from sojourn.platforms.wecom_app.api import WecomAppApi
from sojourn.platforms.wecom_app.callbacks import (
    CallbackKeys,
    find_encrypted,
    open_callback,
    parse_aes_key,
    parse_fields,
)
from sojourn.platforms.wecom_app.messages import (
    MAX_CARD_CHARS,
    build_card,
    build_id,
    build_place,
    build_text,
    find_media,
    to_inbound,
)
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_STORE_TIMEOUT_SECONDS = 4.5  # WeCom waits 5
_MAX_AGE_SECONDS = 86_400.0  # what is stored is known by its id


class WecomApp:
    """One self-built app."""

    info = PlatformInfo(name=NAME, label="WeCom app", max_chars=2048, counting="bytes")

    def __init__(self, app: PluginContext) -> None:
        self._settings: WecomAppSettings = app.configured(NAME)
        self.account = f"{self._settings.corp_id}/{self._settings.agent_id}"
        self._api = WecomAppApi(self._settings)
        try:
            key = parse_aes_key(self._settings.aes_key.reveal())
        except ValueError as error:
            hint = "Copy the EncodingAESKey again: it has 43 letters and digits."
            raise BadConfig("[plugins.wecom_app] aes_key is not a key.", hint=hint) from error
        self._keys = CallbackKeys(token=self._settings.token.reveal(), aes_key=key, receiver=self._settings.corp_id)
        self._receiver = HttpReceiver(
            app.store,
            NAME,
            host=self._settings.host,
            port=self._settings.port,
            read_request=self._read_request,
            timeout_seconds=_STORE_TIMEOUT_SECONDS,
        )

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            return await self._api.fetch_profile()

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        await self.identify()  # a wrong secret would be noticed only by the first answer
        async with aclosing(self._receiver.receive()) as callbacks:
            async for fields in callbacks:
                if (inbound := await self._to_inbound(fields)) is not None:
                    yield inbound

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[Mapping[str, str]]:
        if request.path:
            raise RequestRefused("its address is not the callback's")
        if request.method == "GET":  # WeCom asks for this when the address is entered
            words = open_callback(self._keys, request.query, request.query.get("echostr", ""))
            return RequestAnswer(body=words.encode(), media_type="text/plain")
        text = open_callback(self._keys, request.query, find_encrypted(request.body))
        stamp = request.query.get("timestamp", "")
        is_number = stamp.isascii() and stamp.isdecimal() and len(stamp) < 16
        if not is_number or abs(time.time() - int(stamp)) > _MAX_AGE_SECONDS:
            raise RequestRefused("its time is too far from ours")
        fields = parse_fields(text)
        is_ours = fields.get("ToUserName") == self._settings.corp_id
        if not is_ours or fields.get("AgentID") != str(self._settings.agent_id) or to_inbound(fields) is None:
            return RequestAnswer()
        return Delivery(items=((build_id(fields)[:300], fields),))

    async def _to_inbound(self, fields: Mapping[str, str]) -> Inbound | None:
        inbound, media = to_inbound(fields), find_media(fields)
        if inbound is None or not media:
            return inbound
        try:
            return replace(inbound, files=(await self._api.download(media),))
        except (SendRefused, PlatformDown) as error:
            return replace(inbound, text=f"[A file could not be downloaded: {error}]")

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """WeCom would cut a longer text off silently."""
        check_length(text, self.info)
        return Sent(place=place, id=await self._api.send(place.chat, build_text(text, plain=plain)))

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        question, shown = uuid.uuid4().hex, text
        if len(text) > MAX_CARD_CHARS:
            await self.send(place, text, plain=plain)
            shown = "Choose one, please."
        await self._api.send(place.chat, build_card(question, shown, buttons))
        return Sent(place=place, id=question)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        """A caption is a message of its own: WeCom has none."""
        kind, media = await self._api.upload(file)
        if caption:
            await self.send(place, caption, plain=True)
        return Sent(place=place, id=await self._api.send(place.chat, {"msgtype": kind, kind: {"media_id": media}}))

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()
