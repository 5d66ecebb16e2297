"""Bindings over SQL: each place is bound to one session, each session to one place."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.core.errors import Conflict
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.gateway_store import Binding
from sojourn.stores.sql.db import Conditions, Db, Row, insert_statement
from sojourn.stores.sql.rows import decode_row, encode_json
from sojourn.stores.sql.sessions import session_not_found
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.wakeups import BINDINGS
from sojourn.text.escape import escape

_COLUMNS = ", ".join(TABLES_BY_NAME["bindings"].columns)
_INSERT = insert_statement("bindings", TABLES_BY_NAME["bindings"].columns)


def bind(
    db: Db,
    place: str,
    session: SessionId,
    *,
    principal: Principal = OWNER,
    details: Mapping[str, Json] | None = None,
    expect: int | None = None,
) -> Binding:
    owner = db.fetch_one("SELECT principal FROM sessions WHERE id = ?" + db.for_update, (escape(session),))
    if owner is None or owner["principal"] != principal:
        raise session_not_found(session)
    old, now = _fetch(db, place, lock=True), db.now()
    _check_revision(place, old, expect)
    db.execute(  # the session's other place keeps it as its previous one
        "UPDATE bindings SET session_id = NULL, previous_session_id = session_id, revision = revision + 1, "
        "updated_at = ? WHERE session_id = ? AND place <> ?",
        (now, session, escape(place)),
    )
    text = old["details"] if old and details is None else encode_json(dict(details or {}), db.redact)
    if old is None:
        db.execute(_INSERT, (escape(place), session, None, escape(principal), text, 1, now))
    else:
        previous = old["previous_session_id"] if old["session_id"] in (None, session) else old["session_id"]
        db.execute(
            "UPDATE bindings SET session_id = ?, previous_session_id = ?, principal = ?, details = ?, "
            "revision = revision + 1, updated_at = ? WHERE place = ?",
            (session, None if previous == session else previous, escape(principal), text, now, escape(place)),
        )
    db.wake_names.add(BINDINGS)
    row = _fetch(db, place)
    assert row is not None
    return decode_row(Binding, row)


def _fetch(db: Db, place: str, *, lock: bool = False) -> Row | None:
    return db.fetch_one(
        f"SELECT {_COLUMNS} FROM bindings WHERE place = ?{db.for_update if lock else ''}", (escape(place),)
    )


def _check_revision(place: str, row: Row | None, expect: int | None) -> None:
    current = row["revision"] if row else 0
    if expect not in (None, current):
        raise Conflict(
            f'The place "{place}" was bound by somebody else (revision {current}, not {expect}).',
            hint="Check which session the place talks to now.",
        )


def get_binding(db: Db, place: str) -> Binding | None:
    row = _fetch(db, place)
    return decode_row(Binding, row) if row else None


def list_bindings(
    db: Db, *, session: SessionId | None = None, principal: Principal | None = None, prefix: str = ""
) -> list[Binding]:
    where = Conditions()
    where.add_filters(("session_id = ?", session), ("principal = ?", principal))
    where.add_prefix("place", prefix)
    rows = db.fetch_all(f"SELECT {_COLUMNS} FROM bindings WHERE {where} ORDER BY place", where.params)
    return [decode_row(Binding, row) for row in rows]


def unbind(db: Db, place: str, *, expect: int | None = None) -> bool:
    old = _fetch(db, place, lock=True)
    if old is None:
        return False
    _check_revision(place, old, expect)
    db.execute("DELETE FROM bindings WHERE place = ?", (escape(place),))
    db.wake_names.add(BINDINGS)
    return True
