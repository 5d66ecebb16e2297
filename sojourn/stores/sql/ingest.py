"""Bringing in foreign sessions: 1:1, idempotent, nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.core.errors import BadInput, BadTitle
from sojourn.core.messages import Message
from sojourn.core.sessions import Principal, SessionId, check_session_id, clean_title, new_session_id
from sojourn.core.text import escape, unescape
from sojourn.ports.ingest import Ingested
from sojourn.ports.source import Transcript
from sojourn.stores.sql.db import Db, Row, insertion
from sojourn.stores.sql.log import NUMBERED, tally
from sojourn.stores.sql.rows import (
    FIGURE_COLUMNS,
    coerce_column,
    coerce_columns,
    message_row,
    preview_of,
    title_terms,
    to_stored_text,
)
from sojourn.stores.sql.sessions import insert, is_forgotten, tombstone
from sojourn.stores.sql.tables import TABLES_BY_NAME

_INSERT_IMPORT = insertion("imports", ("source", "source_home", "source_id", "session_id", "fingerprint", "at"))
_UPDATE = (
    "UPDATE sessions SET last_seq = ?, message_count = message_count + ?, tool_call_count = tool_call_count + ?, "
    "last_active = CASE WHEN last_active < ? THEN ? ELSE last_active END, ended_at = ?, end_reason = ?, "
    "archived = CASE WHEN ? = 1 THEN 1 ELSE archived END, rewind_count = ?, revision = revision + 1, "
    "preview = CASE WHEN preview = '' THEN ? ELSE preview END, title = ?, title_terms = ?, "
    f"{', '.join(f'{name} = COALESCE(?, {name})' for name in FIGURE_COLUMNS)} WHERE id = ?"
)


def known(db: Db, source: str, home: str) -> dict[str, str]:
    rows = db.all(
        "SELECT source_id, fingerprint FROM imports WHERE source = ? AND source_home = ?",
        (escape(source), escape(home)),
    )
    return {unescape(row["source_id"]): row["fingerprint"] for row in rows}


def forgotten(db: Db, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
    hashes = {row["hash"] for row in db.all("SELECT hash FROM tombstones", ())} if native_ids else set()
    if not hashes:
        return set()
    key = (escape(source), escape(home))
    return {
        native
        for native in native_ids
        if tombstone("import", *key, escape(native)) in hashes or tombstone("session", native) in hashes
    }


def bring_in(db: Db, source: str, home: str, fingerprint: str, found: Transcript, principal: Principal) -> Ingested:
    native = found.native_id
    key = (escape(source), escape(home), escape(native))
    if is_forgotten(db, "import", *key) or is_forgotten(db, "session", native):
        return Ingested(native_id=native, session=None, outcome="forgotten", note="it was forgotten here")
    row = db.one(
        "SELECT session_id, fingerprint FROM imports WHERE source = ? AND source_home = ? AND source_id = ?", key
    )
    if row is None:
        done = _new(db, source, home, found, principal)
        db.run(_INSERT_IMPORT, (*key, done.session, fingerprint, db.now()))
    else:
        done = _more(db, SessionId(row["session_id"]), found, is_same=row["fingerprint"] == fingerprint)
    if row is not None and row["fingerprint"] != fingerprint:
        db.run(
            "UPDATE imports SET fingerprint = ?, at = ? WHERE source = ? AND source_home = ? AND source_id = ?",
            (fingerprint, db.now(), *key),
        )
    if done.session and done.outcome != "unchanged":
        db.changed(done.session, "created" if done.outcome == "imported" else "log")
    return done


def _new(db: Db, source: str, home: str, found: Transcript, principal: Principal) -> Ingested:
    session, note = _free_id(db, source, found.native_id)
    fields = coerce_columns(found.fields)
    fields["title"], more = _title(db, principal, found.fields.get("title"))
    parent = found.fields.get("parent_session_id")
    if parent:
        fields["parent_session_id"] = _session_of(db, source, home, str(parent)) or parent
    sums = tally(found.messages)
    insert(
        db,
        {
            **fields,
            "id": session,
            "principal": principal,
            "source": fields.get("source") or source,
            "source_home": home,
            "source_id": found.native_id,
            "started_at": fields.get("started_at") or 0.0,
            "last_active": _last_active(found),
            "message_count": sums.messages,
            "tool_call_count": sums.calls,
            "preview": unescape(preview_of(found.messages, db.redact)),
            "last_seq": len(found.messages),
        },
    )
    _write(db, session, 0, found.messages)
    _records(db, session, found)
    _usage(db, session, found)
    return Ingested(
        native_id=found.native_id,
        session=session,
        outcome="imported",
        new_messages=len(found.messages),
        note="; ".join(filter(None, (note, more))),
    )


def _free_id(db: Db, source: str, native: str) -> tuple[SessionId, str]:
    """Imported sessions keep their id; on a clash the source's name goes before it."""
    for candidate in (native, f"{source}-{native}"):
        try:
            session = check_session_id(candidate)
        except BadInput:
            continue
        if db.one("SELECT 1 AS found FROM sessions WHERE id = ?", (session,)) is None:
            return session, "" if candidate == native else f"id {native} was taken; kept as {session}"
    session = new_session_id()
    return session, f"id {native!r} could not be kept; it is {session} here"


def _title(db: Db, principal: Principal, raw: Any) -> tuple[str | None, str]:
    """A foreign title, shortened and numbered where ours have to be unique."""
    if not isinstance(raw, str) or not raw.strip():
        return None, ""
    try:
        title = clean_title(raw)
    except BadTitle:
        title = clean_title(raw[:90])
    if title is None:
        return None, ""
    wanted, number = title, 1
    while db.one(
        "SELECT 1 AS found FROM sessions WHERE principal = ? AND title = ?",
        (principal, to_stored_text(wanted, db.redact)),
    ):
        number += 1
        wanted = f"{title[:92]} #{number}"
    return wanted, f'title "{title}" was taken; kept as "{wanted}"' if wanted != title else ""


def _session_of(db: Db, source: str, home: str, native: str) -> str | None:
    row = db.one(
        "SELECT session_id FROM imports WHERE source = ? AND source_home = ? AND source_id = ?",
        (escape(source), escape(home), escape(native)),
    )
    return row["session_id"] if row else None


def _last_active(found: Transcript) -> float:
    started = coerce_column("started_at", coerce_columns(found.fields).get("started_at"), str) or 0.0
    return max([started, *(message.timestamp for message in found.messages)])


def _write(db: Db, session: SessionId, after: int, messages: Sequence[Message]) -> None:
    now = db.now()
    db.put_messages(
        NUMBERED,
        ((session, after + at, *message_row(message, db.redact, now=now)) for at, message in enumerate(messages, 1)),
    )


def _records(db: Db, session: SessionId, found: Transcript) -> None:
    db.run("DELETE FROM source_records WHERE session_id = ?", (session,))
    db.many(
        "INSERT INTO source_records(session_id, position, kind, data) VALUES (?, ?, ?, ?)",
        (
            (session, at, escape(kind), to_stored_text(data, db.redact))
            for at, (kind, data) in enumerate(found.records, 1)
        ),
    )


def _usage(db: Db, session: SessionId, found: Transcript) -> None:
    rows = found.fields.get("usage") or ()
    columns = TABLES_BY_NAME["session_model_usage"].columns
    db.run("DELETE FROM session_model_usage WHERE session_id = ?", (session,))
    for row in rows:
        given = {name: coerce_column(name, row.get(name), db.redact) for name in columns}
        kept = {name: value for name, value in given.items() if value is not None} | {"session_id": session}
        db.run(insertion("session_model_usage", tuple(kept)), list(kept.values()))


def _more(db: Db, session: SessionId, found: Transcript, *, is_same: bool) -> Ingested:
    """A session seen before: new messages are added, changed flags follow, rows gone upstream stay."""
    head = db.one("SELECT last_seq, principal, title FROM sessions WHERE id = ?" + db.for_update, (session,))
    if head is None:
        return Ingested(native_id=found.native_id, session=None, outcome="unchanged", note="it was deleted here")
    rows = db.all("SELECT seq, native_id, active, compacted FROM messages WHERE session_id = ?", (session,))
    ours = {row["native_id"]: row for row in rows if row["native_id"] is not None}
    new = [message for message in found.messages if _key(message) not in ours]
    moved = [
        (int(message.active), int(message.compacted), session, ours[_key(message)]["seq"])
        for message in found.messages
        if _key(message) in ours
        and (message.active, message.compacted)
        != (bool(ours[_key(message)]["active"]), bool(ours[_key(message)]["compacted"]))
    ]
    gone = len(ours.keys() - {_key(message) for message in found.messages})
    if is_same and not new and not moved:
        return Ingested(native_id=found.native_id, session=session, outcome="unchanged", removed_upstream=gone)
    last = max([head["last_seq"], *(row["seq"] for row in rows)])
    _write(db, session, last, new)
    db.many("UPDATE messages SET active = ?, compacted = ? WHERE session_id = ? AND seq = ?", moved)
    _follow(db, session, head, found, new, last + len(new))
    _records(db, session, found)
    _usage(db, session, found)
    return Ingested(
        native_id=found.native_id,
        session=session,
        outcome="updated",
        new_messages=len(new),
        changed_messages=len(moved),
        removed_upstream=gone,
    )


def _follow(db: Db, session: SessionId, head: Row, found: Transcript, new: Sequence[Message], last: int) -> None:
    """What the source says about the session as a whole; a title of ours, and an archiving of ours, stay."""
    fields = coerce_columns(found.fields)
    values = {name: coerce_column(name, value, db.redact) for name, value in fields.items()}
    title = head["title"] or to_stored_text(_title(db, head["principal"], found.fields.get("title"))[0], db.redact)
    sums, active = tally(new), _last_active(found)
    db.run(
        _UPDATE,
        (
            last,
            sums.messages,
            sums.calls,
            active,
            active,
            values.get("ended_at"),
            values.get("end_reason"),
            values.get("archived") or 0,
            values.get("rewind_count") or 0,
            preview_of(new, db.redact),
            title,
            title_terms(title),
            *(values.get(name) for name in FIGURE_COLUMNS),
            session,
        ),
    )


def _key(message: Message) -> str | None:
    return None if message.native_id is None else escape(message.native_id)
