"""Import of foreign sessions: idempotent; every message is stored exactly once and never removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.messages import Message
from sojourn.core.sessions import Principal, SessionId, new_session_id
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Record
from sojourn.ports.store_admin import Ingested
from sojourn.stores.sql.continuations import add_figures, add_usage, find_continuation, restore_usage, select_messages
from sojourn.stores.sql.db import Db, Row, insert_statement
from sojourn.stores.sql.free_titles import find_free_title
from sojourn.stores.sql.log import LOG_COLUMNS
from sojourn.stores.sql.rows import (
    FIGURE_COLUMNS,
    add_tool_names,
    coerce_column,
    coerce_columns,
    count_tool_calls,
    message_row,
    preview_of,
    title_terms,
    to_stored_text,
)
from sojourn.stores.sql.session_names import check_session_id
from sojourn.stores.sql.sessions import insert_session, is_forgotten, put_blob, tombstone_hash
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.text.escape import escape, unescape
from sojourn.text.message_redaction import redact_message
from sojourn.text.redaction import Redacted, Redactor

OWN_EXPORT = "sojourn"  # the source of sessions that another Sojourn exported
_MAX_SEQ = 2**53  # larger numbers are not exact in JSON
_INSERT_IMPORT = insert_statement("imports", TABLES_BY_NAME["imports"].columns)
_UPDATE = (
    "UPDATE sessions SET last_seq = ?, message_count = message_count + ?, tool_call_count = tool_call_count + ?, "
    "last_active = CASE WHEN last_active < ? THEN ? ELSE last_active END, ended_at = ?, end_reason = ?, "
    "archived = CASE WHEN ? = 1 THEN 1 ELSE archived END, rewind_count = ?, revision = revision + 1, "
    "preview = CASE WHEN preview = '' THEN ? ELSE preview END, tools = ?, title = ?, title_terms = ?, "
    "machine = COALESCE(machine, ?), "
    f"{', '.join(f'{name} = COALESCE(?, {name})' for name in FIGURE_COLUMNS)} WHERE id = ?"
)


def list_fingerprints(db: Db, source: str, home: str) -> dict[str, str]:
    rows = db.fetch_all(
        "SELECT source_id, fingerprint FROM imports WHERE source = ? AND source_home = ?",
        (escape(source), escape(home)),
    )
    return {unescape(row["source_id"]): row["fingerprint"] for row in rows}


def list_forgotten(db: Db, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
    hashes = {row["hash"] for row in db.fetch_all("SELECT hash FROM tombstones", ())} if native_ids else set()
    if not hashes:
        return set()
    key = (escape(source), escape(home))
    return {
        native
        for native in native_ids
        if tombstone_hash("import", *key, escape(native)) in hashes or tombstone_hash("session", native) in hashes
    }


def redact_batch(batch: Sequence[tuple[str, Transcript]], redact: Redactor) -> list[tuple[str, Transcript]]:
    """Redacts messages and foreign records before the writer is entered."""
    return [
        (
            fingerprint,
            replace(
                transcript,
                messages=[redact_message(message, redact) for message in transcript.messages],
                records=[(kind, Redacted(redact(data))) for kind, data in transcript.records],
            ),
        )
        for fingerprint, transcript in batch
    ]


def ingest_batch(
    db: Db, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
) -> list[Ingested]:
    return [_ingest(db, source, home, fingerprint, transcript, principal) for fingerprint, transcript in batch]


def _ingest(db: Db, source: str, home: str, fingerprint: str, transcript: Transcript, principal: Principal) -> Ingested:
    """Imports a session, or updates it if it was imported before."""
    native = transcript.native_id
    key = (escape(source), escape(home), escape(native))
    if is_forgotten(db, "import", *key) or is_forgotten(db, "session", native):
        return Ingested(native_id=native, session=None, outcome="forgotten", note="it was forgotten here")
    row = _find_import(db, source, home, native)
    if row is None and source == OWN_EXPORT and _exists(db, native):
        return Ingested(native_id=native, session=SessionId(native), outcome="unchanged", note="it is here already")
    continued = transcript.fields.get("continues")
    if row is None and isinstance(continued, str) and find_continuation(db, source, native, escape(continued)):
        db.execute(_INSERT_IMPORT, (*key, escape(continued), fingerprint, db.now()))
        return Ingested(native_id=native, session=SessionId(continued), outcome="unchanged")
    if row is None:
        result = _import_new(db, source, home, transcript, principal)
        db.execute(_INSERT_IMPORT, (*key, result.session, fingerprint, db.now()))
    else:
        is_same = row["fingerprint"] == fingerprint
        known = find_continuation(db, source, native, row["session_id"])
        result = _update_imported(db, SessionId(row["session_id"]), transcript, known, is_same=is_same)
        if not is_same:
            db.execute(
                "UPDATE imports SET fingerprint = ?, at = ? WHERE source = ? AND source_home = ? AND source_id = ?",
                (fingerprint, db.now(), *key),
            )
    if result.session and result.outcome != "unchanged":
        db.record_change(result.session, "created" if result.outcome == "imported" else "log")
    return result


def _import_new(db: Db, source: str, home: str, transcript: Transcript, principal: Principal) -> Ingested:
    session, note = _free_id(db, source, transcript.native_id)
    fields = coerce_columns(transcript.fields)
    fields["title"], title_note = find_free_title(db, principal, transcript.fields.get("title"))
    parent = transcript.fields.get("parent_session_id")
    if parent:
        imported = _find_import(db, source, home, str(parent))
        fields["parent_session_id"] = imported["session_id"] if imported else parent
    numbers = _list_numbers(transcript, transcript.messages, 0)
    insert_session(
        db,
        {
            **fields,
            **(_list_own_columns(transcript) if source == OWN_EXPORT else {"program": source}),
            "id": session,
            "principal": principal,
            "source": fields.get("source") or source,
            "tools": unescape(add_tool_names("", transcript.messages)),
            "source_home": home,
            "source_id": transcript.native_id,
            "started_at": fields.get("started_at") or 0.0,
            "last_active": _last_active(transcript),
            "message_count": len(transcript.messages),
            "tool_call_count": sum(map(count_tool_calls, transcript.messages)),
            "preview": unescape(preview_of(transcript.messages, db.redact)),
            "last_seq": max(numbers, default=0),
        },
    )
    _insert_messages(db, session, numbers, transcript.messages)
    _put_files(db, session, transcript)
    _replace_details(db, session, transcript)
    return Ingested(
        native_id=transcript.native_id,
        session=session,
        outcome="imported",
        new_messages=len(transcript.messages),
        note="; ".join(filter(None, (note, title_note))),
    )


def _free_id(db: Db, source: str, native: str) -> tuple[SessionId, str]:
    """Returns the id of an imported session and a note if it had to change: on a clash, the source is its prefix."""
    for candidate in (native, f"{source}-{native}"):
        try:
            session = check_session_id(candidate)
        except BadInput:
            continue
        if db.fetch_one("SELECT 1 AS found FROM sessions WHERE id = ?", (session,)) is None:
            return session, "" if candidate == native else f"id {native} was taken; stored as {session}"
    session = new_session_id()
    return session, f"id {native!r} is not valid here; stored as {session}"


def _find_import(db: Db, source: str, home: str, native: str) -> Row | None:
    return db.fetch_one(
        "SELECT session_id, fingerprint FROM imports WHERE source = ? AND source_home = ? AND source_id = ?",
        (escape(source), escape(home), escape(native)),
    )


def _last_active(transcript: Transcript) -> float:
    fields = coerce_columns(transcript.fields)
    started = coerce_column("started_at", fields.get("started_at"), str) or 0.0
    given = fields.get("last_active")
    return max(
        [started, given if isinstance(given, float) else 0.0, *(message.timestamp for message in transcript.messages)]
    )


def _insert_messages(db: Db, session: SessionId, numbers: Sequence[int], messages: Sequence[Message]) -> None:
    now = db.now()
    db.insert_messages(
        LOG_COLUMNS,
        (
            (session, seq, *message_row(message, db.redact, now=now))
            for seq, message in zip(numbers, messages, strict=True)
        ),
    )


def _list_numbers(transcript: Transcript, messages: Sequence[Message], after: int) -> list[int]:
    """Numbers for some messages: those of the store they were exported from, if these are free and rise."""
    given = transcript.fields.get("numbers")
    if isinstance(given, list) and len(given) == len(transcript.messages):
        theirs = {_key(message): number for message, number in zip(transcript.messages, given, strict=True)}
        numbers = [theirs[_key(message)] for message in messages]
        is_rising = all(type(one) is int for one in numbers) and all(a < b for a, b in pairwise([after, *numbers]))
        if is_rising and max(numbers, default=0) <= _MAX_SEQ:
            return numbers
    return list(range(after + 1, after + 1 + len(messages)))


def _list_own_columns(transcript: Transcript) -> dict[str, Any]:
    """The columns of a session from our own export that no other program fills."""
    fields = transcript.fields
    origin, copied, program = fields.get("branched_from"), fields.get("copied"), fields.get("program")
    return {
        "branched_from": origin if isinstance(origin, str) else None,
        "copied": copied if type(copied) is int and copied > 0 else 0,
        "program": program if isinstance(program, str) and program else OWN_EXPORT,
    }


def _put_files(db: Db, session: SessionId, transcript: Transcript) -> None:
    for name, media_type, data in transcript.fields.get("files") or ():
        put_blob(db, session, data, media_type=media_type, name=name)


def _exists(db: Db, session: str) -> bool:
    return db.fetch_one("SELECT 1 AS found FROM sessions WHERE id = ?", (escape(session),)) is not None


def _replace_details(db: Db, session: SessionId, transcript: Transcript, *, keeps_usage: bool = False) -> None:
    """Replaces the foreign records of a session and its usage by model."""
    db.execute("DELETE FROM source_records WHERE session_id = ?", (session,))
    db.execute_many(
        insert_statement("source_records", TABLES_BY_NAME["source_records"].columns),
        (
            (session, at, escape(kind), to_stored_text(data, db.redact))
            for at, (kind, data) in enumerate(transcript.records, 1)
        ),
    )
    if keeps_usage:
        return
    db.execute("DELETE FROM session_model_usage WHERE session_id = ?", (session,))
    columns = TABLES_BY_NAME["session_model_usage"].columns
    for row in transcript.fields.get("usage") or ():
        values = {name: coerce_column(name, row.get(name), db.redact) for name in columns}
        filled = {name: value for name, value in values.items() if value is not None} | {"session_id": session}
        db.execute(insert_statement("session_model_usage", tuple(filled)), list(filled.values()))


def _update_imported(
    db: Db, session: SessionId, transcript: Transcript, known: Record | None, *, is_same: bool
) -> Ingested:
    """Adds new messages and updates changed flags. Messages that the source no longer has stay.

    `known`: the session went on in this source, which has only a part of it.
    """
    transcript = select_messages(known, transcript) if known else transcript
    head = db.fetch_one(
        "SELECT last_seq, principal, title, tools, parent_session_id FROM sessions WHERE id = ?" + db.for_update,
        (session,),
    )
    if head is None:
        return Ingested(native_id=transcript.native_id, session=None, outcome="unchanged", note="it was deleted here")
    rows = db.fetch_all("SELECT seq, native_id, active, compacted FROM messages WHERE session_id = ?", (session,))
    ours = {row["native_id"]: row for row in rows if row["native_id"] is not None}
    new, reflagged = list[Message](), list[Sequence[Any]]()
    for message in transcript.messages:
        row = ours.get(_key(message))
        if row is None:
            new.append(message)
        elif (message.active, message.compacted) != (bool(row["active"]), bool(row["compacted"])):
            reflagged.append((int(message.active), int(message.compacted), session, row["seq"]))
    removed = 0 if known else len(ours.keys() - {_key(message) for message in transcript.messages})
    if is_same and not new and not reflagged:
        return Ingested(native_id=transcript.native_id, session=session, outcome="unchanged", removed_upstream=removed)
    last = max([head["last_seq"], *(row["seq"] for row in rows)])
    numbers = _list_numbers(transcript, new, last)
    _insert_messages(db, session, numbers, new)
    _put_files(db, session, transcript)
    db.execute_many("UPDATE messages SET active = ?, compacted = ? WHERE session_id = ? AND seq = ?", reflagged)
    if known:
        add_figures(db, session, new, max([last, *numbers]), head["tools"])
        add_usage(db, session, known, transcript)
    else:
        transcript, is_orphan = _keep_usage_of_orphan(head, transcript)
        _update_session(db, session, head, transcript, new, max([last, *numbers]))
        _replace_details(db, session, transcript, keeps_usage=is_orphan)
        if not is_orphan:
            restore_usage(db, session)
    return Ingested(
        native_id=transcript.native_id,
        session=session,
        outcome="updated",
        new_messages=len(new),
        changed_messages=len(reflagged),
        removed_upstream=removed,
    )


def _keep_usage_of_orphan(head: Row, transcript: Transcript) -> tuple[Transcript, bool]:
    """The transcript without its usage if it is a fork whose parent is gone from the source, but not from here.

    Nothing tells any more which of its answers are its parent's, so what is known of its usage stays.
    """
    if not head["parent_session_id"] or transcript.fields.get("parent_session_id"):
        return transcript, False
    fields = {name: value for name, value in transcript.fields.items() if name not in (*FIGURE_COLUMNS, "usage")}
    return replace(transcript, fields=fields), True


def _update_session(
    db: Db, session: SessionId, head: Row, transcript: Transcript, new: Sequence[Message], last_seq: int
) -> None:
    """Updates the session row from the source. A title or an archive flag set in Sojourn stays."""
    fields = coerce_columns(transcript.fields)
    values = {name: coerce_column(name, value, db.redact) for name, value in fields.items()}
    title = head["title"] or to_stored_text(
        find_free_title(db, head["principal"], transcript.fields.get("title"))[0], db.redact
    )
    last_active = _last_active(transcript)
    db.execute(
        _UPDATE,
        (
            last_seq,
            len(new),
            sum(map(count_tool_calls, new)),
            last_active,
            last_active,
            values.get("ended_at"),
            values.get("end_reason"),
            values.get("archived") or 0,
            values.get("rewind_count") or 0,
            preview_of(new, db.redact),
            add_tool_names(head["tools"], new),
            title,
            title_terms(title),
            values.get("machine"),
            *(values.get(name) for name in FIGURE_COLUMNS),
            session,
        ),
    )


def _key(message: Message) -> str | None:
    return None if message.native_id is None else escape(message.native_id)
