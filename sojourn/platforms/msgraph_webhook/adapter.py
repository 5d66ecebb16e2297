"""Microsoft Graph adapter: changes in Microsoft 365 are messages of a program, one sender for each watched resource.

Graph signs nothing: what proves a notification is the client state that we gave it with the subscription, another one
for each resource. A rich notification also brings tokens that Microsoft has signed, and is encrypted for us.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown
from sojourn.core.places import Place
from sojourn.platforms.answer_delivery import AnswerDelivery
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.json_values import read_object, read_objects, read_text
from sojourn.platforms.microsoft_identity import MicrosoftClient, TokenRefused, TokenVerifier
from sojourn.platforms.msgraph_webhook import NAME, SECRET_VARIABLE, MsgraphSettings, notifications
from sojourn.platforms.msgraph_webhook.notifications import Notification, to_warning
from sojourn.platforms.msgraph_webhook.rich_content import ContentKey, open_key
from sojourn.platforms.msgraph_webhook.subscriptions import LIFECYCLE_PATH, Subscriptions
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.request_checks import RequestRefused, is_equal, parse_request_json
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Inbound, PlatformInfo, Sent

GRAPH_APP_ID = "0bf30f3b-4a52-48df-9a82-234910c4a086"  # of the part of Graph that sends notifications
_STORE_TIMEOUT_SECONDS = 2.5  # Graph waits for 3
_MAX_BODY_BYTES = 4 * 1024 * 1024
_MAX_CHECK_CHARS = 2000  # of the token that Graph checks our address with
_ACCEPTED = RequestAnswer(status=202)


class MsgraphWebhook:
    """One application in one tenant."""

    info = PlatformInfo(name=NAME, label="Microsoft Graph", max_chars=notifications.MAX_CHARS, system=True)

    def __init__(self, app: PluginContext) -> None:
        self._settings: MsgraphSettings = app.configured(NAME)
        settings, self._resources = self._settings, self._settings.parse_resources()
        self.account = f"{settings.tenant}:{settings.client_id}"
        self._key: ContentKey | None = None
        if any(one.is_rich for one in self._resources.values()):
            self._key = open_key(Path(settings.key_file or app.settings.home / f"{NAME}.pem"))
        self._client = MicrosoftClient(
            "Microsoft Graph",
            settings.graph_url,
            login_url=f"{settings.login_url}/{settings.tenant}/oauth2/v2.0/token",
            client_id=settings.client_id,
            secret=settings.client_secret,
            scope=f"{settings.graph_url}/.default",
            key=SECRET_VARIABLE,
        )
        self._verifier = TokenVerifier(f"{settings.login_url}/common/.well-known/openid-configuration")
        self._subscriptions = Subscriptions(settings, self._resources, app.store, self._client, self._key)
        limits: dict[str, Any] = {"timeout_seconds": _STORE_TIMEOUT_SECONDS, "max_body_bytes": _MAX_BODY_BYTES}
        self._receiver = HttpReceiver(app.store, NAME, settings, self._read_request, **limits)
        self._answers = AnswerDelivery(f"[plugins.{NAME}.resources.{{}}]")
        for one in self._resources.values():
            self._answers.add(one.name, one.deliver, one.secret)

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            await self._client.token.get()
        return BotProfile(name=", ".join(self._resources), address=self._settings.public_url)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        """Graph checks our address when a subscription is made, so these are kept while we serve."""
        await self.identify()
        arrival: asyncio.Task[Notification] | None = None
        async with refusals_as_outage(), self._receiver.serve(), aclosing(self._receiver.read_items()) as received:
            care = asyncio.create_task(self._subscriptions.keep())
            try:
                while True:
                    arrival = asyncio.ensure_future(anext(received))
                    await asyncio.wait({arrival, care}, return_when=asyncio.FIRST_COMPLETED)
                    if not arrival.done():
                        care.result()  # raises why the subscriptions cannot be kept
                    if (inbound := await self._to_inbound(arrival.result())) is not None:
                        yield inbound
            finally:
                tasks = [one for one in (arrival, care) if one is not None and not one.done()]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[Notification]:
        if request.method != "POST" or request.path not in ("", LIFECYCLE_PATH):
            raise RequestRefused("its address is not the one of notifications")
        if (token := request.query.get("validationToken")) and self._subscriptions.is_checked:
            return RequestAnswer(body=token[:_MAX_CHECK_CHARS].encode(), media_type="text/plain")
        document = parse_request_json(request.body)
        found = [(one, self._find_name(one)) for one in read_objects(document, "value")]
        ours = [(one, name) for one, name in found if name]
        if not ours:
            raise RequestRefused("it has no client state of ours")
        if any(read_object(one, "encryptedContent") for one, _ in ours):
            await self._check_tokens(document)
        told = [notifications.build_notification(name, one, self._decrypt(one)) for one, name in ours]
        return Delivery(items=tuple((one.id, one) for one in told), answer=_ACCEPTED)

    def _find_name(self, item: Mapping[str, Any]) -> str:
        """The resource whose client state a notification has; empty if it has none of ours."""
        state = read_text(item, "clientState")
        changes = (read_text(item, "changeType"), read_text(item, "lifecycleEvent"))
        known = [name for name in self._resources if is_equal(state, self._settings.build_state(name))]
        return known[0] if known and any(changes) and read_text(item, "subscriptionId") else ""

    async def _check_tokens(self, document: Mapping[str, Any]) -> None:
        """RequestRefused unless every token says that Graph has sent this to our application."""
        tokens = document.get("validationTokens")
        if not isinstance(tokens, list) or not 0 < len(tokens) < 100:
            raise RequestRefused("it has no tokens of Microsoft")
        settings = self._settings
        issuers = (f"{settings.login_url}/{settings.tenant}/v2.0", f"https://sts.windows.net/{settings.tenant}/")
        try:
            for token in tokens:
                claims, _ = await self._verifier.verify(str(token), audience=settings.client_id)
                sender = read_text(claims, "azp") or read_text(claims, "appid")
                if read_text(claims, "iss") not in issuers or sender != GRAPH_APP_ID:
                    raise TokenRefused("it is not from Graph")
        except TokenRefused as error:
            raise RequestRefused(f"a token of Microsoft is not good: {error}") from error
        except (PlatformDown, KeyRefused) as error:
            raise RequestRefused("the keys of Microsoft cannot be fetched", status=503) from error

    def _decrypt(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        content = read_object(item, "encryptedContent")
        if not content:
            return {}
        try:
            if self._key is None:
                raise ValueError("there is no key for it")
            return self._key.decrypt(content)
        except ValueError as error:
            raise RequestRefused(f"its content cannot be decrypted: {type(error).__name__}") from error

    async def _to_inbound(self, notification: Notification) -> Inbound | None:
        match notification.lifecycle_event:
            case "":
                return notifications.to_inbound(notification)
            case "subscriptionRemoved":
                await self._subscriptions.forget(notification.name)
                return to_warning(notification)
            case "missed":
                return to_warning(notification)
        self._subscriptions.wake(notification.name)
        return None

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Answers go to the address in the settings: an application may not write into chats of Microsoft 365."""
        check_length(text, self.info)
        return await self._answers.post(place, text, plain=plain, reply_to=reply_to)

    def home(self, chat: str) -> Place:
        if chat not in self._resources:
            hint = f"Choose from: {', '.join(self._resources)}."
            raise BadInput(f'There is no watched resource "{chat[:80]}".', hint=hint)
        return notifications.build_place(chat)

    async def close(self) -> None:
        await self._client.close()
        await self._answers.close()
