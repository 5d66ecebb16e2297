"""email: a mailbox that answers, over any IMAP and SMTP server."""

from sojourn.platforms.email.settings import EmailSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="email",
    summary="Talk by e-mail, over any IMAP and SMTP server.",
    platforms={"email": "sojourn.platforms.email.adapter:Email"},
    settings=EmailSettings,
)
