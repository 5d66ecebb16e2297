"""One Slack app in one workspace. An envelope that is not acknowledged is sent again by Slack."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from sojourn.core.errors import PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore, ReceivedCursor
from sojourn.platforms.emoji_names import name_of
from sojourn.platforms.markdown import escaped
from sojourn.platforms.slack.backfill import missed, moment
from sojourn.platforms.slack.errors import code_of, hint_for, kind_of, refused
from sojourn.platforms.slack.files import fetched, put
from sojourn.platforms.slack.messages import inbound, is_said, message_id, named, place_of, pressed, ts_of, with_buttons
from sojourn.platforms.slack.mrkdwn import to_mrkdwn
from sojourn.platforms.slack.settings import NAME, SlackSettings
from sojourn.platforms.slack.socket import Socket
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import Button, File, Inbound, PlatformInfo, Sent
from sojourn.ports.records import RecordStore

_MOST = 39_000  # Slack cuts at 40,000, and what is escaped counts more
_MOST_NAME = 80
_TYPING = 100.0  # seconds


class Slack:
    """The app's account."""

    info = PlatformInfo(name=NAME, label="Slack", max_chars=_MOST, prefix="!")  # / belongs to Slack itself

    def __init__(self, settings: SlackSettings, store: RecordStore) -> None:
        self._settings, self._opening = settings, asyncio.Lock()
        self._team, self._us = settings.team, ""
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None
        self._position = CursorStore(store, NAME, self.account)
        self._heard: ReceivedCursor | None = None
        self._typing: dict[Place, float] = {}  # when it was last shown

    @property
    def account(self) -> str:
        """The app's id, which stands open in its app-level token (xapp-1-A0123-…)."""
        parts = self._settings.app_token.reveal().split("-")
        return parts[2] if len(parts) > 3 else sha256(self._settings.app_token.reveal().encode()).hexdigest()[:12]

    # hearing
    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with _listening():
            web = await self._open()
        before = await self._position.heard()
        self._heard = before or await self._position.begin(int(time.time() * 1_000_000))
        while True:
            socket = Socket(self._settings.app_token.reveal(), web)
            try:
                async with _listening(app=True):
                    await socket.open(self._settings.answer_seconds)
                if before is not None:
                    async with _listening():
                        events, before = await missed(web, self._heard), None
                    for event in events:
                        if (heard := await self._said(event)) is not None:
                            yield heard
                            await self._keep(heard)
                while (request := await socket.next()) is not None:
                    if request.type == "events_api":
                        if (heard := await self._said(request.payload.get("event", {}))) is not None:
                            yield heard
                            await self._keep(heard)
                    elif request.type == "interactive" and (press := pressed(request.payload, self._team)):
                        yield press
                    async with _listening():
                        await socket.acknowledge(request)
            finally:
                await socket.shut()
            if not socket.is_refreshed:
                raise PlatformDown("The line to Slack was lost.", hint="It is opened again by itself.")

    async def _said(self, event: Mapping[str, Any]) -> Inbound | None:
        """What a person said, if it was not heard before."""
        async with _listening():
            heard = await self._inbound(event)
        return heard if heard is not None and self._heard is not None and not self._heard.has(heard.id) else None

    async def _keep(self, heard: Inbound) -> None:
        """It is safe; the next listener begins behind it, and looks there."""
        assert self._heard is not None
        where = message_id(heard.place.chat, heard.place.thread) if heard.place.thread else heard.place.chat
        self._heard = self._heard.plus(heard.id, moment(ts_of(heard.id))).there(where)
        await self._position.keep_heard(self._heard)

    async def _inbound(self, event: Mapping[str, Any]) -> Inbound | None:
        if not is_said(event, self._us):
            return None
        assert self._session is not None
        files, lost = list[File](), list[str]()
        for one in event.get("files") or ():
            try:
                files.append(await fetched(self._session, self._settings.token.reveal(), one))
            except SendRefused as error:
                lost.append(f"[A file was sent, but could not be fetched: {one.get('name') or 'no name'}. {error}]")
        return inbound(event, self._team, self._us, tuple(files), lost)

    # sending
    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Answers go where the question stood: a reply would begin a thread, which is another place."""
        return await self.ask(place, text, (), plain=plain)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        web = await self._open()
        written = _written(text, plain)
        async with _translated():
            answer = await web.chat_postMessage(
                channel=place.chat,
                text=written,
                blocks=with_buttons(text if plain else written, buttons, plain=plain) if buttons else None,
                thread_ts=place.thread,
                mrkdwn=not plain,
                unfurl_links=False,
                unfurl_media=False,
            )
        return Sent(place=place, id=message_id(place.chat, str(answer["ts"])))

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        web = await self._open()
        async with _translated():  # blocks stay unless others, or none, are given
            await web.chat_update(channel=sent.place.chat, ts=ts_of(sent.id), text=_written(text, plain), blocks=[])

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        web = await self._open()
        assert self._session is not None
        async with _translated():
            return Sent(
                place=place, id=await put(web, self._session, place, file, to_mrkdwn(caption) if caption else "")
            )

    async def react(self, sent: Sent, sign: str) -> None:
        web = await self._open()
        async with _translated():
            try:
                await web.reactions_add(channel=sent.place.chat, timestamp=ts_of(sent.id), name=name_of(sign))
            except SlackApiError as error:
                if code_of(error) != "already_reacted":
                    raise

    async def typing(self, place: Place) -> None:
        """Slack shows it in threads only, for two minutes or until something is sent; so it is not shown again soon."""
        if not place.thread or time.monotonic() - self._typing.get(place, -_TYPING) < _TYPING:
            return
        web, self._typing[place] = await self._open(), time.monotonic()
        async with _translated():
            await web.assistant_threads_setStatus(channel_id=place.chat, thread_ts=place.thread, status="is thinking…")

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """A first message in the channel; what hangs below it is the thread."""
        web = await self._open()
        async with _translated():
            try:
                seed = await web.chat_postMessage(
                    channel=parent.chat, text=escaped(name.strip()[:_MOST_NAME] or "Sojourn"), mrkdwn=False
                )
            except SlackApiError as error:
                if kind_of(error) not in ("forbidden", "not_found"):
                    raise
                why = f"Slack lets nobody begin a thread there: {code_of(error)}."
                raise ThreadsUnsupported(why, hint=hint_for(error)) from error
        if self._heard is not None:  # what is written there may have to be looked up
            self._heard = self._heard.there(message_id(parent.chat, str(seed["ts"])))
            await self._position.keep_heard(self._heard)
        return place_of(self._team, parent.chat, str(seed["ts"]))

    def home(self, chat: str) -> Place:
        return named(chat, self._team)

    async def close(self) -> None:
        session, self._session, self._web = self._session, None, None
        if session is not None:
            await session.close()

    async def _open(self) -> AsyncWebClient:
        """The client, after it has been told who it is: that shows whether the token is right."""
        async with self._opening:
            if self._web is None:
                limit = aiohttp.ClientTimeout(total=self._settings.answer_seconds)
                self._session = self._session or aiohttp.ClientSession(timeout=limit, trust_env=True)
                web = AsyncWebClient(
                    token=self._settings.token.reveal(),
                    base_url=self._settings.base_url.rstrip("/") + "/",
                    session=self._session,
                    retry_handlers=[],  # a second try could be a second message: that is the gateway's to decide
                )
                async with _translated():
                    who = await web.auth_test()
                self._team, self._us, self._web = str(who["team_id"]), str(who["user_id"]), web
        return self._web


def make(kit: PluginContext) -> Slack:
    return Slack(kit.configured(NAME), kit.store)


def _written(text: str, plain: bool) -> str:
    if len(text) > _MOST:
        raise SendRefused(f"{len(text):,} characters are too many for one message of Slack.", kind="too_long")
    return escaped(text) if plain else to_mrkdwn(text)


@asynccontextmanager
async def _translated(*, app: bool = False) -> AsyncIterator[None]:
    try:
        yield
    except SlackApiError as error:
        raise refused(error, app=app) from error
    except (SlackClientError, aiohttp.ClientError, OSError, TimeoutError) as error:
        why = str(error) or type(error).__name__
        raise PlatformDown(f"Slack does not answer: {why}.", hint="It is tried again by itself.") from error


@asynccontextmanager
async def _listening(*, app: bool = False) -> AsyncIterator[None]:
    """Whatever keeps us from hearing is a lost line."""
    try:
        async with _translated(app=app):
            yield
    except SendRefused as error:
        raise PlatformDown(str(error), hint=error.hint) from error
