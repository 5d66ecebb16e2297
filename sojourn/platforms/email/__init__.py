"""The e-mail plugin: a mailbox on any IMAP and SMTP server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

SECURITY = ("ssl", "starttls", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailSettings:
    """From [plugins.email] and SOJOURN_EMAIL_…"""

    address: Annotated[str, Prompt("E-mail address", "The mailbox that people write to; use one of its own.")]
    password: Annotated[
        Secret, Prompt("Password", "Many providers want an app password: look in the account's security settings.")
    ]
    imap_host: Annotated[str, Prompt("IMAP server", "Your provider's help names it, for example imap.example.org.")]
    smtp_host: Annotated[str, Prompt("SMTP server", "Your provider's help names it, for example smtp.example.org.")]
    verified_by: Annotated[
        str,
        Prompt(
            "Mail server that checks senders",
            "The first word of Authentication-Results in a mail that you received there, for example mx.example.org.",
        ),
    ]  # other mail is ignored
    user: str = ""  # if it is not the address
    name: str = "Sojourn"  # as people see it in From
    folder: str = "INBOX"
    imap_port: int = 993
    imap_security: str = "ssl"
    smtp_port: int = 465
    smtp_security: str = "ssl"
    poll_seconds: float = 30.0  # between two checks, if the server does not support IDLE

    def __post_init__(self) -> None:
        for name in ("imap_security", "smtp_security"):
            if getattr(self, name) not in SECURITY:
                hint = f"It is one of: {', '.join(SECURITY)}."
                raise BadConfig(f"[plugins.email] {name} is {getattr(self, name)!r}.", hint=hint)
        if "@" not in self.address:
            raise BadConfig(f"[plugins.email] address is {self.address!r}.", hint="It looks like agent@example.org.")
        if not self.verified_by.strip():
            raise BadConfig(
                "[plugins.email] has no `verified_by`, so nobody could tell who wrote a mail.",
                hint="Set it to the first word of Authentication-Results in a mail that you received.",
            )


plugin = Plugin(
    name="email",
    summary="Talk by e-mail, over any IMAP and SMTP server.",
    platforms={"email": "sojourn.platforms.email.adapter:Email"},
    settings=EmailSettings,
)
