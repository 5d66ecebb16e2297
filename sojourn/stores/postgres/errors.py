"""Translation of PostgreSQL errors to ours; the only place where it happens."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from sojourn.core.errors import (
    BadInput,
    Conflict,
    SojournError,
    StoreCorrupt,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
    TitleTaken,
)

# Rolled back by the server; a second try may succeed. After a unique or foreign key violation, it makes the checks
# before the write raise the proper error.
RETRYABLE = {"40001", "40P01", "23505", "23503"}
# The server is starting up or shutting down.
RESTARTING = {"57P01", "57P02", "57P03"}
_RESTARTING_PHRASES = ("starting up", "shutting down", "not yet accepting", "in recovery mode")

MakeError = Callable[[str, str], SojournError]


def read_only_error(at: str) -> StoreReadOnly:
    return StoreReadOnly(
        f"{at} can only be read.", hint="Use the primary server, or allow writing (default_transaction_read_only)."
    )


_BY_CODE: dict[str, MakeError] = {
    "53100": lambda at, why: StoreFull(
        f"The disk that holds {at} is full.", hint="Free some space on the server; nothing that was stored is lost."
    ),
    "25006": lambda at, why: read_only_error(at),
    "53300": lambda at, why: StoreUnavailable(
        f"{at} has no connection left: {why}.", hint="Close other programs, or raise max_connections on the server."
    ),
    "55P03": lambda at, why: StoreLocked(
        f"{at} is locked by another program: {why}.", hint="Wait, or end the transaction that holds the lock."
    ),
    "40001": lambda at, why: StoreLocked(f"{at} is too busy: {why}.", hint="Try again."),
    "40P01": lambda at, why: StoreLocked(f"{at} is too busy: {why}.", hint="Try again."),
    "23505": lambda at, why: Conflict(f"It exists already: {why}.", hint="Read it again and repeat the change."),
    "23503": lambda at, why: Conflict(f"Something it belongs to is gone: {why}.", hint="Read it again."),
    "42501": lambda at, why: StoreUnavailable(
        f"{at} does not allow this: {why}.",
        hint="Give the user its rights, e.g. GRANT CREATE, USAGE ON SCHEMA public, or make it owner of the tables.",
    ),
    "42P01": lambda at, why: StoreUnavailable(
        f"{at} is incomplete: {why}.", hint="Restore the database, or name an empty one."
    ),
}


def translate(error: Exception, at: str) -> SojournError:
    """Returns our error for one of the driver; `at` is the address without its password."""
    code, why = getattr(error, "sqlstate", None) or "", _message_of(error)
    if code == "23505" and _constraint(error) == "sessions_title":
        return TitleTaken("That title was just taken by another session.", hint="Choose another title.")
    if code in _BY_CODE:
        return _BY_CODE[code](at, why)
    if code.startswith("XX00"):
        return StoreCorrupt(f"{at} is damaged: {why}.", hint="Ask the administrator of the server; restore a backup.")
    if isinstance(error, UnicodeEncodeError):
        return BadInput("A text contains a character that no database accepts.", hint="Remove it.")
    # a ProgrammingError without a code: psycopg refused a value that PostgreSQL has no type for, and sent nothing
    is_unsupported = isinstance(error, psycopg.ProgrammingError) and not code
    if isinstance(error, psycopg.DataError) or code.startswith(("22", "54")) or is_unsupported:
        return BadInput(f"The value cannot be stored: {why}.", hint="Check the value; nothing was written.")
    if isinstance(error, PoolTimeout):
        return StoreLocked(f"All connections to {at} are in use.", hint="Try again later.")
    if isinstance(error, PoolClosed):
        return StoreUnavailable(f"{at} was closed.", hint="Open the store again.")
    if code and not code.startswith(("08", "28", "3D", "57P")):
        return StoreUnavailable(f"{at} cannot be used: {why}.", hint="`sojourn doctor` shows more.")
    return _unreachable(why, at)


def _unreachable(why: str, at: str) -> StoreUnavailable:
    if "authentication failed" in why or "no password supplied" in why or "pg_hba.conf" in why:
        hint = "Check user and password in SOJOURN_DATABASE_URL, and pg_hba.conf on the server."
    elif "does not exist" in why:
        hint = "Create it first (createdb, createuser), or correct the name in SOJOURN_DATABASE_URL."
    elif any(phrase in why for phrase in _RESTARTING_PHRASES):
        hint = "The server is restarting. Wait a moment."
    else:
        hint = "Check that the server runs and that SOJOURN_DATABASE_URL names it."
    return StoreUnavailable(f"{at} cannot be reached: {why}.", hint=hint)


def is_restarting(error: BaseException | None) -> bool:
    """Whether the server says that it is starting up or shutting down."""
    code = getattr(error, "sqlstate", None)
    return code in RESTARTING or (code is None and any(phrase in str(error) for phrase in _RESTARTING_PHRASES))


def _constraint(error: Exception) -> str | None:
    return error.diag.constraint_name if isinstance(error, psycopg.Error) else None


def _message_of(error: Exception) -> str:
    """Returns the message of the server on one line, without the values of rows."""
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((message or str(error)).split()).rstrip(".")
