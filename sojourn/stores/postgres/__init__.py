"""The PostgreSQL store: one database that several machines share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sojourn.core.errors import MissingPackage
from sojourn.core.settings import Settings
from sojourn.ports.plugin import Plugin
from sojourn.text.redaction import no_redaction, redact

if TYPE_CHECKING:
    from sojourn.stores.postgres.store import PostgresStore


def open_store(settings: Settings) -> PostgresStore:
    """Opens the database that `database_url` names. Imports the driver here, because it is an optional extra."""
    try:
        store_class: type[PostgresStore] = import_module("sojourn.stores.postgres.store").PostgresStore
    except ImportError as error:
        if not (error.name or str(error)).startswith(("psycopg", "no pq wrapper")):
            raise
        raise MissingPackage(
            "PostgreSQL needs a package that is not installed.", hint="Install it: `sojourn plugins install postgres`."
        ) from error
    return store_class(settings["database_url"].reveal(), redactor=redact if settings["redact"] else no_redaction)


plugin = Plugin(name="postgres", summary="Keeps sessions in a PostgreSQL database.", store=open_store)
