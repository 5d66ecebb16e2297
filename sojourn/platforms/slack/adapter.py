"""One Slack app in one workspace. An envelope that is not acknowledged is sent again by Slack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from sojourn.core.errors import PlatformDown, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.slack.messages import inbound, is_said, message_id, named, place_of, ts_of
from sojourn.platforms.slack.mrkdwn import escape, to_mrkdwn
from sojourn.platforms.slack.refusals import code_of, hint_for, kind_of, refused
from sojourn.platforms.slack.settings import NAME, SlackSettings
from sojourn.platforms.slack.socket import Socket
from sojourn.ports.kit import Kit
from sojourn.ports.platform import File, Inbound, PlatformInfo, SendRefused, Sent

_MOST = 39_000  # Slack cuts at 40,000, and what is escaped counts more
_MOST_NAME = 80


class Slack:
    """The app's account."""

    info = PlatformInfo(name=NAME, label="Slack", max_chars=_MOST, prefix="!")  # / belongs to Slack itself

    def __init__(self, settings: SlackSettings) -> None:
        self._settings, self._opening = settings, asyncio.Lock()
        self._team, self._us = settings.team, ""
        self._session: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None

    @property
    def account(self) -> str:
        """The app's id, which stands open in its app-level token (xapp-1-A0123-…)."""
        parts = self._settings.app_token.reveal().split("-")
        return parts[2] if len(parts) > 3 else sha256(self._settings.app_token.reveal().encode()).hexdigest()[:12]

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with _listening():
            web = await self._open()
        while True:
            socket = Socket(self._settings.app_token.reveal(), web)
            try:
                async with _listening(app=True):
                    await socket.open(self._settings.answer_seconds)
                while (request := await socket.next()) is not None:
                    async with _listening():
                        heard = await self._heard(request.payload) if request.type == "events_api" else None
                    if heard is not None:
                        yield heard
                    async with _listening():
                        await socket.acknowledge(request)
            finally:
                await socket.shut()
            if not socket.is_refreshed:
                raise PlatformDown("The line to Slack was lost.", hint="It is opened again by itself.")

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Answers go where the question stood: a reply would begin a thread, which is another place."""
        web = await self._open()
        async with _translated():
            answer = await web.chat_postMessage(
                channel=place.chat,
                text=_written(text, plain),
                thread_ts=place.thread,
                mrkdwn=not plain,
                unfurl_links=False,
                unfurl_media=False,
            )
        return Sent(place=place, id=message_id(place.chat, str(answer["ts"])))

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        web = await self._open()
        async with _translated():
            await web.chat_update(channel=sent.place.chat, ts=ts_of(sent.id), text=_written(text, plain))

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """A first message in the channel; what hangs below it is the thread."""
        web = await self._open()
        async with _translated():
            try:
                seed = await web.chat_postMessage(
                    channel=parent.chat, text=escape(name.strip()[:_MOST_NAME] or "Sojourn"), mrkdwn=False
                )
            except SlackApiError as error:
                if kind_of(error) not in ("forbidden", "not_found"):
                    raise
                why = f"Slack lets nobody begin a thread there: {code_of(error)}."
                raise ThreadsUnsupported(why, hint=hint_for(error)) from error
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

    async def _heard(self, payload: Mapping[str, Any]) -> Inbound | None:
        event = payload.get("event", {})
        if not is_said(event, self._us):
            return None
        files, lost = list[File](), list[str]()
        for one in event.get("files") or ():
            try:
                files.append(await self._fetched(one))
            except SendRefused as error:
                lost.append(f"[A file was sent, but could not be fetched: {one.get('name') or 'no name'}. {error}]")
        return inbound(event, self._team, self._us, tuple(files), lost)

    async def _fetched(self, file: Mapping[str, Any]) -> File:
        assert self._session is not None
        address = file.get("url_private_download") or file.get("url_private")
        if not address:
            raise SendRefused("Slack gives no address for it.", kind="not_found")
        bearer = {"Authorization": f"Bearer {self._settings.token.reveal()}"}
        async with self._session.get(str(address), headers=bearer) as answer:
            if answer.status != 200 or answer.content_type == "text/html" != file.get("mimetype"):
                raise SendRefused("The app needs the scope files:read.", kind="forbidden")  # Slack shows a login page
            kind = str(file.get("mimetype") or answer.content_type)
            return File(name=str(file.get("name") or "file"), media_type=kind, data=await answer.read())


def make(kit: Kit) -> Slack:
    return Slack(kit.configured(NAME))


def _written(text: str, plain: bool) -> str:
    if len(text) > _MOST:
        raise SendRefused(f"{len(text):,} characters are too many for one message of Slack.", kind="too_long")
    return escape(text) if plain else to_mrkdwn(text)


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
