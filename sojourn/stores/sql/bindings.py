"""Bindings over SQL: a place talks to one session, a session is talked to from one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.core.text import escape
from sojourn.ports.journal import Binding
from sojourn.stores.journal import BINDINGS, binding_from, bound_meanwhile
from sojourn.stores.records import after_prefix, json_text
from sojourn.stores.sql.db import Db, Row, insertion
from sojourn.stores.sql.sessions import no_session
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.transactions import Transactions

_COLUMNS = ", ".join(TABLES_BY_NAME["bindings"].columns)
_INSERT = insertion("bindings", TABLES_BY_NAME["bindings"].columns)


def bind(
    db: Db, place: str, session: SessionId, principal: Principal, details: Mapping[str, Json] | None, expect: int | None
) -> Binding:
    owner = db.one("SELECT principal FROM sessions WHERE id = ?" + db.for_update, (escape(session),))
    if owner is None or owner["principal"] != principal:
        raise no_session(session)
    old, now = _row(db, place, locked=True), db.now()
    found = old["revision"] if old else 0
    if expect is not None and expect != found:
        raise bound_meanwhile(place, expect=expect, found=found)
    db.run(  # where it was bound before, it can be brought back from
        "UPDATE bindings SET session_id = NULL, previous_session_id = session_id, revision = revision + 1, "
        "updated_at = ? WHERE session_id = ? AND place <> ?",
        (now, session, escape(place)),
    )
    text = old["details"] if old and details is None else json_text(dict(details or {}), db.redact)
    previous = None if old is None else old["previous_session_id"]
    if old and old["session_id"] not in (None, session):
        previous = old["session_id"]
    if old is None:
        db.run(_INSERT, (escape(place), session, None, escape(principal), text, 1, now))
    else:
        previous = None if previous == session else previous
        db.run(
            "UPDATE bindings SET session_id = ?, previous_session_id = ?, principal = ?, details = ?, "
            "revision = revision + 1, updated_at = ? WHERE place = ?",
            (session, previous, escape(principal), text, now, escape(place)),
        )
    db.touched.add(BINDINGS)
    kept = _row(db, place)
    assert kept is not None
    return binding_from(kept)


def _row(db: Db, place: str, *, locked: bool = False) -> Row | None:
    return db.one(f"SELECT {_COLUMNS} FROM bindings WHERE place = ?{db.for_update if locked else ''}", (escape(place),))


def find(db: Db, session: SessionId | None, principal: Principal | None, prefix: str) -> list[Binding]:
    where, params = ["1 = 1"], list[Any]()

    def add(condition: str, value: str) -> None:
        where.append(condition)
        params.append(value)

    if session is not None:
        add("session_id = ?", escape(session))
    if principal is not None:
        add("principal = ?", escape(principal))
    if prefix:
        add("place >= ?", escape(prefix))
        if (end := after_prefix(escape(prefix))) is not None:
            add("place < ?", end)
    rows = db.all(f"SELECT {_COLUMNS} FROM bindings WHERE {' AND '.join(where)} ORDER BY place", params)
    return [binding_from(row) for row in rows]


def unbind(db: Db, place: str, expect: int | None) -> bool:
    old = _row(db, place, locked=True)
    if old is None:
        return False
    if expect is not None and expect != old["revision"]:
        raise bound_meanwhile(place, expect=expect, found=old["revision"])
    db.run("DELETE FROM bindings WHERE place = ?", (escape(place),))
    db.touched.add(BINDINGS)
    return True


class SqlBindings(Transactions):
    """ports.journal.Bindings over SQL."""

    async def bind(
        self,
        place: str,
        session: SessionId,
        *,
        principal: Principal = OWNER,
        details: Mapping[str, Json] | None = None,
        expect: int | None = None,
    ) -> Binding:
        return await self._write(lambda db: bind(db, place, session, principal, details, expect))

    async def binding(self, place: str) -> Binding | None:
        row = await self._read(lambda db: _row(db, place))
        return binding_from(row) if row else None

    async def bindings(
        self, *, session: SessionId | None = None, principal: Principal | None = None, prefix: str = ""
    ) -> list[Binding]:
        return await self._read(lambda db: find(db, session, principal, prefix))

    async def unbind(self, place: str, *, expect: int | None = None) -> bool:
        return await self._write(lambda db: unbind(db, place, expect))
