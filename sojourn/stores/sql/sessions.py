"""Sessions and their attachments: create, find, change, and blobs stored once by hash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sojourn.core.errors import BadInput, Conflict, Forgotten, NotFound, TitleTaken
from sojourn.core.messages import Json
from sojourn.core.sessions import DETAIL_FIELDS, OWNER, Principal, Session, SessionId, new_session_id
from sojourn.ports.store import Listing, SearchQuery
from sojourn.stores.sql.db import Conditions, Db, fetch_number, placeholders
from sojourn.stores.sql.rows import SESSION_COLUMNS, coerce_column, session_from, title_terms, to_stored_text
from sojourn.stores.sql.session_names import check_session_id, find_session_id
from sojourn.text.escape import escape, unescape
from sojourn.text.query import Clause, parse_query
from sojourn.text.titles import clean_tag, clean_title

_SUMMARY_COLUMNS = ", ".join(f"s.{name}" for name in SESSION_COLUMNS)
_ALL_COLUMNS = _SUMMARY_COLUMNS + ", " + ", ".join(f"s.{name}" for name in DETAIL_FIELDS if name != "system_prompt")


def tombstone_hash(*parts: str) -> str:
    """Returns the hash that marks a forgotten session or import."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def is_forgotten(db: Db, *parts: str) -> bool:
    tombstone = "SELECT 1 AS found FROM tombstones WHERE hash = ?"
    return db.fetch_one(tombstone, (tombstone_hash(*parts),)) is not None


def insert_session(db: Db, values: Mapping[str, Any]) -> None:
    """Inserts a session row from values by column name."""
    row = {name: coerce_column(name, value, db.redact) for name, value in values.items() if value is not None}
    if prompt := row.pop("system_prompt", None):
        row["system_prompt_hash"] = hashlib.sha256(prompt.encode("utf-8")).hexdigest()
        db.execute(
            "INSERT INTO system_prompts(hash, prompt) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
            (row["system_prompt_hash"], prompt),
        )
    row["title_terms"] = title_terms(row.get("title"))
    row.setdefault("last_active", row["started_at"])
    db.execute(f"INSERT INTO sessions({', '.join(row)}) VALUES ({placeholders(list(row))})", list(row.values()))


def create_session(
    db: Db,
    *,
    principal: Principal = OWNER,
    source: str = "cli",
    title: str | None = None,
    parent: SessionId | None = None,
    model: str | None = None,
    cwd: str | None = None,
    id: SessionId | None = None,
    details: Mapping[str, Json] | None = None,
) -> Session:
    now = db.now()
    session = check_session_id(id) if id else new_session_id(now)
    if id and is_forgotten(db, "session", session):  # a new one is unlike any other
        raise Forgotten(f'"{session}" was forgotten and does not come back.', hint="Start a session with another id.")
    if id and db.fetch_one("SELECT 1 AS found FROM sessions WHERE id = ?", (session,)):
        raise Conflict(f'A session "{session}" is already there.', hint="Open it, or omit the id to get a new one.")
    stored_title = clean_title(title) if title else None
    check_title_free(db, principal, stored_title, besides="")
    extra = {key: value for key, value in (details or {}).items() if key in DETAIL_FIELDS}
    insert_session(
        db,
        {
            "id": session,
            "principal": principal,
            "source": source,
            "title": stored_title,
            "model": model,
            "cwd": cwd,
            "parent_session_id": parent,
            "started_at": now,
            **extra,
        },
    )
    db.record_change(session, "created")
    return get_session(db, session)


def check_title_free(db: Db, principal: Principal, title: str | None, *, besides: str) -> None:
    if title is None:
        return
    other = db.fetch_one(
        "SELECT id FROM sessions WHERE principal = ? AND title = ? AND id <> ?",
        (principal, to_stored_text(title, db.redact), besides),
    )
    if other:
        raise TitleTaken(f'The title "{title}" belongs to session {other["id"]}.', hint="Choose another title.")


def get_session(db: Db, session: str, *, principal: Principal | None = None) -> Session:
    row = db.fetch_one(
        f"SELECT {_ALL_COLUMNS}, p.prompt AS system_prompt FROM sessions s "
        "LEFT JOIN system_prompts p ON p.hash = s.system_prompt_hash WHERE s.id = ?",
        (escape(session),),
    )
    if row is None or (principal is not None and row["principal"] != principal):
        raise session_not_found(session)
    return session_from(row, {name: row[name] for name in DETAIL_FIELDS if row[name] is not None})


def check_session_exists(db: Db, session: SessionId) -> None:
    if db.fetch_one("SELECT 1 AS found FROM sessions WHERE id = ?", (escape(session),)) is None:
        raise session_not_found(session)


def session_not_found(session: str) -> NotFound:
    return NotFound(f'There is no session "{session}".', hint="`sojourn sessions list` shows what there is.")


def resolve_session(db: Db, words: str, *, principal: Principal = OWNER) -> Session:
    """Finds a session by its id, a unique beginning of it, its title, or a unique part of that."""
    return get_session(db, find_session_id(db, words, principal))


def list_sessions(db: Db, listing: Listing) -> list[Session]:
    where = listing_conditions(listing)
    rows = db.fetch_all(
        f"SELECT {_SUMMARY_COLUMNS} FROM sessions s WHERE {where} ORDER BY s.last_active DESC, s.id DESC "
        "LIMIT ? OFFSET ?",
        [*where.params, max(0, listing.limit), max(0, listing.skip)],
    )
    return [session_from(row) for row in rows]


def count_sessions(db: Db, listing: Listing) -> int:
    where = listing_conditions(replace(listing, before=None))
    return fetch_number(db, f"SELECT count(*) AS n FROM sessions s WHERE {where}", where.params)


def filter_conditions(query: Listing | SearchQuery) -> Conditions:
    """Returns the conditions of the filters that listings and searches share."""
    where = Conditions()
    where.add("s.principal = ?", query.principal)
    where.add(f"s.trashed_at IS {'NOT ' if isinstance(query, Listing) and query.trashed else ''}NULL")
    where.add_filters(("s.archived = ?", None if query.archived is None else int(query.archived)))
    where.add_choice("s.source", query.sources)
    where.add_choice("s.program", query.programs)
    where.add_choice("s.machine", query.machines)
    where.add_choice("s.cwd", query.projects)
    where.add_choice("s.model", query.models)
    where.add_filters(("s.model = ?", query.model or None))
    if query.tools:
        patterns = [_name_pattern(tool) for tool in query.tools]
        where.add("(" + " OR ".join([_HAS_NAME.format("tools")] * len(patterns)) + ")", *patterns)
    for tag in query.tags:
        where.add(_HAS_NAME.format("tags"), _name_pattern(clean_tag(tag)))
    return where


_HAS_NAME = "(',' || s.{} || ',') LIKE ? ESCAPE '!'"


def _name_pattern(name: str) -> str:
    return f"%,{escape_like(escape(name))},%"


def listing_conditions(listing: Listing) -> Conditions:
    """Returns the conditions of a session list."""
    where = filter_conditions(listing)
    where.add_filters(
        ("s.pinned = ?", None if listing.pinned is None else int(listing.pinned)),
        ("s.parent_session_id = ?", listing.parent or None),
        ("s.last_active >= ?", listing.since),
        ("s.last_active < ?", listing.until),
    )
    if not listing.subagents:
        where.add("NOT (s.source = 'subagent' OR COALESCE(s.model_config, '') LIKE ?)", '%"_delegate_from"%')
    for clause in _parse_title_query(listing.text):
        add_title_condition(where, clause)
    if listing.before:
        where.add("(s.last_active < ? OR (s.last_active = ? AND s.id < ?))", listing.before[0], *listing.before)
    return where


def _parse_title_query(text: str) -> tuple[Clause, ...]:
    """Parses a title filter; a text without words filters nothing."""
    try:
        return parse_query(text)
    except BadInput:
        return ()


def add_title_condition(where: Conditions, clause: Clause) -> None:
    """Requires that a title has the terms of a clause."""
    *whole, last = clause.phrase
    patterns = [f"% {term} %" for term in whole] + [f"% {last}{'' if clause.prefix else ' '}%"]
    condition = " AND ".join(["s.title_terms LIKE ?"] * len(patterns))
    if clause.joined:
        where.add(f"(({condition}) OR s.title_terms LIKE ?)", *patterns, f"% {clause.joined} %")
    else:
        where.add(condition, *patterns)


def escape_like(text: str) -> str:
    """Escapes a text for a LIKE pattern with ESCAPE '!'."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def put_blob(db: Db, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> str:
    """Stores an attachment under its SHA-256 and returns that. The same bytes are stored once; the media type belongs
    to the upload. Bytes are never redacted."""
    check_session_exists(db, session)
    digest = hashlib.sha256(data).hexdigest()
    db.execute(
        "INSERT INTO blobs(hash, media_type, data, at) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
        (digest, escape(media_type), data, db.now()),
    )
    db.execute(
        "INSERT INTO blob_uses(session_id, hash, name, media_type) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (session_id, hash, name) DO UPDATE SET media_type = excluded.media_type",
        (session, digest, to_stored_text(name, db.redact), escape(media_type)),
    )
    return digest


def get_blob(db: Db, session: SessionId, hash: str) -> tuple[bytes, str]:
    """Returns the bytes and the media type of an attachment of this session."""
    row = db.fetch_one(
        "SELECT b.data, COALESCE(NULLIF(u.media_type, ''), b.media_type) AS media_type "
        "FROM blobs b JOIN blob_uses u ON u.hash = b.hash WHERE b.hash = ? AND u.session_id = ? ORDER BY u.name",
        (escape(hash), escape(session)),
    )
    if row is None:
        raise NotFound(f'Session "{session}" has no attachment {hash[:12]}.', hint="List the session's attachments.")
    return bytes(row["data"]), unescape(row["media_type"])
