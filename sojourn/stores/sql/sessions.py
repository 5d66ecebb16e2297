"""Sessions: open, find, rename, tag, archive."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sojourn.core.errors import Ambiguous, BadInput, BadTitle, Conflict, Forgotten, NotFound, TitleTaken
from sojourn.core.finding import Clause, parse
from sojourn.core.messages import Json
from sojourn.core.sessions import (
    DETAIL_FIELDS,
    Principal,
    Session,
    SessionId,
    check_session_id,
    clean_tag,
    clean_title,
    new_session_id,
)
from sojourn.core.text import escape
from sojourn.ports.store import Listing, Search
from sojourn.stores.sql.db import Db, Row, marks
from sojourn.stores.sql.rows import SESSION_COLUMNS, coerce_column, session_from, title_terms, to_stored_text

_SUMMARY = ", ".join(f"s.{name}" for name in SESSION_COLUMNS)
_WHOLE = _SUMMARY + ", " + ", ".join(f"s.{name}" for name in DETAIL_FIELDS if name != "system_prompt")
_CHANGEABLE = ("title", "pinned", "archived", "model", "cwd")


def tombstone(*words: str) -> str:
    """The hash under which something forgotten is remembered."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def is_forgotten(db: Db, *words: str) -> bool:
    return db.one("SELECT 1 AS found FROM tombstones WHERE hash = ?", (tombstone(*words),)) is not None


def insert(db: Db, values: Mapping[str, Any]) -> None:
    """Writes a session row from columns by name."""
    row = {name: coerce_column(name, value, db.redact) for name, value in values.items() if value is not None}
    if prompt := row.pop("system_prompt", None):
        row["system_prompt_hash"] = hashlib.sha256(prompt.encode("utf-8")).hexdigest()
        db.run(
            "INSERT INTO system_prompts(hash, prompt) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
            (row["system_prompt_hash"], prompt),
        )
    row["title_terms"] = title_terms(row.get("title"))
    row.setdefault("last_active", row["started_at"])
    db.run(f"INSERT INTO sessions({', '.join(row)}) VALUES ({marks(list(row))})", list(row.values()))


def create(
    db: Db,
    *,
    principal: Principal,
    source: str,
    title: str | None,
    parent: SessionId | None,
    model: str | None,
    cwd: str | None,
    id: SessionId | None,
    details: Mapping[str, Json] | None,
) -> Session:
    now = db.now()
    session = check_session_id(id) if id else new_session_id(now)
    if is_forgotten(db, "session", session):
        raise Forgotten(f'"{session}" was forgotten and does not come back.', hint="Start a session with another id.")
    if db.one("SELECT 1 AS found FROM sessions WHERE id = ?", (session,)):
        raise Conflict(f'A session "{session}" is already there.', hint="Open it, or leave the id to us.")
    kept_title = clean_title(title) if title else None
    check_title_free(db, principal, kept_title, besides="")
    extra = {key: value for key, value in (details or {}).items() if key in DETAIL_FIELDS}
    insert(
        db,
        {
            "id": session,
            "principal": principal,
            "source": source,
            "title": kept_title,
            "model": model,
            "cwd": cwd,
            "parent_session_id": parent,
            "started_at": now,
            **extra,
        },
    )
    db.changed(session, "created")
    return get(db, session)


def check_title_free(db: Db, principal: Principal, title: str | None, *, besides: str) -> None:
    if title is None:
        return
    held = db.one(
        "SELECT id FROM sessions WHERE principal = ? AND title = ? AND id <> ?",
        (principal, to_stored_text(title, db.redact), besides),
    )
    if held:
        raise TitleTaken(f'The title "{title}" belongs to session {held["id"]}.', hint="Choose another title.")


def get(db: Db, session: str, *, principal: Principal | None = None) -> Session:
    row = db.one(
        f"SELECT {_WHOLE}, p.prompt AS system_prompt FROM sessions s "
        "LEFT JOIN system_prompts p ON p.hash = s.system_prompt_hash WHERE s.id = ?",
        (escape(session),),
    )
    if row is None or (principal is not None and row["principal"] != principal):
        raise no_session(session)
    return session_from(row, {name: row[name] for name in DETAIL_FIELDS if row[name] is not None})


def no_session(session: str) -> NotFound:
    return NotFound(f'There is no session "{session}".', hint="`sojourn sessions list` shows what there is.")


def resolve(db: Db, words: str, *, principal: Principal) -> Session:
    """An exact id or title wins; then a unique beginning of an id."""
    wanted = words.strip()
    exact = db.one("SELECT id FROM sessions WHERE id = ? AND principal = ?", (escape(wanted), principal)) or db.one(
        "SELECT id FROM sessions WHERE principal = ? AND title = ?", (principal, _title(wanted))
    )
    if exact:
        return get(db, exact["id"])
    found = _starting_with(db, wanted, principal) if wanted else []
    if not found:
        raise no_session(words)
    if len(found) > 1:
        names = ", ".join(row["id"] for row in found[:3])
        raise Ambiguous(f'"{words}" fits several sessions: {names} …', hint="Give more of the id, or the title.")
    return get(db, found[0]["id"])


def _title(words: str) -> str | None:
    try:
        return clean_title(words)
    except BadTitle:
        return None  # nobody has a title that long


def _starting_with(db: Db, start: str, principal: Principal) -> list[Row]:
    end = start[:-1] + chr(ord(start[-1]) + 1) if ord(start[-1]) < 0xD7FF else start + "\uffff"
    collate = ' COLLATE "C"' if db.dialect == "postgres" else ""
    return db.all(
        f"SELECT id FROM sessions WHERE id{collate} >= ? AND id{collate} < ? AND principal = ? ORDER BY id LIMIT 4",
        (escape(start), escape(end), principal),
    )


def find(db: Db, listing: Listing) -> list[Session]:
    where, params = _conditions(listing)
    rows = db.all(
        f"SELECT {_SUMMARY} FROM sessions s WHERE {' AND '.join(where)} ORDER BY s.last_active DESC, s.id DESC "
        "LIMIT ? OFFSET ?",
        [*params, max(0, listing.limit), max(0, listing.skip)],
    )
    return [session_from(row) for row in rows]


def count(db: Db, listing: Listing) -> int:
    where, params = _conditions(replace(listing, before=None))
    row = db.one(f"SELECT count(*) AS n FROM sessions s WHERE {' AND '.join(where)}", params)
    return int(row["n"]) if row else 0


def wanted(asked: Listing | Search) -> tuple[list[str], list[Any]]:
    """What a listing and a search can both ask of a session."""
    where, params = ["s.principal = ?"], list[Any]([asked.principal])
    if asked.archived is not None:
        where.append("s.archived = ?")
        params.append(int(asked.archived))
    if asked.sources:
        where.append(f"s.source IN ({marks(asked.sources)})")
        params += map(escape, asked.sources)
    for tag in asked.tags:
        where.append("(',' || s.tags || ',') LIKE ? ESCAPE '!'")
        params.append(f"%,{literal(escape(clean_tag(tag)))},%")
    if asked.model:
        where.append("s.model = ?")
        params.append(escape(asked.model))
    return where, params


def _conditions(listing: Listing) -> tuple[list[str], list[Any]]:
    where, params = wanted(listing)

    def add(condition: str, *values: Any) -> None:
        where.append(condition)
        params.extend(values)

    if listing.pinned is not None:
        add("s.pinned = ?", int(listing.pinned))
    if listing.parent:
        add("s.parent_session_id = ?", escape(listing.parent))
    if listing.since is not None:
        add("s.last_active >= ?", listing.since)
    if listing.until is not None:
        add("s.last_active < ?", listing.until)
    for clause in _clauses(listing.text):
        condition, patterns = titled(clause)
        add(condition, *patterns)
    if listing.before:
        add("(s.last_active < ? OR (s.last_active = ? AND s.id < ?))", listing.before[0], *listing.before)
    return where, params


def _clauses(text: str) -> tuple[Clause, ...]:
    """The words of a title that are asked for; none is no question."""
    try:
        return parse(text)
    except BadInput:
        return ()


def titled(clause: Clause) -> tuple[str, list[str]]:
    """The condition that a title has the terms of a clause: what an index would decide."""
    *whole, last = clause.phrase
    patterns = [f"% {term} %" for term in whole] + [f"% {last}{'' if clause.prefix else ' '}%"]
    condition = " AND ".join(["s.title_terms LIKE ?"] * len(patterns))
    if not clause.joined:
        return condition, patterns
    return f"(({condition}) OR s.title_terms LIKE ?)", [*patterns, f"% {clause.joined} %"]


def literal(text: str) -> str:
    """A text inside a LIKE pattern, meaning only itself."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def change(db: Db, old: Session, new: Session) -> Session:
    """Compare-and-swap on the revision; what may not change here is ignored."""
    values: dict[str, Any] = {name: getattr(new, name) for name in _CHANGEABLE}
    values["title"] = clean_title(new.title) if new.title else None
    values["tags"] = ",".join(sorted({clean_tag(tag) for tag in new.tags}))
    values["pinned"], values["archived"] = int(new.pinned), int(new.archived)
    if values["title"] != old.title:
        check_title_free(db, old.principal, values["title"], besides=old.id)
    kept = {name: to_stored_text(v, db.redact) if isinstance(v, str) else v for name, v in values.items()}
    kept["title_terms"] = title_terms(kept["title"])
    done = db.run(
        f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in kept)}, revision = revision + 1 "
        "WHERE id = ? AND revision = ?",
        [*kept.values(), old.id, old.revision],
    )
    if not done:
        now_there = get(db, old.id)
        raise Conflict(
            f'Session "{old.id}" was changed by somebody else (revision {now_there.revision}, not {old.revision}).',
            hint="Read it again and repeat the change.",
        )
    db.changed(old.id, "changed")
    return get(db, old.id)
