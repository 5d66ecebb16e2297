"""Who may talk: the owner, guests, and strangers, who get a pairing code at most.

A code has eight characters that cannot be mistaken for one another, is worth an hour, and is kept as a salted hash
only. A person gets one every ten minutes, a network has three open at a time, and after five wrong ones nobody is
paired for an hour.
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
from sojourn.service.home_channels import parse_pairs

IDENTITY, PAIRING, MISTAKES = "gateway_identity", "gateway_pairing", "gateway_pairing_mistakes"
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
VALID, AGAIN, LOCKED = 3600.0, 600.0, 3600.0
_OPEN, _MISTAKES = 3, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody who may talk."""

    principal: Principal
    name: str = ""

    @property
    def is_owner(self) -> bool:
        return self.principal == OWNER


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest:
    """Somebody who would like to."""

    platform: str
    sender: str
    name: str
    until: float


class Identities:
    """What is known about who is who, in settings and in the store."""

    def __init__(self, store: RecordStore, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._owners = parse_pairs(settings["gateway.owners"], "gateway.owners")
        self._guests = parse_pairs(settings["gateway.guests"], "gateway.guests")
        self._pairing = bool(settings["gateway.pairing"])

    async def known(self, info: PlatformInfo, sender: Sender) -> Identity | None:
        """Who that is; None for a stranger."""
        if info.system or (info.owner and sender.id == info.owner) or (info.name, sender.id) in self._owners:
            return Identity(principal=OWNER, name=sender.name)
        paired = await self._store.get_record(IDENTITY, _key(info.name, sender.id))
        if paired is not None:
            return Identity(principal=paired.principal, name=str(paired.value.get("name") or sender.name))
        if (info.name, sender.id) in self._guests:
            return Identity(principal=guest(f"{info.name}-{sender.id}"), name=sender.name)
        return None

    async def sender_of(self, info: PlatformInfo, principal: Principal) -> Sender | None:
        """How a person is called on a network, if only one identity of theirs is known there."""
        records = await self._store.list_records(IDENTITY, principal=principal, prefix=quote(info.name) + ":")
        ids = {unquote(one.key.partition(":")[2]) for one in records}
        if principal == OWNER:
            ids |= {person for platform, person in self._owners if platform == info.name}
            ids |= {info.owner} if info.owner else set()
        return Sender(id=ids.pop()) if len(ids) == 1 else None

    # pairing
    async def code_for(self, platform: str, sender: Sender) -> str | None:
        """A fresh code for a stranger; None when they have to wait, or when there is no pairing."""
        if not self._pairing:
            return None
        now, key = self._clock(), _key(platform, sender.id)
        kept = await self._store.get_record(PAIRING, key)
        if kept is not None and now < kept.value["asked"] + AGAIN:
            return None
        if len([one for one in await self.requests() if one.platform == platform and one.sender != sender.id]) >= _OPEN:
            return None
        code, salt = "".join(secrets.choice(ALPHABET) for _ in range(8)), secrets.token_hex(8)
        value = {"salt": salt, "proof": _proof(salt, code), "asked": now, "until": now + VALID, "name": sender.name}
        record = Record(kind=PAIRING, key=key, value=value)
        try:
            await self._store.put_record(record, expect=kept.revision if kept else 0)
        except Conflict:
            return None  # another gateway has just given one
        return code

    async def requests(self) -> list[PairingRequest]:
        """Who waits to be let in."""
        now, found = self._clock(), list[PairingRequest]()
        for one in await self._store.list_records(PAIRING):
            if now < one.value["until"]:
                platform, sender = _named(one.key)
                found.append(
                    PairingRequest(platform=platform, sender=sender, name=one.value["name"], until=one.value["until"])
                )
        return found

    async def pair(self, code: str, *, as_owner: bool, name: str = "") -> tuple[PairingRequest, Principal]:
        """Lets in whoever was given that code. NotFound, NotAllowed after too many wrong ones."""
        code, now = re.sub(r"[\s-]", "", code).upper(), self._clock()
        await self._check_mistakes(now)
        for record in await self._store.list_records(PAIRING):
            value = record.value
            if now < value["until"] and hmac.compare_digest(_proof(value["salt"], code), value["proof"]):
                return await self._let_in(record, as_owner, name)
        await self._remember_mistake(now)
        raise NotFound("Nobody waits with that code.", hint="A code is worth an hour. Ask for a new one in the chat.")

    async def _let_in(self, record: Record, as_owner: bool, name: str) -> tuple[PairingRequest, Principal]:
        platform, sender = _named(record.key)
        called = name or record.value["name"] or sender
        principal = OWNER if as_owner else guest(name or f"{platform}-{sender}")
        await self._store.put_record(
            Record(kind=IDENTITY, key=record.key, value={"name": called, "since": self._clock()}, principal=principal)
        )
        await self._store.delete_record(PAIRING, record.key)
        await self._store.delete_record(MISTAKES, "all")
        return PairingRequest(platform=platform, sender=sender, name=called, until=0.0), principal

    async def turn_away(self, platform: str, sender: str) -> bool:
        """Their code is worth nothing any more, and they get no other one for an hour."""
        key, now = _key(platform, sender), self._clock()
        kept = await self._store.get_record(PAIRING, key)
        if kept is None or now >= kept.value["until"]:
            return False
        closed = {"salt": "", "proof": "", "asked": now + VALID - AGAIN, "until": now, "name": kept.value["name"]}
        await self._store.put_record(Record(kind=PAIRING, key=key, value=closed))
        return True

    async def unpair(self, platform: str, sender: str) -> bool:
        return await self._store.delete_record(IDENTITY, _key(platform, sender))

    async def paired(self) -> list[tuple[str, str, Identity]]:
        """Everybody who was let in: platform, sender, person."""
        return [
            (*_named(one.key), Identity(principal=one.principal, name=str(one.value.get("name") or "")))
            for one in await self._store.list_records(IDENTITY)
        ]

    async def _check_mistakes(self, now: float) -> None:
        kept = await self._store.get_record(MISTAKES, "all")
        if kept is not None and kept.value["count"] >= _MISTAKES and now < kept.value["last"] + LOCKED:
            minutes = int((kept.value["last"] + LOCKED - now) // 60) + 1
            raise NotAllowed("Too many wrong codes were given.", hint=f"Try again in {minutes} minutes.")

    async def _remember_mistake(self, now: float) -> None:
        kept = await self._store.get_record(MISTAKES, "all")
        count = kept.value["count"] if kept and now < kept.value["last"] + LOCKED else 0
        await self._store.put_record(Record(kind=MISTAKES, key="all", value={"count": count + 1, "last": now}))


def guest(name: str) -> Principal:
    return Principal("guest:" + re.sub(r"[^A-Za-z0-9._@+-]", "_", name))


def _proof(salt: str, code: str) -> str:
    return hashlib.scrypt(code.encode(), salt=salt.encode(), n=2**12, r=8, p=1).hex()[:40]


def _key(platform: str, sender: str) -> str:
    return f"{quote(platform, safe='')}:{quote(sender, safe='')}"


def _named(key: str) -> tuple[str, str]:
    platform, _, sender = key.partition(":")
    return unquote(platform), unquote(sender)
