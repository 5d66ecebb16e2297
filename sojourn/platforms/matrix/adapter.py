"""Matrix adapter: an account on any homeserver. Rooms of two people are private chats.

The server's sync token is saved after the messages that came with it are stored. Encrypted rooms need the extra
`matrix-e2e`; without it their messages are not read, nothing is sent there, and the room is told why.
"""

from __future__ import annotations

import asyncio
import io
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import Any

from nio import (
    AsyncClient,
    AsyncClientConfig,
    ErrorResponse,
    Event,
    MatrixRoom,
    MegolmEvent,
    MessageDirection,
    RoomEncryptedMedia,
    RoomInfo,
    RoomMessage,
    RoomMessageMedia,
    RoomMessageNotice,
    RoomSendResponse,
    SyncResponse,
)
from nio.api import Api
from nio.crypto import ENCRYPTION_ENABLED
from nio.crypto.attachments import decrypt_attachment
from nio.exceptions import EncryptionError, GroupEncryptionError, LocalProtocolError, OlmTrustError

from sojourn.core.errors import BadInput, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.json_values import read_object, read_text
from sojourn.platforms.matrix import MatrixSettings
from sojourn.platforms.matrix.content import (
    build_file,
    build_relation,
    build_text_content,
    is_join,
    is_mentioned,
    is_private,
    read_relation,
    strip_reply_quote,
)
from sojourn.platforms.matrix.errors import OUTAGES, translate_error
from sojourn.platforms.matrix.invitations import Invitations
from sojourn.platforms.matrix.waiting_events import WaitingEvents
from sojourn.platforms.proxies import find_proxy
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

if ENCRYPTION_ENABLED:
    from sojourn.platforms.matrix_encryption.client import EncryptedClient

NAME = "matrix"
_REPLY_TIMEOUT_SECONDS = 120.0  # of any request
_LONG_POLL_MS = 30_000  # of one sync request
_FILTER = {
    "room": {"state": {"lazy_load_members": True}, "timeline": {"limit": 20}, "ephemeral": {"types": []}},
    "presence": {"types": []},
}
_FALLBACK_CHARS = 500
_ENCRYPTION_ERRORS = (EncryptionError, GroupEncryptionError, LocalProtocolError, OlmTrustError)
_OFF = "`encryption` is off" if ENCRYPTION_ENABLED else "install what it needs: `sojourn plugins install matrix-e2e`"

logger = logging.getLogger(__name__)


class Matrix:
    """One account on one homeserver."""

    # The SDK escapes to six bytes for each unit, and encryption adds a third; an event has at most 65,536.
    info = PlatformInfo(name=NAME, label="Matrix", max_chars=7_500, counting="utf16", prefix="!")

    def __init__(self, app: PluginContext) -> None:
        self._settings: MatrixSettings = app.configured(NAME)
        self.account = self._settings.user
        if not self.account.startswith("@") or ":" not in self.account:
            raise BadInput(f'"{self.account}" is not a Matrix user.', hint="It looks like @sojourn:example.org.")
        self._threads: dict[str, bool] = {}  # thread → whether it is addressed to us
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._key_folder = app.settings.home / NAME
        self._waiting = WaitingEvents()
        self._told: set[tuple[str, str]] = set()  # rooms, and what they were told
        self._encrypted: EncryptedClient | None = None  # our client, once its keys are loaded
        self._key_lock = asyncio.Lock()
        self._unencrypted = set[str]()  # rooms that the server was asked about
        config = AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, encryption_enabled=False)
        has_keys = ENCRYPTION_ENABLED and self._settings.encryption
        self._why_unencrypted = "" if has_keys else _OFF
        kind = EncryptedClient if has_keys else AsyncClient
        server = self._settings.homeserver.rstrip("/")
        self._client = kind(server, self.account, config=config, proxy=find_proxy(server) or None)
        self._invitations = Invitations(lambda room: self._request(self._client.join(room), "join a room"))
        self._client.user_id, self._client.access_token = self.account, self._settings.access_token.reveal()

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            await self._request(self._client.whoami(), "identify itself")
            profile = await self._request(self._client.get_profile(self.account), "read its profile")
            return BotProfile(name=profile.displayname or self.account, address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        saved = await self._cursors.load()
        since, handled = str(saved.get("since", "")), [str(one) for one in saved.get("heard", ())]
        self._waiting.restore(saved.get("waiting", ()))
        async with refusals_as_outage():
            await self._start_encryption()
            response = await self._sync(since, first=True)
            if not since:  # earlier messages are ignored
                since, handled = response.next_batch, []
                await self._cursors.save({"since": since, "heard": handled})
                response = await self._sync(since)
            while True:
                waiting = self._waiting.to_json()
                messages = [one for one in await self._messages(response, since) if one[1].event_id not in handled]
                for room, event in messages:
                    yield await self._to_inbound(room, event)
                    handled.append(event.event_id)
                    if event is not messages[-1][1]:
                        await self._cursors.save({"since": since, "heard": handled, "waiting": waiting})
                if messages or waiting != self._waiting.to_json():
                    waiting = self._waiting.to_json()
                    await self._cursors.save({"since": response.next_batch, "heard": [], "waiting": waiting})
                since, handled = response.next_batch, []
                response = await self._sync(since)

    async def _start_encryption(self) -> None:
        """Loads our keys, if encryption is installed and on."""
        async with self._key_lock:
            if self._encrypted or not (ENCRYPTION_ENABLED and isinstance(self._client, EncryptedClient)):
                return
            self._client.known_identities = dict(one.split() for one in self._settings.identities)
            me = await self._request(self._client.whoami(), "identify itself")
            start = self._client.start_encryption(self._key_folder, me.device_id)
            self._why_unencrypted = await self._request(start, "publish its keys")
            self._encrypted = None if self._why_unencrypted else self._client
        if self._why_unencrypted:
            logger.warning("encrypted rooms cannot be used: %s", self._why_unencrypted)

    async def _sync(self, since: str, *, first: bool = False) -> SyncResponse:
        timeout = 0 if first else _LONG_POLL_MS
        if first:  # the SDK ignores an answer with the token it has, even if it was cut off while it read that one
            since, self._client.next_batch = since or self._client.next_batch, ""
        sync = self._client.sync(timeout, _FILTER, since or None, full_state=first or None)
        response: SyncResponse = await self._request(sync, "sync")
        for room in response.rooms.invite if self._settings.join else ():
            self._invitations.follow(room)
        if self._encrypted:
            await self._request(self._encrypted.exchange_keys(), "exchange keys")
        return response

    async def _messages(self, response: SyncResponse, since: str) -> list[tuple[MatrixRoom, RoomMessage]]:
        """The messages of people, in the order of each room; first those whose keys have arrived."""
        rooms = self._client.rooms
        found = self._waiting.take_readable(self._encrypted.try_decrypt, rooms) if self._encrypted else []
        for id, info in response.rooms.join.items():
            events = info.timeline.events
            joined = [n for n, one in enumerate(events) if is_join(one.source, self.account)]
            if joined and not is_private(rooms[id]):
                events = events[joined[-1] :]  # messages from before we joined are ignored
            elif info.timeline.limited and not joined:
                events = await self._fetch_missed(id, info, since) + events
            found += [(id, await self._decrypt(id, one) if isinstance(one, MegolmEvent) else one) for one in events]
        messages = [(rooms[id], one) for id, one in found if isinstance(one, RoomMessage) and self._is_for_us(one)]
        return [(room, one) for room, one in messages if await self._is_believed(room, one)]

    async def _decrypt(self, room: str, event: MegolmEvent) -> Event | None:
        """The message in an encrypted event. One whose key is missing is tried again with every sync."""
        if self._encrypted is None:
            await self._tell(room, f"Messages in encrypted rooms are not read: {self._why_unencrypted}.")
            return None
        decrypted = self._encrypted.try_decrypt(event, room)
        if decrypted is None and event.sender != self.account:
            if self._encrypted.has_key(event):
                why = "it is damaged, or was sent before"
            else:
                self._waiting.add(room, event)
                why = "its key is missing; it is read when the key arrives"
            await self._tell(room, f"A message of {event.sender} was not read: {why}.")
        return decrypted

    async def _is_believed(self, room: MatrixRoom, event: RoomMessage) -> bool:
        """Whether a message in an encrypted room was encrypted, by a device of its sender."""
        if not room.encrypted and not event.decrypted:
            return True
        doubt = "it was not encrypted"
        if self._encrypted:
            doubt = await self._request(self._encrypted.find_doubt(event), "read keys")
        if doubt:
            await self._tell(room.room_id, f"A message of {event.sender} was not read: {doubt}.")
        return not doubt

    async def _tell(self, room: str, text: str) -> None:
        """Logs something, and tells a room once. Without keys it goes there unencrypted: it reveals nothing."""
        logger.warning("%s: %s", room, text)
        if (room, text) in self._told:
            return
        self._told.add((room, text))
        notice = {"msgtype": "m.notice", "body": text, "m.mentions": {}}
        try:
            if self._encrypted:
                await self._post(self._place(room), notice)
            else:
                await self._send_event(room, "m.room.message", notice)
        except SendRefused as error:
            logger.warning("%s could not be told: %s", room, error)

    async def _fetch_missed(self, room: str, info: RoomInfo, since: str) -> list[Any]:
        """Fetches the messages between the last sync token and this response, oldest first."""
        found, start = list[Any](), info.timeline.prev_batch
        while start:
            request = self._client.room_messages(room, start, since, MessageDirection.back, 100)
            page = await self._request(request, "read a room")
            found += page.chunk
            start = page.end if page.chunk else None
        return found[::-1]

    def _is_for_us(self, event: RoomMessage) -> bool:
        """Whether a person wrote it: not we, not a notice of a bot, not an edit."""
        is_edit = read_relation(event.source["content"]).replaces
        return not (event.sender == self.account or isinstance(event, RoomMessageNotice) or is_edit)

    async def _to_inbound(self, room: MatrixRoom, event: RoomMessage) -> Inbound:
        content = event.source["content"]
        relation, body, named = read_relation(content), read_text(content, "body"), is_mentioned(content, self.account)
        files = [event] if isinstance(event, RoomMessageMedia | RoomEncryptedMedia) else []
        is_name = files and content.get("filename") in (None, body)
        text = "" if is_name else strip_reply_quote(body, bool(relation.answers))
        inbound = Inbound(
            id=event.event_id,
            place=self._place(room.room_id, relation.thread),
            text=text,
            sender=Sender(id=event.sender, name=room.user_name(event.sender) or event.sender),
            at=event.server_timestamp / 1000,
            reply_to=relation.reply_to,
            mentioned=is_private(room) or named or await self._is_ours(room.room_id, relation.thread),
            named=named,
        )
        return await attach_files(inbound, (self._fetch_file(one, content) for one in files), [body]) or inbound

    async def _is_ours(self, room: str, thread: str) -> bool:
        """Whether we started a thread, or its first message mentions us."""
        if not thread:
            return False
        if thread not in self._threads:
            try:
                first = (await self._request(self._client.room_get_event(room, thread), "read a thread")).event
            except SendRefused:  # from before we joined
                return False
            if isinstance(first, MegolmEvent) and self._encrypted:
                first = self._encrypted.try_decrypt(first, room) or first
            content = read_object(first.source, "content")
            self._threads[thread] = first.sender == self.account or is_mentioned(content, self.account)
        return self._threads[thread]

    async def _fetch_file(self, event: RoomMessageMedia | RoomEncryptedMedia, content: Mapping[str, Any]) -> File:
        try:
            download = await self._request(self._client.download(event.url), "fetch a file")
            data = download.body
            if isinstance(event, RoomEncryptedMedia):
                data = decrypt_attachment(data, event.key["k"], event.hashes["sha256"], event.iv)
        except (EncryptionError, ValueError, LookupError, TypeError) as error:  # its address and key are the sender's
            raise SendRefused(str(error), kind="bad_format") from error
        return build_file(content, data, str(download.content_type or ""))

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        return await self._post(place, {**build_text_content(text, plain=plain), **build_relation(place, reply_to)})

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        new = build_text_content(text, plain=plain)
        change = {"rel_type": "m.replace", "event_id": sent.id}
        old = {"msgtype": "m.text", "body": f"* {text[:_FALLBACK_CHARS]}"}  # for clients that know no edits
        await self._post(sent.place, {**old, "m.new_content": new, "m.relates_to": change})

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        is_encrypted = await self._find_encryption(place.chat) is not None
        upload = self._client.upload(
            io.BytesIO(file.data),
            file.media_type,
            None if is_encrypted else file.name,  # the server sees this name
            encrypt=is_encrypted,
            filesize=len(file.data),
        )
        saved, keys = await self._request(upload, "send a file")
        if isinstance(saved, ErrorResponse):
            raise translate_error(saved, "send a file", self._settings)
        content = {
            "msgtype": "m.image" if file.media_type.startswith("image/") else "m.file",
            "filename": file.name,
            "body": caption or file.name,
            **({"file": {**keys, "url": saved.content_uri}} if is_encrypted else {"url": saved.content_uri}),
            "info": {"mimetype": file.media_type, "size": len(file.data)},
            "m.mentions": {},
        }
        return await self._post(place, {**content, **build_relation(place, "")})

    async def typing(self, place: Place) -> None:
        await self._request(self._client.room_typing(place.chat, True, 10_000), "show typing")

    async def react(self, sent: Sent, sign: str) -> None:
        about = {"rel_type": "m.annotation", "event_id": sent.id, "key": sign}
        await self._post(sent.place, {"m.relates_to": about}, kind="m.reaction")

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the room.")
        root = await self._post(parent, build_text_content(name, plain=True))
        return self._place(parent.chat, root.id)

    async def _post(self, place: Place, content: Mapping[str, Any], kind: str = "m.room.message") -> Sent:
        encrypted = await self._find_encryption(place.chat)
        if encrypted is None:
            return Sent(place=place, id=await self._send_event(place.chat, kind, content))
        if encrypted.should_query_keys:
            await self._request(encrypted.keys_query(), "read keys")
        send = encrypted.room_send(place.chat, kind, dict(content), ignore_unverified_devices=True)
        return Sent(place=place, id=(await self._request(send, "send")).event_id)

    async def _send_event(self, room: str, kind: str, content: Mapping[str, Any]) -> str:
        """Sends an event as it is, unencrypted."""
        method, path, data = Api.room_send(self._client.access_token, room, kind, dict(content), uuid.uuid4())
        send = self._client._send(RoomSendResponse, method, path, data, (room,))
        return str((await self._request(send, "send")).event_id)

    async def _find_encryption(self, room: str) -> EncryptedClient | None:
        """The client that encrypts what we write there; None if the room is not encrypted. SendRefused."""
        if not await self._is_encrypted(room):
            return None
        await self._start_encryption()
        if self._encrypted is None:
            why = f"{room} is encrypted, which cannot be used: {self._why_unencrypted}."
            raise SendRefused(why, kind="forbidden")
        if room not in self._client.rooms:
            await self._request(self._encrypted.add_room(room), f"see who is in {room}")
        return self._encrypted

    async def _is_encrypted(self, room: str) -> bool:
        """The server is asked once about a room that no sync calls encrypted: a sync can leave out what it is."""
        known = self._client.rooms.get(room)
        if known is not None and (known.encrypted or room in self._unencrypted):
            return bool(known.encrypted)
        try:
            await self._request(self._client.room_get_state_event(room, "m.room.encryption"), "look at a room")
        except SendRefused as error:
            if error.kind != "not_found":
                raise
            self._unencrypted |= {room} & self._client.rooms.keys()  # of these we hear of a change
            return False
        if known is not None:
            known.encrypted = True
        return True

    async def _request(self, call: Awaitable[Any], what: str) -> Any:
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):  # the SDK has no timeout for the first sync
                answer = await call
        except _ENCRYPTION_ERRORS as error:
            raise SendRefused(f"Matrix could not {what}: {error}.", kind="transient") from error
        except OUTAGES as error:
            raise PlatformDown(f"The homeserver does not answer: {str(error) or type(error).__name__}.") from error
        if isinstance(answer, ErrorResponse):
            raise translate_error(answer, what, self._settings)
        return answer

    def _place(self, room: str, thread: str = "") -> Place:
        room_state = self._client.rooms.get(room)
        name = (room_state and room_state.display_name) or ""
        if thread:
            return Place(platform=NAME, chat=room, kind="thread", thread=thread, parent=room, name=name)
        kind: PlaceKind = "dm" if room_state is None or is_private(room_state) else "group"
        return Place(platform=NAME, chat=room, kind=kind, name=name)

    def home(self, chat: str) -> Place:
        """A room (!id:server), or a person (@name:server) with a private room. Unknown rooms count as private."""
        name = chat.strip()
        if name.startswith("@"):
            shared = [id for id, room in self._client.rooms.items() if is_private(room) and name in room.users]
            if not shared:
                raise BadInput(f"There is no room with {name} alone.", hint="Let them invite Sojourn to a chat first.")
            name = shared[0]
        if not name.startswith("!"):
            raise BadInput(f'"{chat}" is not a room.', hint="A room looks like !abc:example.org, a person like @ann:…")
        return self._place(name)

    async def close(self) -> None:
        await self._invitations.close()
        await self._client.close()
