"""Letters: what a mail says about who wrote it, what it answers and in which thread; and how ours are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, formataddr, localtime, make_msgid

from imap_tools import MailMessage

from sojourn.core.places import Place, Sender
from sojourn.platforms.email import EmailSettings
from sojourn.platforms.email.quote_stripping import html_to_text, strip_quotes, strip_reply_prefix
from sojourn.platforms.markdown import render_html
from sojourn.ports.platform import File, Inbound

NAME = "email"
_ID = re.compile(r"<([^<>\s]+)>")
_THREAD = re.compile(r"sojourn-thread\.[0-9a-f]+@\S+")  # threads are those we began; all else is the chat with a person
_BULK_PRECEDENCE = ("bulk", "list", "junk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One mail, read."""

    id: str
    sender: Sender
    subject: str
    text: str
    answers: tuple[str, ...]  # the ids before it in its thread, oldest first
    files: tuple[File, ...]
    at: float
    robot: bool  # nobody sat there and wrote it
    proofs: tuple[str, ...]  # Authentication-Results


def parse_mail(mail: MailMessage, fallback_id: str) -> Mail:
    heads: Mapping[str, tuple[str, ...]] = mail.headers
    ids = _ID.findall(" ".join(heads.get("message-id", ())))
    before = _ID.findall(" ".join([*heads.get("references", ()), *heads.get("in-reply-to", ())]))
    who = mail.from_values
    text = strip_quotes(mail.text) if mail.text.strip() else html_to_text(mail.html)
    return Mail(
        id=ids[0] if ids else fallback_id,
        subject=mail.subject,
        text=text,
        answers=tuple(dict.fromkeys(before)),
        sender=Sender(id=who.email.lower() if who else "", name=(who.name or who.email) if who else ""),
        files=tuple(
            File(name=one.filename or "file", media_type=one.content_type, data=one.payload) for one in mail.attachments
        ),
        at=max(0.0, mail.date.timestamp()),
        robot=_is_automatic(heads),
        proofs=tuple(heads.get("authentication-results", ())),
    )


def _is_automatic(heads: Mapping[str, tuple[str, ...]]) -> bool:
    """Answering machines and lists: who answers those starts a conversation of machines (RFC 3834)."""
    automatic = " ".join(heads.get("auto-submitted", ())).strip().lower()
    return (
        automatic not in ("", "no")
        or "list-id" in heads
        or " ".join(heads.get("precedence", ())).strip().lower() in _BULK_PRECEDENCE
        or "".join(heads.get("return-path", ("x",))).strip() == "<>"
    )


def is_authenticated(letter: Mail, server: str) -> bool:
    """Whether that server says that the sender is who it claims to be."""
    for proof in letter.proofs:
        words = " ".join(proof.split()).lower()
        if words.partition(";")[0].split()[:1] == [server.lower()] and re.search(r"\bdmarc=pass\b", words):
            return True
    return False


def find_thread(letter: Mail) -> str | None:
    return next((one for one in letter.answers if _THREAD.fullmatch(one)), None)


def place_from_address(address: str, thread: str | None = None, name: str = "") -> Place:
    if thread:
        return Place(platform=NAME, chat=address, kind="thread", thread=thread, parent=address, name=name)
    return Place(platform=NAME, chat=address, name=name)


def to_inbound(letter: Mail) -> Inbound:
    thread, subject = find_thread(letter), strip_reply_prefix(letter.subject)
    text = letter.text or subject
    if subject and not letter.answers and letter.text and not letter.text.startswith("/"):
        text = f"{subject}\n\n{letter.text}"  # a new letter says what it is about above its words
    return Inbound(
        id=letter.id,
        sender=letter.sender,
        text=text,
        files=letter.files,
        at=letter.at,
        place=place_from_address(letter.sender.id, thread, subject if thread else letter.sender.name),
        reply_to=letter.answers[-1] if letter.answers else "",
    )


def build_mail(
    settings: EmailSettings,
    place: Place,
    text: str,
    *,
    plain: bool,
    answered: Mail | None,
    files: tuple[File, ...] = (),
) -> EmailMessage:
    """Our letter, in the thread of what it answers. It says that a machine wrote it, so that machines do not answer."""
    mail = EmailMessage()
    mail["From"], mail["To"] = formataddr((settings.name, settings.address)), place.chat
    mail["Message-ID"] = make_msgid(domain=settings.address.rpartition("@")[2])
    mail["Date"], mail["Auto-Submitted"] = format_datetime(localtime()), "auto-replied"
    before = (*answered.answers, answered.id) if answered else (place.thread,) if place.thread else ()
    if before:
        mail["In-Reply-To"] = f"<{before[-1]}>"
        mail["References"] = " ".join(f"<{one}>" for one in before if one)
    subject = strip_reply_prefix(answered.subject if answered else place.name if place.thread else "")
    mail["Subject"] = f"Re: {subject}" if answered and subject else subject or settings.name
    mail.set_content(text + "\n", cte="base64" if max(map(len, text.split("\n"))) > 900 else None)
    if not plain and (html := render_html(text)):
        mail.add_alternative(html, subtype="html")
    for one in files:
        kind, _, sub = one.media_type.partition("/")
        mail.add_attachment(one.data, maintype=kind, subtype=sub or "octet-stream", filename=one.name)
    return mail
