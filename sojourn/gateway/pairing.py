"""Identities and pairing: the owner, guests, and strangers, who get at most a pairing code.

A code has eight characters that cannot be mistaken for one another, is valid for an hour, and is stored only as a
salted hash. A person gets one every ten minutes, a network has three pending at a time, and five wrong codes lock
pairing for an hour.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from sojourn.core.errors import Conflict, NotAllowed, NotFound
from sojourn.core.places import Sender
from sojourn.core.sessions import OWNER, Principal
from sojourn.core.settings import Settings
from sojourn.ports.platform import PlatformInfo
from sojourn.ports.store import Record, RecordStore
from sojourn.settings.formats import parse_pairs
from sojourn.text.redaction import Identifier

PAIRING = "gateway_pairing"
_IDENTITY, _MISTAKES = "gateway_identity", "gateway_pairing_mistakes"
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_TTL_SECONDS, REISSUE_AFTER_SECONDS, LOCKOUT_SECONDS = 3600.0, 600.0, 3600.0
_CODE_CHARS = 8
_MAX_PENDING, _MAX_MISTAKES = 3, 5  # codes per network; wrong codes before the lockout


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person who may talk to sessions."""

    principal: Principal
    name: str = ""

    @property
    def is_owner(self) -> bool:
        return self.principal == OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest:
    """A stranger with a pairing code that is valid until `until`."""

    platform: str
    sender: str
    name: str
    until: float


class Identities:
    """Maps senders on chat networks to principals, from the settings and the store."""

    def __init__(self, store: RecordStore, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._settings, self._clock = store, settings, clock

    def _configured(self, role: str) -> frozenset[tuple[str, str]]:
        """The `owners` or `guests` of the settings, which may change at any time."""
        return parse_pairs(self._settings[f"gateway.{role}"], f"gateway.{role}")

    async def identify(self, info: PlatformInfo, sender: Sender) -> Identity | None:
        """The identity of a sender; None for a stranger."""
        is_owner = info.owner and sender.id == info.owner
        if is_owner or (info.name, sender.id) in self._configured("owners"):
            return Identity(principal=OWNER, name=sender.name)
        record = await self._store.get_record(_IDENTITY, _build_key(info.name, sender.id))
        if record is not None:
            return Identity(principal=record.principal, name=str(record.value.get("name") or sender.name))
        if info.system or (info.name, sender.id) in self._configured("guests"):
            return Identity(principal=_guest_principal(f"{info.name}-{sender.id}"), name=sender.name)
        return None

    async def find_sender(self, info: PlatformInfo, principal: Principal) -> Sender | None:
        """The sender of a principal on a network, if there is exactly one."""
        records = await self._store.list_records(_IDENTITY, principal=principal, prefix=quote(info.name) + ":")
        ids = {unquote(record.key.partition(":")[2]) for record in records}
        if principal == OWNER:
            ids |= {sender for platform, sender in self._configured("owners") if platform == info.name}
            ids |= {info.owner} if info.owner else set()
        return Sender(id=ids.pop()) if len(ids) == 1 else None

    async def issue_code(self, platform: str, sender: Sender) -> str | None:
        """A new pairing code for a stranger; None if they have to wait, or if pairing is off."""
        if not self._settings["gateway.pairing"]:
            return None
        now, key = self._clock(), _build_key(platform, sender.id)
        record = await self._store.get_record(PAIRING, key)
        if record is not None and now < record.value["asked"] + REISSUE_AFTER_SECONDS:
            return None
        others = [one for one in await self.requests() if one.platform == platform and one.sender != sender.id]
        if len(others) >= _MAX_PENDING:
            return None
        code, salt = "".join(secrets.choice(ALPHABET) for _ in range(_CODE_CHARS)), secrets.token_hex(8)
        value = {"salt": Identifier(salt), "proof": Identifier(hash_code(salt, code)), "asked": now}
        try:
            new = Record(kind=PAIRING, key=key, value=value | {"name": sender.name, "until": now + CODE_TTL_SECONDS})
            await self._store.put_record(new, expect=record.revision if record else 0)
        except Conflict:
            return None  # another gateway has just issued one
        return code

    async def requests(self) -> list[PairingRequest]:
        """The strangers with a valid code."""
        now = self._clock()
        return [
            PairingRequest(platform=platform, sender=sender, name=record.value["name"], until=record.value["until"])
            for record in await self._store.list_records(PAIRING)
            if record.value["asked"] <= now < record.value["until"]  # a clock that went back does not lengthen it
            for platform, sender in [_split_key(record.key)]
        ]

    async def pair(self, code: str, *, as_owner: bool, name: str = "") -> tuple[PairingRequest, Principal]:
        """Pairs the stranger who got that code. NotFound, NotAllowed after too many wrong codes."""
        code, now = re.sub(r"[\s-]", "", code).upper(), self._clock()
        await self._check_lockout(now)
        for record in await self._store.list_records(PAIRING):
            value = record.value
            if value["asked"] <= now < value["until"] and hmac.compare_digest(
                hash_code(value["salt"], code), value["proof"]
            ):
                return await self._add(record, as_owner, name)
        await self._count_mistake(now)
        hint = "A code is valid for an hour. Ask for a new one in the chat."
        raise NotFound("Nobody is waiting with that code.", hint=hint)

    async def _add(self, record: Record, as_owner: bool, name: str) -> tuple[PairingRequest, Principal]:
        platform, sender = _split_key(record.key)
        display_name = name or record.value["name"] or sender
        principal = OWNER if as_owner else _guest_principal(name or f"{platform}-{sender}")
        value = {"name": display_name, "since": self._clock()}
        await self._store.put_record(Record(kind=_IDENTITY, key=record.key, value=value, principal=principal))
        await self._store.delete_record(PAIRING, record.key)
        await self._store.delete_record(_MISTAKES, "all")
        return PairingRequest(platform=platform, sender=sender, name=display_name, until=0.0), principal

    async def add_owner(self, platform: str, sender: Sender) -> None:
        """Pairs a person as the owner, without a code of theirs."""
        value = {"name": sender.name or sender.id, "since": self._clock()}
        key = _build_key(platform, sender.id)
        await self._store.put_record(Record(kind=_IDENTITY, key=key, value=value, principal=OWNER))
        await self._store.delete_record(PAIRING, key)

    async def reject(self, platform: str, sender: str) -> bool:
        """Invalidates the code of a stranger, who gets no other one for an hour."""
        key, now = _build_key(platform, sender), self._clock()
        record = await self._store.get_record(PAIRING, key)
        if record is None or now >= record.value["until"]:
            return False
        blocked_until = now + CODE_TTL_SECONDS
        value = record.value | {"salt": "", "proof": "", "asked": blocked_until - REISSUE_AFTER_SECONDS, "until": now}
        await self._store.put_record(Record(kind=PAIRING, key=key, value=value))
        return True

    async def unpair(self, platform: str, sender: str) -> bool:
        return await self._store.delete_record(_IDENTITY, _build_key(platform, sender))

    async def list_paired(self) -> list[tuple[str, str, Identity]]:
        """Everybody who was paired: platform, sender, identity."""
        return [
            (*_split_key(record.key), Identity(principal=record.principal, name=str(record.value.get("name") or "")))
            for record in await self._store.list_records(_IDENTITY)
        ]

    async def _check_lockout(self, now: float) -> None:
        record = await self._store.get_record(_MISTAKES, "all")
        if record is None or record.value["count"] < _MAX_MISTAKES:
            return
        seconds = record.value["last"] + LOCKOUT_SECONDS - now
        if seconds > 0:
            raise NotAllowed("Too many wrong codes.", hint=f"Try again in {int(seconds // 60) + 1} minutes.")

    async def _count_mistake(self, now: float) -> None:
        record = await self._store.get_record(_MISTAKES, "all")
        count = record.value["count"] if record and now < record.value["last"] + LOCKOUT_SECONDS else 0
        await self._store.put_record(Record(kind=_MISTAKES, key="all", value={"count": count + 1, "last": now}))


def _guest_principal(name: str) -> Principal:
    """The principal of a guest. A name that has to be changed gets its hash, so that no two names become one."""
    readable = re.sub(r"[^A-Za-z0-9._@+-]", "_", name)
    if readable != name:
        readable += "~" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Principal("guest:" + readable)


def hash_code(salt: str, code: str) -> str:
    return hashlib.scrypt(code.encode(), salt=salt.encode(), n=2**12, r=8, p=1).hex()[:40]


def _build_key(platform: str, sender: str) -> str:
    return f"{quote(platform, safe='')}:{quote(sender, safe='')}"


def _split_key(key: str) -> tuple[str, str]:
    platform, _, sender = key.partition(":")
    return unquote(platform), unquote(sender)
