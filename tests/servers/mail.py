"""Real mail servers, Dovecot for reading and aiosmtpd for sending, and the test harness of `email`."""

import asyncio
import grp
import os
import pwd
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import make_msgid
from pathlib import Path
from typing import Any, Self

import aiosmtplib
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.email import EmailSettings
from sojourn.platforms.email.adapter import Email
from sojourn.ports.platform import File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.system_package import require_program
from tests.servers.tcp_proxy import Line

PASSWORD = "letters-271828"


@dataclass(frozen=True)
class Mailboxes:
    """Everybody's, under one folder; any name may log in with the password."""

    port: int
    folder: Path
    uid: int

    def deliver(self, to: str, raw: bytes) -> None:
        """Puts a letter where Dovecot finds it, whole or not at all."""
        box = self.folder / "mail" / to
        for part in ("", "cur", "new", "tmp"):
            (box / part).mkdir(parents=True, exist_ok=True)
            os.chown(box / part, self.uid, -1)
        name = f"{time.time_ns()}.{uuid.uuid4().hex}"
        (box / "tmp" / name).write_bytes(raw)
        os.chown(box / "tmp" / name, self.uid, -1)
        (box / "tmp" / name).rename(box / "new" / name)

    def letters(self, of: str) -> list[EmailMessage]:
        found = sorted((self.folder / "mail" / of).glob("new/*"))
        return [message_from_bytes(one.read_bytes(), policy=policy.default) for one in found]


@contextmanager
def dovecot() -> Iterator[Mailboxes]:
    program = require_program("dovecot-imapd", "dovecot")
    with tempfile.TemporaryDirectory(prefix="mail-", ignore_cleanup_errors=True) as name:
        folder, port = Path(name), free_port()
        folder.chmod(0o755)
        owner = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        (folder / "mail").mkdir()
        (folder / "state").mkdir()
        os.chown(folder / "mail", owner.pw_uid, -1)
        (folder / "dovecot.conf").write_text(_config(folder, port, owner))
        server = subprocess.Popen([program, "-F", "-c", folder / "dovecot.conf"], stderr=subprocess.DEVNULL)
        try:
            _until_up(server, port, folder)
            yield Mailboxes(port, folder, owner.pw_uid)
        finally:
            server.terminate()
            server.wait()


def _config(folder: Path, port: int, owner: pwd.struct_passwd) -> str:
    group = grp.getgrgid(owner.pw_gid).gr_name
    own = f"default_internal_user = {owner.pw_name}\ndefault_login_user = {owner.pw_name}\n"
    own += f"default_internal_group = {group}\nservice anvil {{\n  chroot =\n}}\nservice stats {{\n  chroot =\n}}\n"
    return f"""{"" if os.getuid() == 0 else own}base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
listen = 127.0.0.1
protocols = imap
ssl = no
disable_plaintext_auth = no
auth_failure_delay = 0
mail_location = maildir:{folder}/mail/%u
first_valid_uid = 1
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = uid={owner.pw_uid} gid={owner.pw_gid} home={folder}/mail/%u
}}
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
"""


def _until_up(server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert server.poll() is None, (folder / "log").read_text()
        try:
            with socket.create_connection(("127.0.0.1", port), 2) as line:
                if line.recv(10):
                    return
        except OSError:
            time.sleep(0.05)
    raise AssertionError((folder / "log").read_text())


class Post:
    """Takes letters and puts them into the mailboxes, unless it was told to refuse."""

    def __init__(self, boxes: Mailboxes) -> None:
        self._boxes = boxes
        self.refusal = ""

    async def handle_RCPT(self, server: Any, session: Session, envelope: Envelope, to: str, options: Any) -> str:  # noqa: N802
        if self.refusal:
            answer, self.refusal = self.refusal, ""
            return answer
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        for to in envelope.rcpt_tos:
            assert isinstance(envelope.content, bytes)
            self._boxes.deliver(to, envelope.content)
        return "250 OK"

    @staticmethod
    def knows(server: Any, session: Any, envelope: Any, mechanism: str, given: Any) -> AuthResult:
        return AuthResult(success=given.password == PASSWORD.encode(), handled=False)


class MailHarness:
    lacks: Mapping[str, str] = {
        "bad format": "a mail server does not look into letters",
        "rate limit": "mail servers do not say how long to wait",
    }
    threads: Sequence[PlaceKind] = ("dm",)
    secret = PASSWORD

    def __init__(self, boxes: Mailboxes) -> None:
        self._boxes, self._post = boxes, Post(boxes)
        mark = uuid.uuid4().hex[:8]
        self.us = f"sojourn-{mark}@home.example"
        names = [(f"{name.lower()}-{mark}@home.example", name) for name in ("Ann", "Ben")]
        self.people = (Sender(id=names[0][0], name=names[0][1]), Sender(id=names[1][0], name=names[1][1]))
        self.chats: Mapping[PlaceKind, str] = {"dm": self.people[0].id}
        self._listening = asyncio.Event()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: SMTP(self._post, authenticator=Post.knows, auth_require_tls=False, enable_SMTPUTF8=True, loop=loop),
            "127.0.0.1",
            0,
        )
        self._smtp_port = self._server.sockets[0].getsockname()[1]
        self._reading = await Line(self._boxes.port).__aenter__()
        self._sending = await Line(self._smtp_port).__aenter__()
        self._reading.overhear = self._overhear
        self._kit = AdapterKit(self.settings())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._kit.close()
        await self._sending.__aexit__()
        await self._reading.__aexit__()
        self._server.close()
        await self._server.wait_closed()

    def settings(self, password: str = PASSWORD, **more: Any) -> EmailSettings:
        about: dict[str, Any] = {
            "address": self.us,
            "password": Secret(password),
            "imap_host": "127.0.0.1",
            "imap_port": self._reading.port,
            "imap_security": "none",
            "smtp_host": "127.0.0.1",
            "smtp_port": self._sending.port,
            "smtp_security": "none",
            "verified_by": "mx.home.example",
        }
        return EmailSettings(**(about | more))

    def connect(self, **more: Any) -> Email:
        return Email(With(self._kit, self.settings(**more)))

    def connect_wrongly(self) -> Email:
        return self.connect(password="wrong")

    def _overhear(self, said: bytes) -> None:
        if b"IDLE" in said:
            self._listening.set()

    async def until_listening(self) -> None:
        await self._listening.wait()

    def letter(self, text: str, by: Sender, **heads: str) -> EmailMessage:
        mail = EmailMessage()
        mail["From"], mail["To"] = f"{by.name} <{by.id}>", self.us
        mail["Message-ID"] = make_msgid(domain="home.example")
        mail["Authentication-Results"] = heads.pop(
            "Authentication_Results", f"mx.home.example; dmarc=pass header.from={by.id.rpartition('@')[2]}"
        )
        for name, value in heads.items():
            mail[name.replace("_", "-")] = value
        mail.set_content(text)
        return mail

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        mail = self.letter(text, by)
        if place.thread:
            mail["Subject"], mail["References"] = f"Re: {place.name}", f"<{place.thread}>"
        if by.is_bot:
            mail["Auto-Submitted"] = "auto-generated"
        for one in files:
            kind, _, sub = one.media_type.partition("/")
            mail.add_attachment(one.data, maintype=kind, subtype=sub, filename=one.name)
        return await self.put_in_post(mail)

    async def put_in_post(self, mail: EmailMessage) -> str:
        await aiosmtplib.send(mail, hostname="127.0.0.1", port=self._smtp_port)
        return str(mail["Message-ID"]).strip("<>")

    async def post_raw(self, raw: bytes) -> None:
        """Sends a mail byte for byte."""
        await aiosmtplib.send(
            raw, sender="evil@evil.example", recipients=[self.us], hostname="127.0.0.1", port=self._smtp_port
        )

    def got(self, who: str) -> list[EmailMessage]:
        return self._boxes.letters(who)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        there = [one for one in self.got(place.chat) if (place.thread or "") in one.get("References", "")]
        return [_posted(one, self.us) for one in there]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        codes = {"forbidden": "550 5.7.1 Not from you", "not_found": "550 5.1.1 No such user"}
        self._post.refusal = codes[kind]

    async def drop_connections(self) -> None:
        self._reading.drop_connections()

    async def break_sending(self) -> None:
        self._sending.die()

    async def close(self) -> None: ...


def _posted(mail: EmailMessage, by: str) -> PostedMessage:
    body = mail.get_body(("plain",))
    assert body is not None
    files = tuple(
        File(name=one.get_filename() or "", media_type=one.get_content_type(), data=one.get_content())
        for one in mail.iter_attachments()
    )
    return PostedMessage(
        id=str(mail["Message-ID"]).strip("<>"), by=by, text=body.get_content().rstrip("\r\n"), files=files
    )
