"""Teams adapter: private chats, groups and channels with a bot, to which Microsoft sends signed requests.

A request carries a token that Microsoft has signed for our bot; it names the server to answer on. In channels every
message belongs to a thread, whose first message is the number in its conversation's id.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote, urlsplit

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.downloads import VendorDownloads, attach_files, fetch_once
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.json_values import read_text
from sojourn.platforms.microsoft_identity import MicrosoftClient, TokenRefused, TokenVerifier
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.request_checks import RequestRefused, parse_request_json
from sojourn.platforms.teams import NAME, SECRET_VARIABLE, TeamsSettings, activities
from sojourn.platforms.teams.activities import AttachedFile, build_place, build_text
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_CHANNEL_ID = "msteams"
_SERVICE_HOSTS = ("smba.trafficmanager.net", "smba.infra.gov.teams.microsoft.us", "smba.infra.dod.teams.microsoft.us")
_FILE_HOSTS = ("sharepoint.com", "sharepoint.us", "teams.microsoft.com", *_SERVICE_HOSTS)
_SERVICE_SECONDS = 10 * 365 * 86_400.0  # for which the server of a chat is remembered
_STORE_TIMEOUT_SECONDS = 12.0  # Teams waits for 15


class Teams:
    """One bot."""

    info = PlatformInfo(name=NAME, label="Microsoft Teams", max_chars=20_000, counting="bytes")

    def __init__(self, app: PluginContext) -> None:
        self._settings: TeamsSettings = app.configured(NAME)
        settings = self._settings
        self.account = settings.app_id
        self._client = MicrosoftClient(
            "Teams",
            settings.service_url,
            login_url=f"{settings.login_url}/{settings.tenant}/oauth2/v2.0/token",
            client_id=settings.app_id,
            secret=settings.app_secret,
            scope="https://api.botframework.com/.default",
            key=SECRET_VARIABLE,
        )
        self._verifier = TokenVerifier(settings.openid_url)
        self._servers = ReplyTickets(app.store, NAME, self.account)  # the server of each chat
        self._downloads = VendorDownloads("Teams", _FILE_HOSTS, origin=settings.service_url)
        self._receiver = HttpReceiver(
            app.store, NAME, settings, self._read_request, timeout_seconds=_STORE_TIMEOUT_SECONDS
        )

    async def identify(self) -> BotProfile:
        """Teams does not tell a bot its name; a token shows that its secret is good."""
        async with refusals_as_outage():
            await self._client.token.get()
        return BotProfile(name="your bot in Teams", address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        await self.identify()
        async with aclosing(self._receiver.receive()) as received:
            async for bare, activity in received:
                if (inbound := await self._complete(bare, activity)) is not None:
                    yield inbound

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[tuple[Inbound, dict[str, Any]]]:
        if request.method != "POST" or request.path:
            raise RequestRefused("its address is not the bot's")
        claims, endorsements = await self._verify(request.headers.get("authorization", ""))
        activity = parse_request_json(request.body)
        server, signed = read_text(activity, "serviceUrl"), read_text(claims, "serviceurl")
        if server != (signed or read_text(claims, "serviceUrl")) or not self._is_server(server):
            raise RequestRefused("it names another server than its token, or a foreign one")
        if read_text(activity, "channelId") != _CHANNEL_ID or (endorsements and _CHANNEL_ID not in endorsements):
            raise RequestRefused("it does not come from Teams")
        is_message = activity.get("type") == "message" and activities.is_from_tenant(activity, self._settings.tenant)
        inbound = activities.to_inbound(activity) if is_message else None
        return Delivery(items=((inbound.id, (inbound, activity)),) if inbound is not None else ())

    async def _verify(self, header: str) -> tuple[dict[str, Any], list[Any]]:
        """The claims of a request's token, and what its key may be used for. RequestRefused."""
        scheme, _, token = header.partition(" ")
        if scheme != "Bearer" or not token:
            raise RequestRefused("it has no token")
        try:
            claims, key = await self._verifier.verify(token, audience=self._settings.app_id)
        except TokenRefused as error:
            raise RequestRefused(f"its token is not good: {error}") from error
        except (PlatformDown, KeyRefused) as error:
            raise RequestRefused("the keys of Microsoft cannot be fetched", status=503) from error
        if read_text(claims, "iss") != self._settings.issuer:
            raise RequestRefused("its token has another issuer")
        endorsements = key.get("endorsements")
        return claims, endorsements if isinstance(endorsements, list) else []

    def _is_server(self, url: str) -> bool:
        """Whether a server is Microsoft's: our token will be sent there."""
        address, known = urlsplit(url), urlsplit(self._settings.service_url)
        if (address.scheme, address.netloc) == (known.scheme, known.netloc):
            return True
        return address.scheme == "https" and address.netloc in _SERVICE_HOSTS

    async def _complete(self, inbound: Inbound, activity: Mapping[str, Any]) -> Inbound | None:
        """Fetches the files of a message, and remembers the server of its chat."""
        chat, server = build_place(inbound.place.chat), read_text(activity, "serviceUrl")
        await self._servers.save(chat, server, expires_at=time.time() + _SERVICE_SECONDS)
        return await attach_files(inbound, (self._fetch(one) for one in activities.read_files(activity)))

    async def _fetch(self, file: AttachedFile) -> File:
        """A file of a message. Pictures lie on Microsoft's servers, which want to know who asks."""
        if not file.is_ours:
            return await self._downloads.fetch(file.url, name=file.name)
        authorization = f"Bearer {await self._client.token.get()}"
        trusted: dict[str, Any] = {"authorization": authorization, "authorized_hosts": _SERVICE_HOSTS}
        downloads = VendorDownloads("Teams", _SERVICE_HOSTS, origin=self._settings.service_url, **trusted)
        return await fetch_once(downloads, file.url, file.name)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        return await self._post(place, build_text(text, plain=plain), reply_to=reply_to)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        check_length(text, self.info)
        return await self._post(place, activities.build_question(text, buttons, plain=plain), reply_to=reply_to)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        path = f"{await self._build_path(sent.place)}/{quote(sent.id, safe='')}"
        await self._client.call("PUT", path, {**build_text(text, plain=plain), "id": sent.id, "attachments": []})

    async def typing(self, place: Place) -> None:
        await self._client.call("POST", await self._build_path(place), {"type": "typing"})

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Posts a first message in the channel; what follows it is the thread."""
        if parent.kind != "channel":
            raise ThreadsUnsupported("Teams has threads in channels only.", hint="Name a channel of a team.")
        try:
            first = await self.send(parent, name, plain=True)
        except SendRefused as error:
            if error.kind in ("rate_limited", "transient"):
                raise
            raise ThreadsUnsupported(f"Teams does not allow a thread there. {error}", hint=error.hint) from error
        return build_place(f"{parent.chat};messageid={first.id}", parent.name)

    async def _post(self, place: Place, activity: Mapping[str, Any], *, reply_to: str = "") -> Sent:
        answered = {"replyToId": activities.read_message_number(reply_to)} if reply_to else {}
        page = await self._client.call("POST", await self._build_path(place), {**activity, **answered})
        if not (id := read_text(page, "id")):
            raise SendRefused("Teams answers without a result.", kind="unknown")
        return Sent(place=place, id=id)

    async def _build_path(self, place: Place) -> str:
        """The address of a chat's messages, on the server that the chat is on."""
        saved = await self._servers.find(build_place(place.chat))
        server = saved.value if saved is not None and self._is_server(saved.value) else self._settings.service_url
        conversation = quote(activities.build_conversation(place), safe="")
        return f"{server.rstrip('/')}/v3/conversations/{conversation}/activities"

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._client.close()
        await self._downloads.close()
