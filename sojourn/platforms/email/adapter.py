"""E-mail adapter: all mail of a person is one chat; a hand-off starts a new subject.

A mail is marked as seen when it is stored. Mail from before the first start is ignored, and so is mail whose sender the
server of `verified_by` does not confirm: anybody can write any address into `From`.
"""

from __future__ import annotations

import asyncio
import imaplib
import logging
import socket
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from email.errors import MessageError
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
from sojourn.platforms.email.mail import NAME, Mail, build_mail, find_thread, parse_mail, place_from_address, to_inbound
from sojourn.platforms.email.sender_proof import is_confirmed
from sojourn.platforms.refusals import check_length
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

logger = logging.getLogger(__name__)
T = TypeVar("T")
# What the standard library raises over a mail that breaks the rules.
_UNREADABLE = (MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError)
_TIMEOUT_SECONDS = 30
_MAX_IDLE_SECONDS = 28 * 60  # seconds, RFC 2177
_MAX_LOOKUPS = 5  # of the newest candidates
_MAX_REMEMBERED = 500  # mails that can be answered without a search
_BOXES: Mapping[str, Callable[..., BaseMailBox]] = {
    "ssl": MailBox,
    "starttls": MailBoxStartTls,
    "none": MailBoxUnencrypted,
}


class Email:
    """One mailbox."""

    info = PlatformInfo(name=NAME, label="E-mail", max_chars=50_000)

    def __init__(self, app: PluginContext) -> None:
        self._settings: EmailSettings = app.configured(NAME)
        self.account = self._settings.address.lower()
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._mails: dict[str, Mail] = {}
        self._last: dict[tuple[str, str | None], Mail | None] = {}  # of each place; None: there is none yet

    async def identify(self) -> BotProfile:
        """Signs in to both servers."""
        _disconnect(await _run_in_thread(self._open))
        await self._deliver(None)
        return BotProfile(name=self._settings.name, address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        box = await _run_in_thread(self._open)
        try:
            first, skipped = await self._first_uid(box), set[str]()
            while True:
                uids = [one for one in await _run_in_thread(_list_unseen, box, first) if one not in skipped]
                for uid in uids:
                    mail = await _run_in_thread(_fetch, box, uid)
                    if mail is None or not self._is_for_us(mail):
                        skipped.add(uid)  # stays unseen for other readers of this mailbox
                        continue
                    self._remember(mail)
                    yield to_inbound(mail)
                    await _run_in_thread(box.flag, uid, MailMessageFlags.SEEN, True)
                if not uids:  # IDLE does not report mail that came before
                    await self._wait(box)
        finally:
            _disconnect(box)

    def _open(self) -> BaseMailBox:
        settings = self._settings
        try:
            box = _BOXES[settings.imap_security](settings.imap_host, settings.imap_port, timeout=_TIMEOUT_SECONDS)
        except OSError as error:
            raise PlatformDown(f"{settings.imap_host}:{settings.imap_port} does not answer: {error}.") from error
        try:
            box.login(settings.user or settings.address, settings.password.reveal(), settings.folder)
        except MailboxLoginError as error:
            _disconnect(box)
            raise self._to_key_refused(settings.imap_host) from error
        return box

    async def _first_uid(self, box: BaseMailBox) -> int:
        """The UID of the first mail to answer: the next UID at the first start."""
        status = await _run_in_thread(box.folder.status, self._settings.folder, ("UIDNEXT", "UIDVALIDITY"))
        saved = await self._cursors.load()
        if saved.get("validity") != status["UIDVALIDITY"]:
            saved = {"validity": status["UIDVALIDITY"], "first": status["UIDNEXT"]}
            await self._cursors.save(saved)
        return int(saved["first"])

    async def _wait(self, box: BaseMailBox) -> None:
        """Waits for new mail with IDLE, or for the poll interval."""
        if "IDLE" in box.client.capabilities:
            await _run_in_thread(box.idle.wait, min(self._settings.poll_seconds, _MAX_IDLE_SECONDS))
        else:
            await asyncio.sleep(self._settings.poll_seconds)

    def _is_for_us(self, mail: Mail) -> bool:
        who = mail.sender.id
        if "@" not in who or who == self.account or mail.is_automatic:
            return False
        if is_confirmed(who, mail.auth_results, self._settings.verified_by):
            return True
        logger.info("a mail is left out: %s does not confirm who sent it", self._settings.verified_by)
        return False

    def _remember(self, mail: Mail) -> None:
        self._mails[mail.id] = self._last[mail.sender.id, find_thread(mail)] = mail
        while len(self._mails) > _MAX_REMEMBERED:
            del self._mails[next(iter(self._mails))]

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self._post(place, text, plain=plain, reply_to=reply_to)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        return await self._post(place, caption or file.name, plain=True, files=(file,))

    async def _post(
        self, place: Place, text: str, *, plain: bool, reply_to: str = "", files: tuple[File, ...] = ()
    ) -> Sent:
        check_length(text, self.info)
        answered = await self._find_answered(place, reply_to)
        mail = build_mail(self._settings, place, text, plain=plain, answered=answered, files=files)
        await self._deliver(mail)
        return Sent(place=place, id=mail["Message-ID"].strip("<>"))

    async def _find_answered(self, place: Place, reply_to: str) -> Mail | None:
        """The mail to answer: `reply_to`, else the last one of that place."""
        if reply_to in self._mails:
            return self._mails[reply_to]
        there = (place.chat, place.thread)
        if not reply_to and there in self._last:
            return self._last[there]
        found = None
        with suppress(PlatformDown):  # a mail with a new subject is better than none
            found = await _run_in_thread(self._look_up, place, reply_to)
        return found or self._last.get(there)

    def _look_up(self, place: Place, reply_to: str) -> Mail | None:
        """Searches the mailbox for a mail from before this process."""
        if not (place.chat + reply_to).isascii() or '"' in place.chat + reply_to:
            return None
        wanted = A(from_=place.chat)
        if reply_to or place.thread:
            wanted = A(header=H("Message-ID", f"<{reply_to}>") if reply_to else H("References", f"<{place.thread}>"))
        box = self._open()
        try:
            found = (_fetch(box, uid) for uid in sorted(box.uids(wanted), key=int, reverse=True)[:_MAX_LOOKUPS])
            return next((one for one in found if one and (reply_to or find_thread(one) == place.thread)), None)
        finally:
            _disconnect(box)

    async def _deliver(self, mail: EmailMessage | None) -> None:
        """Signs in, and sends a mail, if there is one. SendRefused, KeyRefused, PlatformDown."""
        settings = self._settings
        client = aiosmtplib.SMTP(
            hostname=settings.smtp_host,
            port=settings.smtp_port,
            username=settings.user or settings.address,
            password=settings.password.reveal(),
            use_tls=settings.smtp_security == "ssl",
            start_tls=settings.smtp_security == "starttls",
            timeout=_TIMEOUT_SECONDS,
        )
        try:
            async with client:
                if mail is not None:
                    await client.send_message(mail)
        except aiosmtplib.SMTPAuthenticationError as error:
            raise self._to_key_refused(settings.smtp_host) from error
        except aiosmtplib.SMTPRecipientsRefused as error:
            raise _to_send_refused(error.recipients[0].code, error.recipients[0].message) from error
        except aiosmtplib.SMTPResponseException as error:
            raise _to_send_refused(error.code, error.message) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise PlatformDown(f"{settings.smtp_host}:{settings.smtp_port} does not answer: {error}.") from error

    def _to_key_refused(self, host: str) -> KeyRefused:
        return KeyRefused(
            f"{host} refuses the password of {self.account}.",
            hint="Set SOJOURN_EMAIL_PASSWORD; many providers want an app password.",
        )

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Sends nothing: the first mail of the thread has the subject."""
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
        """Nothing to close: each listener closes its own connection."""


async def _run_in_thread(call: Callable[..., T], *args: Any) -> T:
    try:
        return await asyncio.to_thread(call, *args)
    except (imaplib.IMAP4.error, ImapToolsError, OSError) as error:
        raise PlatformDown(f"The mailbox does not answer: {error}.") from error


def _list_unseen(box: BaseMailBox, first: int) -> list[str]:
    """Lists unseen UIDs. A search from n to * also finds the last mail, whatever its UID."""
    return sorted((one for one in box.uids(f"UNSEEN UID {first}:*") if int(one) >= first), key=int)


def _fetch(box: BaseMailBox, uid: str) -> Mail | None:
    """None if the mail was deleted in the meantime, or cannot be read: anybody can send anything."""
    try:
        found = list(box.fetch(uid_list=uid, mark_seen=False))
        return parse_mail(found[0], f"uid-{uid}") if found else None
    except _UNREADABLE as error:
        logger.warning("the mail %s cannot be read, and is left out: %r", uid, error)
        return None


def _disconnect(box: BaseMailBox) -> None:
    """Closes the socket, which also ends a thread that waits on it."""
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
