"""The SQLite store: one file on this machine, the default."""

from sojourn.core.settings import Settings
from sojourn.ports.plugin import Plugin
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.text.redaction import no_redaction, redact


def open_store(settings: Settings) -> SqliteStore:
    """`state.db` in the home folder."""
    return SqliteStore(settings.home / "state.db", redactor=redact if settings["redact"] else no_redaction)


plugin = Plugin(name="sqlite", summary="Keeps sessions in one file on this machine.", store=open_store)
