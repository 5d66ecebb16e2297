"""Parses mails, strips quotes and markup from their text, and builds our own mails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime, formataddr, localtime, make_msgid

from imap_tools import MailMessage

from sojourn.core.places import Place, Sender
from sojourn.platforms.email import EmailSettings
from sojourn.platforms.email.sender_proof import parse_from
from sojourn.platforms.html_text import html_to_text
from sojourn.platforms.markdown import render_html
from sojourn.ports.platform import File, Inbound

NAME = "email"
_ID = re.compile(r"<([^<>\s]+)>")
# The ids of threads that we started; all other mail is the chat with a person.
_THREAD = re.compile(r"sojourn-thread\.[0-9a-f]+@\S+")
_BULK_PRECEDENCE = ("bulk", "list", "junk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """One parsed mail."""

    id: str
    sender: Sender
    subject: str
    text: str
    references: tuple[str, ...]  # the ids before it in its thread, oldest first
    files: tuple[File, ...]
    at: float
    is_automatic: bool  # written by a machine
    auth_results: tuple[str, ...]  # Authentication-Results, topmost first


def parse_mail(mail: MailMessage, fallback_id: str) -> Mail:
    headers: Mapping[str, tuple[str, ...]] = mail.headers
    ids = _ID.findall(" ".join(headers.get("message-id", ())))
    before = _ID.findall(" ".join([*headers.get("references", ()), *headers.get("in-reply-to", ())]))
    address, name = parse_from(headers.get("from", ())) or ("", "")
    attachments = mail.attachments
    text = strip_quotes(mail.text) if mail.text.strip() else html_to_text(mail.html)
    return Mail(
        id=ids[0] if ids else fallback_id,
        subject=mail.subject,
        text=text,
        references=tuple(dict.fromkeys(before)),
        sender=Sender(id=address, name=name or address),
        files=tuple(File(name=a.filename or "file", media_type=a.content_type, data=a.payload) for a in attachments),
        at=max(0.0, mail.date.timestamp()),
        is_automatic=_is_automatic(headers),
        auth_results=tuple(headers.get("authentication-results", ())),
    )


def _is_automatic(headers: Mapping[str, tuple[str, ...]]) -> bool:
    """Detects auto-replies and mailing lists, which must not be answered (RFC 3834)."""
    automatic = " ".join(headers.get("auto-submitted", ())).strip().lower()
    return (
        automatic not in ("", "no")
        or "list-id" in headers
        or " ".join(headers.get("precedence", ())).strip().lower() in _BULK_PRECEDENCE
        or "".join(headers.get("return-path", ("x",))).strip() == "<>"
    )


def find_thread(mail: Mail) -> str | None:
    return next((one for one in mail.references if _THREAD.fullmatch(one)), None)


def place_from_address(address: str, thread: str | None = None, name: str = "") -> Place:
    if thread:
        return Place(platform=NAME, chat=address, kind="thread", thread=thread, parent=address, name=name)
    return Place(platform=NAME, chat=address, name=name)


def to_inbound(mail: Mail) -> Inbound:
    thread, subject = find_thread(mail), strip_reply_prefix(mail.subject)
    text = mail.text or subject
    if subject and not mail.references and mail.text and not mail.text.startswith("/"):
        text = f"{subject}\n\n{mail.text}"  # the subject of a new mail is part of its text
    return Inbound(
        id=mail.id,
        sender=mail.sender,
        text=text,
        files=mail.files,
        at=mail.at,
        place=place_from_address(mail.sender.id, thread, subject if thread else mail.sender.name),
        reply_to=mail.references[-1] if mail.references else "",
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
    """Builds a mail in the thread of the answered one, marked as automatic so that machines do not answer."""
    mail = EmailMessage()
    mail["From"], mail["To"] = formataddr((settings.name, settings.address)), place.chat
    mail["Message-ID"] = make_msgid(domain=settings.address.rpartition("@")[2])
    mail["Date"], mail["Auto-Submitted"] = format_datetime(localtime()), "auto-replied"
    before = (*answered.references, answered.id) if answered else (place.thread,) if place.thread else ()
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


_QUOTE_START = re.compile(
    r"^(-{2,} ?(original|forwarded|ursprüngliche|weitergeleitete) .*|_{10,}|-- ?)$", re.IGNORECASE
)
_REPLY_PREFIX = re.compile(r"^(\s*(re|aw|sv|antw|fwd?|wg)\s*:\s*)+", re.IGNORECASE)


def strip_quotes(text: str) -> str:
    """Strips the quoted mail at the end, the line that introduces it, and the signature. Quotes in between stay, and
    so does a text that is only a quote."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    end = next((n for n, line in enumerate(lines) if _QUOTE_START.match(line) and n), len(lines))
    body = lines[:end]
    quoted = False
    while body and (not body[-1] or body[-1].startswith(">")):
        quoted |= body.pop().startswith(">")
    if quoted and body and body[-1].endswith(":"):  # "On Monday Ann wrote:", perhaps broken in two
        while body and body[-1]:
            body.pop()
    return "\n".join(body).strip() or text.strip()


def strip_reply_prefix(subject: str) -> str:
    """Strips Re: and similar prefixes."""
    return " ".join(_REPLY_PREFIX.sub("", subject).split())
