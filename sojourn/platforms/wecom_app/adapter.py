"""WeCom application adapter: private chats of members with a self-built app, over encrypted callbacks.

WeCom repeats a callback three times if it is not acknowledged within five seconds. Buttons stay: what was sent cannot
be edited.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from sojourn.core.errors import BadConfig
from sojourn.core.places import Place
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.request_checks import RequestRefused, is_recent
from sojourn.platforms.wecom_app import NAME, WecomAppSettings, callbacks, messages
from sojourn.platforms.wecom_app.api import WecomAppApi
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
            key = callbacks.parse_aes_key(self._settings.aes_key.reveal())
        except ValueError as error:
            hint = "Copy the EncodingAESKey again: it has 43 letters and digits."
            raise BadConfig("[plugins.wecom_app] aes_key is not a key.", hint=hint) from error
        token = self._settings.token.reveal()
        self._keys = callbacks.CallbackKeys(token=token, aes_key=key, receiver=self._settings.corp_id)
        self._receiver = HttpReceiver(
            app.store, NAME, self._settings, self._read_request, timeout_seconds=_STORE_TIMEOUT_SECONDS
        )

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            return await self._api.fetch_profile()

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        await self.identify()  # a wrong secret would be noticed only by the first answer
        async with aclosing(self._receiver.receive()) as received:
            async for fields in received:
                if (inbound := await self._to_inbound(fields)) is not None:
                    yield inbound

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[Mapping[str, str]]:
        if request.path:
            raise RequestRefused("its address is not the callback's")
        if request.method == "GET":  # WeCom asks for this when the address is entered
            words = callbacks.open_callback(self._keys, request.query, request.query.get("echostr", ""))
            return RequestAnswer(body=words.encode(), media_type="text/plain")
        text = callbacks.open_callback(self._keys, request.query, callbacks.find_encrypted(request.body))
        if not is_recent(request.query.get("timestamp", ""), _MAX_AGE_SECONDS):
            raise RequestRefused("its time is too far from ours")
        fields = callbacks.parse_fields(text)
        ours = (self._settings.corp_id, str(self._settings.agent_id))
        if (fields.get("ToUserName"), fields.get("AgentID")) != ours or messages.to_inbound(fields) is None:
            return RequestAnswer()
        return Delivery(items=((messages.build_id(fields)[:300], fields),))

    async def _to_inbound(self, fields: Mapping[str, str]) -> Inbound | None:
        inbound, media = messages.to_inbound(fields), messages.find_media(fields)
        if inbound is None or not media:
            return inbound
        return await attach_files(inbound, (self._api.download(one) for one in [media]))

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """WeCom would cut a longer text off silently."""
        check_length(text, self.info)
        return Sent(place=place, id=await self._api.send(place.chat, messages.build_text(text, plain=plain)))

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        question, shown = uuid.uuid4().hex, text
        if len(text) > messages.MAX_CARD_CHARS:
            await self.send(place, text, plain=plain)
            shown = "Choose one, please."
        await self._api.send(place.chat, messages.build_card(question, shown, buttons))
        return Sent(place=place, id=question)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        """A caption is a message of its own: WeCom has none."""
        kind, media = await self._api.upload(file)
        if caption:
            await self.send(place, caption, plain=True)
        return Sent(place=place, id=await self._api.send(place.chat, {"msgtype": kind, kind: {"media_id": media}}))

    def home(self, chat: str) -> Place:
        return messages.build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()
