"""email: a mailbox that answers. Everything a person writes is one chat; a hand-off begins a fresh subject.

A letter counts as heard when it is marked as seen, which happens when it is safely kept. Letters that lay there
before the first start are not answered. The sender of a letter can be forged: see `verified_by`.
"""

from __future__ import annotations

import asyncio
import imaplib
import socket
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Any, TypeVar

import aiosmtplib
from imap_tools import A, BaseMailBox, H, MailBox, MailBoxStartTls, MailBoxUnencrypted, MailMessageFlags
from imap_tools.errors import ImapToolsError, MailboxLoginError

from sojourn.core.errors import (
    BadInput,
    KeyRefused,
    PlatformDown,
    Refusal,
    SendRefused,
    SojournError,
    ThreadsUnsupported,
)
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.email import EmailSettings
from sojourn.platforms.email.mail import (
    NAME,
    Mail,
    build_mail,
    find_thread,
    is_authenticated,
    parse_mail,
    place_from_address,
    to_inbound,
)
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import File, Inbound, PlatformInfo, Sent

T = TypeVar("T")
_MAX_CHARS = 50_000
_TIMEOUT_SECONDS = 30
_MAX_IDLE_SECONDS = 28 * 60  # seconds, RFC 2177
_MAX_LOOKUPS = 5  # of the newest that could be meant
_MAX_REMEMBERED = 500  # letters we may answer without looking them up
_BOXES: Mapping[str, Callable[..., BaseMailBox]] = {
    "ssl": MailBox,
    "starttls": MailBoxStartTls,
    "none": MailBoxUnencrypted,
}


class Email:
    """One mailbox."""

    info = PlatformInfo(name=NAME, label="E-mail", max_chars=_MAX_CHARS)

    def __init__(self, kit: PluginContext) -> None:
        self._settings: EmailSettings = kit.configured(NAME)
        self.account = self._settings.address.lower()
        self._cursor = CursorStore(kit.store, NAME, self.account)
        self._mails: dict[str, Mail] = {}
        self._last: dict[tuple[str, str | None], Mail | None] = {}  # of each place; None: there is none yet

    # hearing
    async def listen(self) -> AsyncGenerator[Inbound, None]:
        box = await _run_in_thread(self._open)
        try:
            first, passed = await self._first(box), set[str]()
            while True:
                fresh = [one for one in await _run_in_thread(_list_unseen, box, first) if one not in passed]
                for uid in fresh:
                    letter = await _run_in_thread(_fetch, box, uid)
                    if letter is None or not self._is_for_us(letter):
                        passed.add(uid)  # it stays as it is, for whoever else reads this mailbox
                        continue
                    self._remember(letter)
                    yield to_inbound(letter)
                    await _run_in_thread(box.flag, uid, MailMessageFlags.SEEN, True)
                if not fresh:  # what came while we were busy is not called again
                    await self._wait(box)
        finally:
            _disconnect(box)

    def _open(self) -> BaseMailBox:
        have = self._settings
        try:
            box = _BOXES[have.imap_security](have.imap_host, have.imap_port, timeout=_TIMEOUT_SECONDS)
        except OSError as error:
            raise PlatformDown(f"{have.imap_host}:{have.imap_port} does not answer: {error}.") from error
        try:
            box.login(have.user or have.address, have.password.reveal(), have.folder)
        except MailboxLoginError as error:
            _disconnect(box)
            raise self._to_key_refused(have.imap_host) from error
        return box

    async def _first(self, box: BaseMailBox) -> int:
        """The number of the first letter that is for us: the next one there was when we first came."""
        status = await _run_in_thread(box.folder.status, self._settings.folder, ("UIDNEXT", "UIDVALIDITY"))
        kept = await self._cursor.load()
        if kept.get("validity") != status["UIDVALIDITY"]:
            kept = {"validity": status["UIDVALIDITY"], "first": status["UIDNEXT"]}
            await self._cursor.save(kept)
        return int(kept["first"])

    async def _wait(self, box: BaseMailBox) -> None:
        """Until the server calls, or for so long; a server that cannot call is asked again then."""
        if "IDLE" in box.client.capabilities:
            await _run_in_thread(box.idle.wait, min(self._settings.poll_seconds, _MAX_IDLE_SECONDS))
        else:
            await asyncio.sleep(self._settings.poll_seconds)

    def _is_for_us(self, letter: Mail) -> bool:
        who, server = letter.sender.id, self._settings.verified_by
        return (
            "@" in who and who != self.account and not letter.robot and (not server or is_authenticated(letter, server))
        )

    def _remember(self, letter: Mail) -> None:
        self._mails[letter.id] = self._last[letter.sender.id, find_thread(letter)] = letter
        while len(self._mails) > _MAX_REMEMBERED:
            del self._mails[next(iter(self._mails))]

    # sending
    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self._post(place, text, plain=plain, reply_to=reply_to)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        return await self._post(place, caption or file.name, plain=True, files=(file,))

    async def _post(
        self, place: Place, text: str, *, plain: bool, reply_to: str = "", files: tuple[File, ...] = ()
    ) -> Sent:
        if len(text) > _MAX_CHARS:
            raise SendRefused(f"{len(text):,} characters are too many for one letter.", kind="too_long")
        answered = await self._find_answered(place, reply_to)
        mail = build_mail(self._settings, place, text, plain=plain, answered=answered, files=files)
        await self._deliver(mail)
        return Sent(place=place, id=mail["Message-ID"].strip("<>"))

    async def _find_answered(self, place: Place, reply_to: str) -> Mail | None:
        """The letter under which we write: the one that is named, else the last one of that place."""
        if reply_to in self._mails:
            return self._mails[reply_to]
        there = (place.chat, place.thread)
        if not reply_to and there in self._last:
            return self._last[there]
        found = None
        with suppress(PlatformDown):  # a letter under a new subject is better than none
            found = await _run_in_thread(self._look_up, place, reply_to)
        return found or self._last.get(there)

    def _look_up(self, place: Place, reply_to: str) -> Mail | None:
        """A letter from before this process."""
        if not (place.chat + reply_to).isascii() or '"' in place.chat + reply_to:
            return None
        wanted = A(from_=place.chat)
        if reply_to or place.thread:
            wanted = A(header=H("Message-ID", f"<{reply_to}>") if reply_to else H("References", f"<{place.thread}>"))
        box = self._open()
        try:
            found = (_fetch(box, uid) for uid in sorted(box.uids(wanted), key=int, reverse=True)[:_MAX_LOOKUPS])
            return next(
                (one for one in found if one is not None and (reply_to or find_thread(one) == place.thread)), None
            )
        finally:
            _disconnect(box)

    async def _deliver(self, mail: EmailMessage) -> None:
        have = self._settings
        try:
            await aiosmtplib.send(
                mail,
                hostname=have.smtp_host,
                port=have.smtp_port,
                username=have.user or have.address,
                password=have.password.reveal(),
                use_tls=have.smtp_security == "ssl",
                start_tls=have.smtp_security == "starttls",
                timeout=_TIMEOUT_SECONDS,
            )
        except aiosmtplib.SMTPAuthenticationError as error:
            raise self._to_key_refused(have.smtp_host) from error
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _to_send_refused(error.recipients[0].code, error.recipients[0].message) from error
        except aiosmtplib.SMTPResponseException as error:
            raise _to_send_refused(error.code, error.message) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise PlatformDown(f"{have.smtp_host}:{have.smtp_port} does not answer: {error}.") from error

    def _to_key_refused(self, host: str) -> KeyRefused:
        return KeyRefused(
            f"{host} refuses the password of {self.account}.",
            hint="Set SOJOURN_EMAIL_PASSWORD; many providers want an app password.",
        )

    # places
    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Nothing is sent: the first letter that is sent there brings the subject with it."""
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the person.")
        domain = self.account.rpartition("@")[2]
        thread = f"sojourn-thread.{uuid.uuid4().hex}@{domain}"
        self._last[parent.chat, thread] = None
        return place_from_address(parent.chat, thread, " ".join(name.split()))

    def home(self, chat: str) -> Place:
        name, address = parseaddr(chat)
        if "@" not in address or " " in address or not address.isprintable():
            raise BadInput(f'"{chat}" is not an address.', hint="It looks like ann@example.org.")
        return place_from_address(address.lower(), name=name)

    async def close(self) -> None:
        """Each listener closes its own line."""


async def _run_in_thread(call: Callable[..., T], *given: Any) -> T:
    try:
        return await asyncio.to_thread(call, *given)
    except (imaplib.IMAP4.error, ImapToolsError, OSError) as error:
        raise PlatformDown(f"The mailbox does not answer: {error}.") from error


def _list_unseen(box: BaseMailBox, first: int) -> list[str]:
    """A search from n to * also finds the last letter, whatever its number."""
    return sorted((one for one in box.uids(f"UNSEEN UID {first}:*") if int(one) >= first), key=int)


def _fetch(box: BaseMailBox, uid: str) -> Mail | None:
    """None if somebody has deleted it meanwhile."""
    found = list(box.fetch(uid_list=uid, mark_seen=False))
    return parse_mail(found[0], f"uid-{uid}") if found else None


def _disconnect(box: BaseMailBox) -> None:
    """Also ends a thread that waits on this line."""
    with suppress(OSError):
        box.client.sock.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        box.client.shutdown()


def _to_send_refused(code: int, why: str) -> SojournError:
    kind: Refusal = "unknown"
    if code < 500:
        kind = "transient"
    elif code == 552 or "5.3.4" in why:
        kind = "too_long"
    elif "5.1." in why or code in (551, 553):
        kind = "not_found"
    elif code in (550, 554):
        kind = "forbidden"
    return SendRefused(f"The mail server says: {code} {why}.", kind=kind)
