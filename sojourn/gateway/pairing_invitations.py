"""Pairing invitations: a code that the owner gets in the terminal or the dashboard, and sends to the bot.

Whoever sends it in a private chat is paired as the owner. A code is valid for ten minutes, for one network and one
person; five wrong ones end it. It is stored only as a salted hash.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from sojourn.core.errors import Conflict
from sojourn.core.places import Sender
from sojourn.gateway.pairing import ALPHABET, Identities, hash_code
from sojourn.ports.platform import BotProfile
from sojourn.ports.store import Record, RecordStore
from sojourn.text.redaction import Identifier, mark_identifiers

KIND = "gateway_invitation"
INVITATION_TTL_SECONDS = 600.0
_CODE_CHARS = 8
_MAX_MISTAKES = 5  # wrong codes
_LOOK_SECONDS = 0.3
_SENT_CODE = re.compile(rf"(?:[/!]start\s+)?([{ALPHABET}]{{4}})[\s-]?([{ALPHABET}]{{4}})", re.IGNORECASE)


def build_start_link(profile: BotProfile | None, code: str) -> str:
    """The link that opens a chat with the bot and sends the code; "" where a network has none."""
    return profile.start_link.replace("{code}", code) if profile else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingInvitation:
    """A code to send to the bot, and until when."""

    code: str
    until: float


class PairingInvitations:
    """One for each network; a new one replaces the last."""

    def __init__(self, store: RecordStore, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    async def create(self, platform: str) -> PairingInvitation:
        code, salt = "".join(secrets.choice(ALPHABET) for _ in range(_CODE_CHARS)), secrets.token_hex(8)
        until = self._clock() + INVITATION_TTL_SECONDS
        value = {"salt": Identifier(salt), "proof": Identifier(hash_code(salt, code)), "until": until, "mistakes": 0}
        await self._store.put_record(Record(kind=KIND, key=platform, value=value))
        return PairingInvitation(code=code, until=until)

    async def wait_until_used(self, platform: str) -> bool:
        """Waits until somebody has used the code; False when it has expired, or after too many wrong ones."""
        while (record := await self._store.get_record(KIND, platform)) is not None:
            if not self._is_valid(record):
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return True

    async def accept(self, platform: str, sender: Sender, text: str, identities: Identities) -> bool:
        """Pairs a person who sends the code as the owner; False if it is not one, or not the right one."""
        sent = _SENT_CODE.fullmatch(text.strip())
        record = await self._store.get_record(KIND, platform) if sent else None
        if sent is None or record is None or not self._is_valid(record):
            return False
        code = (sent[1] + sent[2]).upper()
        if not hmac.compare_digest(hash_code(str(record.value["salt"]), code), str(record.value["proof"])):
            await self._count_mistake(record)
            return False
        if not await self._store.delete_record(KIND, platform):
            return False  # somebody else has just used it
        await identities.add_owner(platform, sender)
        return True

    def _is_valid(self, record: Record) -> bool:
        value, now = record.value, self._clock()
        is_new = value["until"] - INVITATION_TTL_SECONDS <= now  # a clock that went back does not lengthen it
        return bool(is_new and now < value["until"] and value["mistakes"] < _MAX_MISTAKES)

    async def _count_mistake(self, record: Record) -> None:
        value = {**mark_identifiers(record.value), "mistakes": record.value["mistakes"] + 1}
        try:
            await self._store.put_record(Record(kind=KIND, key=record.key, value=value), expect=record.revision)
        except Conflict:  # another gateway has just counted one
            if (newer := await self._store.get_record(KIND, record.key)) is not None:
                await self._count_mistake(newer)
