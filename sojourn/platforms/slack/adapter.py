"""Slack adapter: one app in one workspace. Slack sends an envelope again if it is not acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from sojourn.core.errors import PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore, ReceivedCursor
from sojourn.platforms.downloads import VendorDownloads, attach_files
from sojourn.platforms.emoji_names import emoji_name
from sojourn.platforms.markdown import escape_html
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.slack import NAME, SlackSettings, messages
from sojourn.platforms.slack.backfill import fetch_missed, to_microseconds
from sojourn.platforms.slack.errors import error_code, translate_error
from sojourn.platforms.slack.messages import build_message_id, parse_timestamp, to_button_press, to_mrkdwn
from sojourn.platforms.slack.socket import SocketModeConnection
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_MAX_NAME_CHARS = 80
_TYPING_SECONDS = 100.0


class Slack:
    """The app's account."""

    # Slack truncates at 40,000, and escaped characters count more; commands with / are its own.
    info = PlatformInfo(name=NAME, label="Slack", max_chars=39_000, prefix="!")

    def __init__(self, app: PluginContext) -> None:
        self._settings: SlackSettings = app.configured(NAME)
        self._team, self._bot_user = self._settings.team, ""
        self._open_lock = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._downloads = VendorDownloads(
            "Slack",
            messages.FILE_HOSTS,
            origin=self._settings.base_url,
            authorization=f"Bearer {self._settings.token.reveal()}",
            authorized_hosts=messages.TOKEN_HOSTS,
        )
        self._web: AsyncWebClient | None = None
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._cursor: ReceivedCursor | None = None
        self._typing: dict[Place, float] = {}  # when it was last sent

    @property
    def account(self) -> str:
        """The app's id, which is part of its app-level token (xapp-1-A0123-…)."""
        parts = self._settings.app_token.reveal().split("-")
        return parts[2] if len(parts) > 3 else sha256(self._settings.app_token.reveal().encode()).hexdigest()[:12]

    async def identify(self) -> BotProfile:
        async with refusals_as_outage(), self._use_web() as web:
            identity = await web.auth_test()
            return BotProfile(name=str(identity["user"]), address=str(identity["url"]))

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage(), self._use_web() as web:
            before = await self._cursors.load_cursor()
            self._cursor = before or await self._cursors.start(int(time.time() * 1_000_000))
            while True:
                socket = SocketModeConnection(self._settings.app_token.reveal(), web)
                try:
                    async with _translate_errors(app=True):
                        await socket.open(self._settings.answer_seconds)
                    if before is not None:
                        events, before = await fetch_missed(web, self._cursor), None
                        for event in events:
                            if (inbound := await self._to_new_inbound(event)) is not None:
                                yield inbound
                                await self._save_position(inbound)
                    while (request := await socket.next()) is not None:
                        if request.type == "events_api":
                            if (inbound := await self._to_new_inbound(request.payload.get("event", {}))) is not None:
                                yield inbound
                                await self._save_position(inbound)
                        elif request.type == "interactive" and (press := to_button_press(request.payload, self._team)):
                            yield press
                        await socket.acknowledge(request)
                finally:
                    await socket.terminate()
                if not socket.is_refreshed:
                    raise PlatformDown("The connection to Slack was lost.", hint="It reconnects automatically.")

    async def _to_new_inbound(self, event: Mapping[str, Any]) -> Inbound | None:
        """The message of a person, if it is new."""
        inbound = await self._to_inbound(event)
        is_new = inbound is not None and self._cursor is not None and not self._cursor.contains(inbound.id)
        return inbound if is_new else None

    async def _save_position(self, inbound: Inbound) -> None:
        """Saves the cursor behind a stored message, and its chat for the next backfill."""
        assert self._cursor is not None
        chat, thread = inbound.place.chat, inbound.place.thread
        cursor = self._cursor.advance(inbound.id, to_microseconds(parse_timestamp(inbound.id)))
        self._cursor = cursor.with_place(build_message_id(chat, thread) if thread else chat)
        await self._cursors.save_cursor(self._cursor)

    async def _to_inbound(self, event: Mapping[str, Any]) -> Inbound | None:
        if not messages.is_person_message(event, self._bot_user):
            return None
        files = event.get("files") or ()
        inbound, names = messages.to_inbound(event, self._team, self._bot_user), [str(one.get("name")) for one in files]
        return await attach_files(inbound, (messages.fetch_file(self._downloads, one) for one in files), names)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Ignores `reply_to`: a reply would start a thread, which is another place."""
        return await self.ask(place, text, (), plain=plain)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        markup = self._to_markup(text, plain)
        async with self._use_web() as web:
            response = await web.chat_postMessage(
                channel=place.chat,
                text=markup,
                blocks=messages.build_blocks(text if plain else markup, buttons, plain=plain) if buttons else None,
                thread_ts=place.thread,
                mrkdwn=not plain,
                unfurl_links=False,
                unfurl_media=False,
            )
        return Sent(place=place, id=build_message_id(place.chat, str(response["ts"])))

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        markup = self._to_markup(text, plain)
        async with self._use_web() as web:  # without `blocks` the old ones would stay
            await web.chat_update(channel=sent.place.chat, ts=parse_timestamp(sent.id), text=markup, blocks=[])

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        async with self._use_web() as web:
            assert self._session is not None
            id = await messages.upload_file(web, self._session, place, file, to_mrkdwn(caption) if caption else "")
        return Sent(place=place, id=id)

    async def react(self, sent: Sent, sign: str) -> None:
        async with self._use_web() as web:
            try:
                channel, ts = sent.place.chat, parse_timestamp(sent.id)
                await web.reactions_add(channel=channel, timestamp=ts, name=emoji_name(sign))
            except SlackApiError as error:
                if error_code(error) != "already_reacted":
                    raise

    async def typing(self, place: Place) -> None:
        """Slack shows it in threads only, for two minutes or until a message is sent, so it is not repeated sooner."""
        if not place.thread or time.monotonic() - self._typing.get(place, -_TYPING_SECONDS) < _TYPING_SECONDS:
            return
        self._typing[place] = time.monotonic()
        async with self._use_web() as web:
            await web.assistant_threads_setStatus(channel_id=place.chat, thread_ts=place.thread, status="is thinking…")

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Posts a first message in the channel; its replies are the thread."""
        text = escape_html(name.strip()[:_MAX_NAME_CHARS] or "Sojourn")
        try:
            async with self._use_web() as web:
                seed = await web.chat_postMessage(channel=parent.chat, text=text, mrkdwn=False)
        except SendRefused as error:
            if error.kind not in ("forbidden", "not_found"):
                raise
            raise ThreadsUnsupported(f"Slack does not allow a thread there. {error}", hint=error.hint) from error
        if self._cursor is not None:  # for the next backfill
            self._cursor = self._cursor.with_place(build_message_id(parent.chat, str(seed["ts"])))
            await self._cursors.save_cursor(self._cursor)
        return messages.place_from_channel(self._team, parent.chat, str(seed["ts"]))

    def home(self, chat: str) -> Place:
        return messages.place_from_name(chat, self._team)

    async def close(self) -> None:
        session, self._session, self._web = self._session, None, None
        await self._downloads.close()
        if session is not None:
            await session.close()

    async def _open(self) -> AsyncWebClient:
        """Returns the authenticated client; authentication validates the token."""
        async with self._open_lock:
            if self._web is None:
                limit = aiohttp.ClientTimeout(total=self._settings.answer_seconds)
                self._session = self._session or aiohttp.ClientSession(timeout=limit, trust_env=True)
                web = AsyncWebClient(
                    token=self._settings.token.reveal(),
                    base_url=self._settings.base_url.rstrip("/") + "/",
                    session=self._session,
                    retry_handlers=[],  # a retry could send a message twice: the gateway decides
                )
                identity = await web.auth_test()
                self._team, self._bot_user, self._web = str(identity["team_id"]), str(identity["user_id"]), web
        return self._web

    @asynccontextmanager
    async def _use_web(self) -> AsyncGenerator[AsyncWebClient, None]:
        """Yields the authenticated client, and translates the errors of its calls."""
        async with _translate_errors():
            yield await self._open()

    def _to_markup(self, text: str, plain: bool) -> str:
        check_length(text, self.info)
        return escape_html(text) if plain else to_mrkdwn(text)


@asynccontextmanager
async def _translate_errors(*, app: bool = False) -> AsyncGenerator[None, None]:
    try:
        yield
    except SlackApiError as error:
        raise translate_error(error, app=app) from error
    except (SlackClientError, aiohttp.ClientError, OSError, TimeoutError) as error:
        why = str(error) or type(error).__name__
        raise PlatformDown(f"Slack does not answer: {why}.", hint="It is retried automatically.") from error
