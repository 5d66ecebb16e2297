"""DingTalk adapter: private chats and groups over Stream mode.

Answers go through the Open API; where the app lacks that right, through the session webhook of the last message, as
long as it lives. With the template of an AI card, messages are cards: they can be edited and have buttons.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from sojourn.core.errors import SendRefused
from sojourn.core.places import Place
from sojourn.platforms.card_buttons import build_button_data
from sojourn.platforms.dingtalk import NAME, DingTalkSettings, messages
from sojourn.platforms.dingtalk.api import CARD_TOPIC, MESSAGE_TOPIC, DingTalkApi
from sojourn.platforms.dingtalk.messages import FileReference, StreamFrame, build_message, to_markdown
from sojourn.platforms.downloads import VendorDownloads, attach_files
from sojourn.platforms.json_socket import JsonSocket, open_socket
from sojourn.platforms.json_values import to_json
from sojourn.platforms.markdown import escape_markdown
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_MEDIA_HOSTS = ("dingtalk.com", "aliyuncs.com", "alicdn.com")
_MAX_PARAM_BYTES = 15_000  # of the parameters of a message
_CARD_PREFIX = "card/"
_MARKS = "\\`*_{}[]<>()#+.!|~-"


class DingTalk:
    """One robot of one company."""

    info = PlatformInfo(name=NAME, label="DingTalk", max_chars=14_000, counting="bytes")

    def __init__(self, app: PluginContext) -> None:
        self._settings: DingTalkSettings = app.configured(NAME)
        self.account = self._settings.client_id
        self._robot = self._settings.robot_code or self._settings.client_id
        self._api = DingTalkApi(self._settings)
        self._downloads = VendorDownloads("DingTalk", _MEDIA_HOSTS, origin=self._settings.oapi_url)
        self._sessions = ReplyTickets(app.store, NAME, self.account)

    async def identify(self) -> BotProfile:
        """DingTalk names no robot to the app; it says whether it knows the app."""
        async with refusals_as_outage():
            await self._api.token.get()
        return BotProfile(name=self._robot)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage(), AsyncExitStack() as stack:
            socket = await self._open(stack)
            while True:
                frame = messages.parse_frame(await socket.receive())
                if frame.type == "SYSTEM" and frame.topic == "disconnect":  # the server is about to close it
                    old, socket = socket, await self._open(stack)
                    await old.close()
                    continue
                if (inbound := await self._to_inbound(frame)) is not None:
                    yield inbound
                await socket.send(_build_reply(frame))

    async def _open(self, stack: AsyncExitStack) -> JsonSocket:
        return await stack.enter_async_context(open_socket("DingTalk", await self._api.open_stream()))

    async def _to_inbound(self, frame: StreamFrame) -> Inbound | None:
        if frame.type != "CALLBACK" or frame.topic not in (MESSAGE_TOPIC, CARD_TOPIC):
            return None
        if frame.topic == CARD_TOPIC:
            return messages.to_press(frame, f"{_CARD_PREFIX}{frame.data.get('outTrackId')}")
        if (bare := messages.to_inbound(frame.data)) is None:
            return None
        inbound = await attach_files(bare, (self._fetch(one) for one in messages.read_attachments(frame.data)))
        if inbound is not None:
            await self._save_session(inbound.place, frame.data)
        return inbound

    async def _save_session(self, place: Place, data: Mapping[str, Any]) -> None:
        webhook, until = data.get("sessionWebhook"), data.get("sessionWebhookExpiredTime")
        if isinstance(webhook, str) and isinstance(until, int) and self._api.is_session_webhook(webhook):
            await self._sessions.save(place, webhook, expires_at=min(until, 10**14) / 1000)

    async def _fetch(self, file: FileReference) -> File:
        body = {"robotCode": self._robot, "downloadCode": file.code}
        page = await self._api.call("POST", "/v1.0/robot/messageFiles/download", json=body)
        return await self._downloads.fetch(str(page.get("downloadUrl", "")), name=file.name)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        session = await self._sessions.find(place)
        try:
            if place.chat.startswith("$"):
                hint = "They are not of your company: it can answer them for some time after they wrote, not first."
                raise SendRefused("DingTalk lets the robot only answer this person.", kind="forbidden", hint=hint)
            return await self._post(place, *build_message(text, plain=plain))
        except SendRefused as error:
            if error.kind != "forbidden" or session is None:
                raise
        await self._api.post_to_session(session.value, messages.build_session_message(text, plain=plain))
        return Sent(place=place, id=f"session/{uuid.uuid4().hex}")  # DingTalk gives none

    async def _post(self, place: Place, kind: str, params: Mapping[str, str]) -> Sent:
        """Sends a message through the Open API."""
        param = to_json(params)
        if len(param.encode()) > _MAX_PARAM_BYTES:
            raise SendRefused("The message is too long for DingTalk.", kind="too_long")
        body: dict[str, Any] = {"robotCode": self._robot, "msgKey": kind, "msgParam": param}
        if place.kind == "group":
            body |= {"openConversationId": place.chat}
            page = await self._api.call("POST", "/v1.0/robot/groupMessages/send", json=body)
        else:
            body |= {"userIds": [place.chat]}
            page = await self._api.call("POST", "/v1.0/robot/oToMessages/batchSend", json=body)
            if page.get("invalidStaffIdList"):
                raise SendRefused(f"DingTalk does not know the person {place.chat}.", kind="not_found")
            if page.get("flowControlledStaffIdList"):
                raise SendRefused("DingTalk wants fewer messages to this person.", kind="rate_limited")
        if not page.get("processQueryKey"):
            raise SendRefused("DingTalk answers without a result.", kind="unknown")
        return Sent(place=place, id=str(page["processQueryKey"]))

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        media = await self._api.upload(file)
        if file.media_type.startswith("image/"):  # in Markdown, as a picture alone has no caption
            text = f"![]({media})" + (f"\n\n{to_markdown(caption)}" if caption else "")
            return await self._post(
                place, "sampleMarkdown", {"title": messages.build_title(caption or file.name), "text": text}
            )
        if caption:
            await self._post(place, *build_message(caption, plain=False))
        suffix = file.name.rpartition(".")[2] if "." in file.name else "bin"
        return await self._post(
            place, "sampleFile", {"mediaId": media, "fileName": file.name or "file", "fileType": suffix}
        )

    def home(self, chat: str) -> Place:
        return messages.place_from_chat(chat.strip())

    async def close(self) -> None:
        await self._api.close()
        await self._downloads.close()


class DingTalkCards(DingTalk):
    """The same, with the template of an AI card whose variables are `content` and `buttons`."""

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """A card, which can be edited; plain text is no card, so that it is shown as it is."""
        if plain or place.chat.startswith("$"):
            return await super().send(place, text, plain=plain)
        return await self.ask(place, text, ())

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        check_length(text, self.info)
        id, is_group = uuid.uuid4().hex, place.kind == "group"
        space, model = ("IM_GROUP", "imGroup") if is_group else ("IM_ROBOT", "imRobot")
        deliver = {"robotCode": self._robot} if is_group else {"spaceType": space, "robotCode": self._robot}
        body = {
            "cardTemplateId": self._settings.card_template,
            "outTrackId": id,
            "callbackType": "STREAM",
            "cardData": {"cardParamMap": _build_card(text, place, buttons, plain=plain)},
            "openSpaceId": f"dtv1.card//{space}.{place.chat}",
            f"{model}OpenSpaceModel": {"supportForward": False},
            f"{model}OpenDeliverModel": deliver,
        }
        await self._api.call("POST", "/v1.0/card/instances/createAndDeliver", json=body)
        return Sent(place=place, id=f"{_CARD_PREFIX}{id}")

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        if not sent.id.startswith(_CARD_PREFIX):
            raise SendRefused("DingTalk can change only its cards.", kind="forbidden")
        body = {
            "outTrackId": sent.id.removeprefix(_CARD_PREFIX),
            "cardData": {"cardParamMap": _build_card(text, sent.place, (), plain=plain)},
            "cardUpdateOptions": {"updateCardDataByKey": True},
        }
        await self._api.call("PUT", "/v1.0/card/instances", json=body)


def _build_card(text: str, place: Place, buttons: Sequence[Button], *, plain: bool) -> dict[str, str]:
    """The variables of a card. A button brings back its place: the callback does not name it."""
    shown = [{"text": one.label, "value": to_json(build_button_data(one, place))} for one in buttons]
    content = to_markdown(escape_markdown(text, _MARKS) if plain else text)
    return {"content": content, "buttons": to_json(shown)}


def _build_reply(frame: StreamFrame) -> dict[str, Any]:
    match frame.type, frame.topic:
        case "SYSTEM", _:
            return frame.to_reply(frame.data)
        case "EVENT", _:
            return frame.to_reply({"status": "SUCCESS", "message": ""})
        case "CALLBACK", topic if topic in (MESSAGE_TOPIC, CARD_TOPIC):
            return frame.to_reply({"response": None})
        case _:
            return frame.to_reply({"response": None}, 404)


def make(app: PluginContext) -> DingTalk:
    settings: DingTalkSettings = app.configured(NAME)
    return (DingTalkCards if settings.card_template else DingTalk)(app)
