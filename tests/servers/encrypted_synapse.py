"""The test harness of `matrix` in encrypted rooms: people write and read with clients of the SDK that have keys."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, Self

from nio import (
    AsyncClient,
    AsyncClientConfig,
    Event,
    MegolmEvent,
    MessageDirection,
    ReactionEvent,
    RoomEncryptedMedia,
    RoomMessage,
)
from nio.crypto import decrypt_attachment
from nio.store import SqliteStore

from sojourn.core.places import Place, Sender
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.synapse import ENCRYPTION, MatrixHarness


@asynccontextmanager
async def key_client(address: str, user: str, token: str, folder: Path) -> AsyncIterator[AsyncClient]:
    """A client of the SDK, as other people run it, with its keys in a folder."""
    config = AsyncClientConfig(encryption_enabled=True, store=SqliteStore)
    client = AsyncClient(address, user, store_path=str(folder), config=config)
    client.user_id, client.access_token = user, token
    try:
        client.restore_login(user, (await client.whoami()).device_id, token)
        await sync(client, full_state=True)
        yield client
    finally:
        await client.close()
        client.store.database.close()


async def sync(client: AsyncClient, **how: Any) -> None:
    await client.sync(timeout=0, **how)
    if client.should_upload_keys:
        await client.keys_upload()
    if client.should_query_keys:
        await client.keys_query()
    if client.should_claim_keys:
        await client.keys_claim(client.get_users_for_key_claiming())
    await client.send_to_device_messages()


class EncryptedHarness(MatrixHarness):
    has_encryption = True
    allows_plaintext = False
    damage_files = False

    async def __aenter__(self) -> Self:
        self._clients: dict[str, Any] = {}
        await super().__aenter__()
        for person in self.people:
            await self.open_client(person.id)
        return self

    async def __aexit__(self, *args: object) -> None:
        for one in self._clients.values():
            await one.__aexit__(None, None, None)
        await super().__aexit__(*args)

    async def open_client(self, user: str) -> None:
        folder = self._world.home / "people"
        folder.mkdir(parents=True, exist_ok=True)
        self._clients[user] = key_client(f"http://127.0.0.1:{self._world.port}", user, self._tokens[user], folder)
        self.clients = getattr(self, "clients", {}) | {user: await self._clients[user].__aenter__()}

    async def make_room(self, by: str, *others: str, join: bool = True, **more: Any) -> str:
        state = {"initial_state": [ENCRYPTION]}
        return await super().make_room(by, *others, join=join, **{**state, **more})

    async def post(self, room: str, content: dict[str, Any], by: str) -> str:
        client = self.clients[by]
        await sync(client)
        sent = await client.room_send(room, "m.room.message", content, ignore_unverified_devices=True)
        return str(sent.event_id)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        author = by.id if by.id in self._tokens else self.people[0].id
        content: dict[str, Any] = {"msgtype": "m.notice" if by.is_bot else "m.text", "body": text}
        for file in files:
            saved, keys = await self.clients[author].upload(
                BytesIO(file.data), file.media_type, encrypt=True, filesize=len(file.data)
            )
            content |= {"msgtype": "m.image", "filename": file.name, "info": {"mimetype": file.media_type}}
            content["file"] = {**keys, "url": saved.content_uri}
            if self.damage_files:
                content["file"]["hashes"] = {"sha256": "A" * 43}
        if place.thread:
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": place.thread}
        return await self.post(place.chat, content, author)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        client = self.clients[self.people[0].id]
        await sync(client)
        page = await client.room_messages(
            place.chat, self._began.get(place.chat, ""), direction=MessageDirection.front, limit=200
        )
        found: dict[str, PostedMessage] = {}
        for event in page.chunk:
            await self._add(found, event, place.thread)
        return list(found.values())

    async def _add(self, found: dict[str, PostedMessage], event: Event, thread: str | None) -> None:
        assert not isinstance(event, MegolmEvent), f"{event.sender} wrote what the other client cannot read"
        if isinstance(event, ReactionEvent) and event.reacts_to in found:
            old = found[event.reacts_to]
            found[old.id] = replace(old, reactions=(*old.reactions, event.key))
        if not isinstance(event, RoomMessage):
            return
        assert event.decrypted or self.allows_plaintext, f"{event.sender} wrote without encryption"
        content = event.source["content"]
        relation = content.get("m.relates_to", {})
        if relation.get("rel_type") == "m.replace":
            old = found[relation["event_id"]]
            found[old.id] = replace(old, text=content["m.new_content"]["body"])
        elif (relation["event_id"] if relation.get("rel_type") == "m.thread" else None) == thread:
            files = tuple[File, ...]()
            if isinstance(event, RoomEncryptedMedia):
                body = (await self.clients[self.people[0].id].download(event.url)).body
                data = decrypt_attachment(body, event.key["k"], event.hashes["sha256"], event.iv)
                files = (File(name="", media_type="", data=data),)
            found[event.event_id] = PostedMessage(id=event.event_id, text=content["body"], by=event.sender, files=files)
