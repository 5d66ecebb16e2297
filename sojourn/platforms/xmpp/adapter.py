"""XMPP adapter: private chats and rooms, with corrections, reactions and uploads.

The server archives messages. A cursor holds the last stored one of our account and of each room, and later ones are
fetched after a reconnect. A nick proves nothing: in a room that hides addresses nobody is heard.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import replace

from sojourn.core.errors import BadConfig, BadInput, PlatformDown, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.markdown import STAR_STYLE, render
from sojourn.platforms.newest_values import NewestValues
from sojourn.platforms.nick_calls import read_call
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.single_connection import SingleConnection
from sojourn.platforms.xmpp import NAME, XmppSettings, stanzas
from sojourn.platforms.xmpp.archive import ArchivePosition, fetch_missed, find_end
from sojourn.platforms.xmpp.connection import XmppConnection
from sojourn.platforms.xmpp.stanzas import CLIENT, ROOM_USER, ChatMessage, Element, build, build_message_id, parse_jid
from sojourn.platforms.xmpp.uploads import can_download, download, find_upload_service, upload
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_MAX_ROOMS = 50  # joined by invitation
_MAX_SEEN = 10_000  # ids of messages that came twice: from the archive, and live
_STYLE = replace(  # XEP-0393, which has no links with a label
    STAR_STYLE, schemes=(), fence=lambda text, language: f"```{language}\n{text}\n```"
)

logger = logging.getLogger(__name__)


class Xmpp:
    """One account on one server."""

    info = PlatformInfo(name=NAME, label="XMPP", max_chars=8000, counting="bytes", prefix="!")

    def __init__(self, app: PluginContext) -> None:
        self._settings: XmppSettings = app.configured(NAME)
        jid = parse_jid(self._settings.jid)
        if jid is None:
            hint = "It looks like sojourn@example.org."
            raise BadConfig(f'"{self._settings.jid}" is not an XMPP address.', hint=hint)
        self.account, self._server = str(jid.bare), str(jid.domain)
        self._rooms: dict[str, bool] = {}  # room → whether the settings name it
        self._rooms = {self.home(one).chat: True for one in self._settings.rooms}
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._positions: dict[str, ArchivePosition] = {}
        self._line = SingleConnection(self._open)
        self._upload_service = ""
        self._hidden: set[str] = set()  # rooms that do not show who writes

    async def _open(self) -> XmppConnection:
        await self._load()
        connection = await XmppConnection(self._settings, self.account).open()
        try:
            for room in self._rooms:
                await self._join(connection, room)
        except PlatformDown:
            await connection.close()
            raise
        return connection

    async def _load(self) -> None:
        saved = await self._cursors.load()
        found = {str(key): ArchivePosition.parse(one) for key, one in dict(saved.get("archives", {})).items()}
        self._positions = {key: one for key, one in found.items() if one is not None}
        self._rooms |= {str(one): False for one in saved.get("rooms", ()) if one not in self._rooms}

    async def _save(self) -> None:
        saved = {key: one.to_json() for key, one in self._positions.items()}
        await self._cursors.save({"archives": saved, "rooms": [one for one, named in self._rooms.items() if not named]})

    async def _join(self, connection: XmppConnection, room: str) -> None:
        try:
            await connection.join(room)
        except SendRefused as error:
            logger.warning("%s cannot be joined: %s", room, error)

    async def identify(self) -> BotProfile:
        """Logs in as another device, which nobody sees: beside a gateway that may be running."""
        connection = await XmppConnection(self._settings, self.account, resource="").open(is_seen=False)
        await connection.close()
        return BotProfile(name=self.account.partition("@")[0], address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        connection, seen = await self._line.get(), NewestValues[None](_MAX_SEEN)
        early = deque(connection.stanzas.get_nowait() for _ in range(connection.stanzas.qsize()))
        await self._load()
        async with refusals_as_outage():
            archived = {one for one in (self.account, *connection.nicks) if await self._find_position(connection, one)}
            for archive in archived:
                async for position, message in fetch_missed(connection, archive, self._positions[archive]):
                    if message is not None and archive not in connection.open_rooms:
                        message = replace(message, author="")  # only there the archive says who wrote it
                    if message is not None and self._is_heard(connection, message):
                        seen[message.archive_id] = None
                        yield await self._to_inbound(connection, message)
                        self._positions[archive] = position
                        await self._save()
                    self._positions[archive] = position
            while True:
                is_early = bool(early)  # came before the archive was asked, so it was there, if it is archived
                if (xml := early.popleft() if early else await connection.stanzas.get()) is None:
                    break
                is_invitation = await self._accept_invitation(connection, xml)
                message = None if is_invitation else stanzas.parse_message(xml, archive=self.account)
                if message is None:
                    continue
                shown = connection.find_author(message.chat, message.sender.resource)
                message = replace(message, author=shown)  # what a live message says of its author anybody could write
                if not self._is_heard(connection, message):
                    continue
                archive = message.chat if message.is_group else self.account
                if archive not in self._positions:  # without an archive its ids mean nothing
                    message = replace(message, archive_id="")
                if message.archive_id in seen or (is_early and message.archive_id):
                    continue
                yield await self._to_inbound(connection, message)
                if message.archive_id:
                    seen[message.archive_id] = None
                    self._positions[archive] = ArchivePosition(message.archive_id, message.at or time.time())
                    await self._save()
        raise connection.problem

    async def _find_position(self, connection: XmppConnection, archive: str) -> bool:
        """Whether there is an archive. At first its end is our position: earlier messages are ignored."""
        if archive not in self._positions:
            end = await find_end(connection, archive)
            if end is None:
                logger.warning("%s keeps no archive: what is written while we are away is lost", archive)
                return False
            self._positions[archive] = end
            await self._save()
        return True

    async def _accept_invitation(self, connection: XmppConnection, xml: Element) -> bool:
        """Joins a room that somebody invites us to; whether it was an invitation."""
        direct, by_room = xml.find("{jabber:x:conference}x"), xml.find(f"{ROOM_USER}x/{ROOM_USER}invite")
        if (direct is None and by_room is None) or xml.get("type") in ("groupchat", "error"):
            return False
        room = parse_jid(direct.get("jid", "") if direct is not None else xml.get("from", ""))
        is_new = room is not None and str(room.bare) not in connection.nicks
        if self._settings.join and room is not None and is_new and len(self._rooms) < _MAX_ROOMS:
            await self._join(connection, str(room.bare))
            if str(room.bare) in connection.nicks:
                self._rooms.setdefault(str(room.bare), False)
                await self._find_position(connection, str(room.bare))
                await self._save()
        return True

    def _is_heard(self, connection: XmppConnection, message: ChatMessage) -> bool:
        """Whether somebody wrote it whom we can know: not we, and nobody behind a nick."""
        if not message.is_group:
            return message.chat != self.account and message.chat not in self._rooms
        if message.chat not in connection.nicks or not message.sender.resource:
            return False
        if not message.author and message.chat not in self._hidden:
            self._hidden.add(message.chat)
            logger.warning("%s hides who writes there, so nobody is heard; let the room show addresses", message.chat)
        return bool(message.author) and message.author != self.account

    async def _to_inbound(self, connection: XmppConnection, message: ChatMessage) -> Inbound:
        text, fetches, is_called = message.text, list[Awaitable[File]](), not message.is_group
        if message.is_group:
            nick = connection.nicks.get(message.chat, self._settings.nick)
            text, is_named = read_call(text, nick)
            is_called = is_named or message.reply_author == f"{message.chat}/{nick}"
        if message.link and can_download(message.link, self._settings, self._server):
            text, fetches = text.replace(message.link, "").strip(), [download(message.link)]
        sender = message.author if message.is_group else message.chat
        answers = message.reply_to
        inbound = Inbound(
            id=message.id,
            place=self._place(message.chat, is_group=message.is_group),
            sender=Sender(id=sender, name=message.sender.resource if message.is_group else message.sender.user),
            text=text,
            at=message.at or time.time(),
            reply_to=answers and (build_message_id(answers, "") if message.is_group else build_message_id("", answers)),
            mentioned=is_called,
        )
        return await attach_files(inbound, fetches, [message.link]) or inbound

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        content = self._build_body(text, plain=plain)
        if reply_to and (id := self._find_reference(Sent(place=place, id=reply_to))):
            content.append(build(stanzas.REPLY, id=id))
        return await self._post(place, content)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        change = build(stanzas.CORRECTION, id=stanzas.parse_message_id(sent.id)[1])
        await self._post(sent.place, [*self._build_body(text, plain=plain), change])

    async def react(self, sent: Sent, sign: str) -> None:
        id = self._find_reference(sent)
        if not id:
            raise SendRefused("The server gave this message no id to react to.", kind="not_found")
        reaction = build(stanzas.REACTIONS, "", build("{urn:xmpp:reactions:0}reaction", sign), id=id)
        await self._post(sent.place, [reaction, build("{urn:xmpp:hints}store")])

    async def typing(self, place: Place) -> None:
        state = [build("{http://jabber.org/protocol/chatstates}composing"), build("{urn:xmpp:hints}no-store")]
        connection = await self._line.get()
        await connection.send(place.chat, state, is_group=place.kind == "group", is_confirmed=False)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        connection = await self._line.get()
        if not self._upload_service:
            self._upload_service = await find_upload_service(connection, self._server)
        link = await upload(connection, self._upload_service, file, tls=self._settings.tls)
        body = self._build_body(f"{caption}\n{link}".strip(), plain=True)
        return await self._post(place, [*body, build(stanzas.LINK, "", build("{jabber:x:oob}url", link))])

    def _build_body(self, text: str, *, plain: bool) -> list[Element]:
        if plain:
            return [build(f"{CLIENT}body", text), build("{urn:xmpp:styling:0}unstyled")]
        return [build(f"{CLIENT}body", render(text, _STYLE))]

    @staticmethod
    def _find_reference(sent: Sent) -> str:
        """The id by which others know a message: in a room its archive id, else the sender's."""
        archive_id, origin_id = stanzas.parse_message_id(sent.id)
        return archive_id if sent.place.kind == "group" else origin_id

    async def _post(self, place: Place, content: list[Element]) -> Sent:
        connection, is_group = await self._line.get(), place.kind == "group"
        if is_group and place.chat not in connection.nicks:
            await connection.join(place.chat)
        archive_id, origin_id = await connection.send(place.chat, content, is_group=is_group)
        return Sent(place=place, id=build_message_id(archive_id, origin_id))

    def _place(self, chat: str, *, is_group: bool) -> Place:
        return Place(platform=NAME, chat=chat, kind="group" if is_group else "dm", name=chat)

    def home(self, chat: str) -> Place:
        """A person or a room by address; one that is not among our rooms counts as a person."""
        jid = parse_jid(chat.strip())
        if jid is None or jid.resource:
            raise BadInput(f'"{chat}" is not an XMPP address.', hint="It looks like ann@example.org.")
        return self._place(str(jid.bare), is_group=str(jid.bare) in self._rooms)

    async def close(self) -> None:
        await self._line.close()
