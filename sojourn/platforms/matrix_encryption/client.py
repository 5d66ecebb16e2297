"""Encrypted rooms: a client with keys of its own, and whose devices it believes.

Keys are in the home. The homeserver lists people's devices, and could list one of its own; so a person's identity is
remembered when it is first seen (or named in the settings), and from then on only devices that it signed are
believed: their messages are read, and they get the keys of ours. A person without an identity is believed as far as the
homeserver is. Messages are read once: a replayed one is refused, after a restart as well.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nio import (
    AsyncClient,
    ErrorResponse,
    Event,
    JoinedMembersResponse,
    KeysQueryError,
    KeysQueryResponse,
    MatrixRoom,
    MegolmEvent,
)
from nio.crypto import Olm, OlmDevice
from nio.exceptions import EncryptionError, LocalProtocolError

from sojourn.platforms.matrix_encryption.device_signatures import (
    OwnIdentity,
    SigningIdentity,
    build_seeds,
    find_identity,
    keep_readable,
)
from sojourn.platforms.matrix_encryption.key_store import KeyStore, MessageIndexes, open_key_store

_PATH = "/_matrix/client/v3"

_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, AssertionError)  # anybody can send anything

logger = logging.getLogger(__name__)


class GuardedOlm(Olm):  # type: ignore[misc]  # the SDK has no types
    """The SDK's crypto, with what others send kept from stopping it."""

    def __init__(self, user: str, device: str, store: KeyStore) -> None:
        super().__init__(user, device, store)
        self.message_index_store = MessageIndexes(store)

    def handle_to_device_event(self, event: Any) -> Any:
        try:
            return super().handle_to_device_event(event)
        except _UNREADABLE as error:
            logger.warning("a key message from %s was not understood: %r", event.sender, error)
            return None

    def handle_response(self, response: Any) -> None:
        try:
            super().handle_response(response)
        except _UNREADABLE as error:
            logger.warning("some keys of others were not understood: %r", error)

    def verify_json(self, json: Any, user_key: str, user_id: str, device_id: str) -> bool:
        try:
            return bool(super().verify_json(json, user_key, user_id, device_id))
        except _UNREADABLE:  # a key that is none
            return False

    def decrypt_megolm_event(self, event: MegolmEvent, room_id: str | None = None) -> Any:
        try:
            return super().decrypt_megolm_event(event, room_id)
        except _UNREADABLE as error:
            raise EncryptionError(f"not understood: {error!r}") from error


class EncryptedClient(AsyncClient):  # type: ignore[misc]  # the SDK has no types
    """A client whose device has keys."""

    store: KeyStore
    olm: GuardedOlm | None
    known_identities: Mapping[str, str] = {}  # master keys by user, from the settings
    _is_closed = False

    def open_keys(self, folder: Path, device: str) -> None:
        """Loads the keys of our device; PlatformDown if another process has them."""
        self.device_id = device
        self.store = open_key_store(folder, self.user_id, device)
        self.olm = GuardedOlm(self.user_id, device, self.store)
        self.encrypted_rooms = self.store.load_encrypted_rooms()

    async def call(self, method: str, path: str, body: object) -> dict[str, Any]:
        """Asks the server; its error is an `errcode` in the answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.access_token}"}
        return dict(await self.parse_body(await self.send(method, path, json.dumps(body), headers)))

    async def keys_query(self) -> KeysQueryResponse | ErrorResponse:
        """Asks for the devices of users, and decides which are believed. The SDK calls it where it needs them."""
        users = self.users_for_key_query
        if not users:
            raise LocalProtocolError("No key query required.")
        asked: dict[str, Any] = {"device_keys": {user: [] for user in users}}
        raw = keep_readable(await self.call("POST", f"{_PATH}/keys/query", asked))
        response = KeysQueryResponse.from_dict(raw)
        if isinstance(response, KeysQueryError):
            return response
        devices = json.loads(json.dumps(raw["device_keys"]))  # the SDK changes what it is given
        await self.receive_response(response)
        for user in devices:
            self._judge_devices(user, find_identity(raw, user), devices[user])
        return response

    def _judge_devices(self, user: str, identity: SigningIdentity | None, devices: Mapping[str, Any]) -> None:
        known = self.known_identities.get(user) or self.store.find_master_key(user)
        if identity is not None and not known:
            self.store.save_master_key(user, identity.master)
        elif known and (identity is None or identity.master != known):
            now = f"is now {identity.master}" if identity else "is gone"
            hint = "if it was really them who changed it, add it to `identities` of [plugins.matrix]"
            logger.warning("the identity of %s %s; their devices are not believed; %s", user, now, hint)
            identity = None
        for device in self.olm.device_store.active_user_devices(user) if self.olm else ():
            if identity is not None and identity.has_signed(user, devices.get(device.id, {})):
                self.verify_device(device)
            elif identity is not None or known:
                self.blacklist_device(device)

    async def add_room(self, room: str) -> JoinedMembersResponse | ErrorResponse:
        """Remembers an encrypted room that no sync has told us about, and who is in it. An error if we are not."""
        response = await self.joined_members(room)
        if isinstance(response, JoinedMembersResponse):
            self.rooms.setdefault(room, MatrixRoom(room, self.user_id, encrypted=True))
            await self.receive_response(response)
        return response

    async def exchange_keys(self) -> None:
        """What is due after a sync: uploads keys, asks for devices, and answers other devices."""
        if self.should_upload_keys:
            await self.keys_upload()
        if self.should_query_keys:
            await self.keys_query()
        if self.should_claim_keys:
            await self.keys_claim(self.get_users_for_key_claiming())
        await self.send_to_device_messages()

    def try_decrypt(self, event: MegolmEvent, room: str) -> Event | None:
        """The message in an encrypted event; None while its key is missing, or if it was replayed."""
        event.room_id = room
        found = self.olm.decrypt_event(event, room) if self.olm else None
        return found if isinstance(found, Event) else None

    def has_key(self, event: MegolmEvent) -> bool:
        known = self.olm.inbound_group_store if self.olm else None
        return known is not None and known.get(event.room_id, event.sender_key, event.session_id) is not None

    async def find_doubt(self, event: Event) -> str:
        """Why a decrypted message is not believed to come from its sender; "" if it is."""
        if self.olm is None or not event.decrypted:
            return "it was not encrypted"
        device = self._find_device(event)
        if device is None:
            self.olm.users_for_key_query.add(event.sender)
            await self.keys_query()
            device = self._find_device(event)
        session = self.olm.inbound_group_store.get(event.room_id, event.sender_key, event.session_id)
        if device is None or session is None or session.ed25519 != device.ed25519:
            return "it comes from a device that is not theirs"
        if device.blacklisted:
            return "its device is not signed by their identity; verify it with one of their other devices"
        return "its key was passed on by somebody else" if session.forwarding_chain else ""

    def _find_device(self, event: Event) -> OlmDevice | None:
        """A device that has since signed out counts as well."""
        devices = self.olm.device_store[event.sender].values() if self.olm else ()
        return next((one for one in devices if one.curve25519 == event.sender_key), None)

    async def start_encryption(self, folder: Path, device: str) -> str:
        """Loads the keys of our device, publishes them and signs them. Says why there is no encryption, if so."""
        self.open_keys(folder, device)
        assert self.olm is not None
        raw, mine = await self._query_own_keys(), self.olm.account.identity_keys["ed25519"]
        own = _find_device_keys(raw, self.user_id, device)
        if own is not None and own["keys"].get(f"ed25519:{device}") != mine:
            self._close_keys()
            return f"the device {device} of its access token has the keys of another program; sign in anew"
        if self.should_upload_keys:
            await self.keys_upload()
        await self._sign_own_device()
        return ""

    async def _query_own_keys(self) -> dict[str, Any]:
        return await self.call("POST", f"{_PATH}/keys/query", {"device_keys": {self.user_id: []}})

    async def _sign_own_device(self) -> None:
        """Makes an identity for an account that has none, and signs our device with it, so that other clients believe
        it. One that belongs to another client has to sign it there."""
        assert self.olm is not None
        raw, seeds = await self._query_own_keys(), self.store.list_seeds()
        own, identity = _find_device_keys(raw, self.user_id, self.device_id), find_identity(raw, self.user_id)
        if own is None or (identity is not None and identity.has_signed(self.user_id, own)):
            return
        if identity is None:
            seeds = seeds or build_seeds()
            self.store.save_seeds(seeds)
            await self._upload("/keys/device_signing/upload", OwnIdentity(self.user_id, seeds).build_upload())
        elif not seeds or OwnIdentity(self.user_id, seeds).master != identity.master:
            fingerprint = self.olm.account.identity_keys["ed25519"]
            hint = "verify this device in the client that made the account's identity, or other people's clients warn"
            logger.warning("%s: device %s, fingerprint %s", hint, self.device_id, fingerprint)
            return
        signed = OwnIdentity(self.user_id, seeds).sign_device(own)
        await self._upload("/keys/signatures/upload", {self.user_id: {self.device_id: signed}})

    async def _upload(self, path: str, body: object) -> None:
        answer = await self.call("POST", _PATH + path, body)
        if problem := answer.get("errcode") or answer.get("failures") or answer.get("flows"):
            logger.warning("our device could not be signed (%s); other clients may warn about it", problem)

    async def send(self, *request: Any, **options: Any) -> Any:
        """Sends nothing after the end. The SDK does: it shares keys in tasks of its own, and would connect anew."""
        if self._is_closed:
            raise LocalProtocolError("The connection was closed.")
        return await super().send(*request, **options)

    async def close(self) -> None:
        self._is_closed = True
        await super().close()
        self._close_keys()

    def _close_keys(self) -> None:
        if self.olm is not None:
            self.store.close()
            self.olm = None


def _find_device_keys(answer: Mapping[str, Any], user: str, device: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = answer.get("device_keys", {}).get(user, {}).get(device)
    return found
