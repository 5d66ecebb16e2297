"""Sessions: open, find, rename, tag, archive."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sojourn.core.errors import Ambiguous, BadInput, BadTitle, Conflict, Forgotten, NotFound, TitleTaken
from sojourn.core.messages import Json
from sojourn.core.rows import DETAIL_COLUMNS, column, session_from, title_terms
from sojourn.core.sessions import (
    Principal,
    Session,
    SessionId,
    check_session_id,
    clean_tag,
    clean_title,
    new_session_id,
)
from sojourn.core.tables import BY_NAME
from sojourn.ports.store import Listing, SearchQuery
from sojourn.stores.memory.data import Data, Row
from sojourn.text.escape import unescape
from sojourn.text.query import matches_terms, parse_query
from sojourn.text.tokenizer import extract_terms

_ZEROS = (
    "expiry_finalized",
    "message_count",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "api_call_count",
    "compression_fallback_streak",
    "rewind_count",
    "archived",
    "pinned",
    "last_seq",
    "driver_fence",
    "lease_fence",
)
_LEASE = ("lease_holder", "lease_surface", "lease_since", "lease_until")
_CHANGEABLE = ("model", "cwd")


def blank() -> dict[str, Any]:
    """A session row of which nothing is known yet."""
    row = dict.fromkeys((*BY_NAME["sessions"].columns, *_LEASE))
    return {**row, **dict.fromkeys(_ZEROS, 0), "tags": "", "preview": "", "revision": 1}


def tombstone(*words: str) -> str:
    """The hash under which something forgotten is remembered."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def is_forgotten(data: Data, *words: str) -> bool:
    return (tombstone(*words),) in data.tables["tombstones"]


def insert(data: Data, values: Mapping[str, Any]) -> None:
    """Keeps a session row made of columns by name."""
    row = blank()
    row |= {name: column(name, value, data.redact) for name, value in values.items() if value is not None}
    if prompt := row["system_prompt"]:
        digest = hashlib.sha256(prompt.encode("utf-8")).hexdigest()
        data.tables["system_prompts"][(digest,)] = {"hash": digest, "prompt": prompt}
        row["system_prompt_hash"], row["system_prompt"] = digest, None
    row["title_terms"] = title_terms(row["title"])
    if row["last_active"] is None:
        row["last_active"] = row["started_at"]
    data.add("sessions", (row["id"],), row)


def create(
    data: Data,
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
    now = data.clock()
    session = check_session_id(id) if id else new_session_id(now)
    if is_forgotten(data, "session", session):
        raise Forgotten(f'"{session}" was forgotten and does not come back.', hint="Start a session with another id.")
    if (session,) in data.tables["sessions"]:
        raise Conflict(f'A session "{session}" is already there.', hint="Open it, or leave the id to us.")
    kept = clean_title(title) if title else None
    check_free(data, principal, kept)
    insert(
        data,
        {
            **{name: value for name, value in (details or {}).items() if name in DETAIL_COLUMNS},
            "id": session,
            "principal": principal,
            "source": source,
            "title": kept,
            "model": model,
            "cwd": cwd,
            "parent_session_id": parent,
            "started_at": now,
        },
    )
    data.changed(session, "created")
    return get(data, session)


def holder_of(data: Data, principal: str, title: str | None, besides: str = "") -> str | None:
    """The session that has a title already."""
    kept = column("title", title, data.redact)
    held = (row["id"] for row in data.sessions() if row["principal"] == principal and row["title"] == kept)
    return next((one for one in held if one != besides), None) if kept else None


def check_free(data: Data, principal: str, title: str | None, besides: str = "") -> None:
    if held := holder_of(data, principal, title, besides):
        raise TitleTaken(f'The title "{title}" belongs to session {held}.', hint="Choose another title.")


def get(data: Data, session: str, *, principal: Principal | None = None) -> Session:
    row = data.session(session)
    if principal is not None and row["principal"] != principal:
        raise NotFound(f'There is no session "{session}".', hint="`sojourn sessions list` shows what there is.")
    details = {name: row[name] for name in DETAIL_COLUMNS if row[name] is not None}
    if prompt := data.tables["system_prompts"].get((row["system_prompt_hash"],)):
        details["system_prompt"] = prompt["prompt"]
    return session_from(row, details)


def resolve(data: Data, words: str, *, principal: Principal) -> Session:
    """An exact id or title wins; then a unique beginning of an id."""
    wanted = words.strip()
    mine = {row["id"]: row for row in data.sessions() if row["principal"] == principal}
    if wanted in mine:
        return get(data, wanted)
    try:
        title = clean_title(wanted)
    except BadTitle:
        title = None
    if titled := [id for id, row in mine.items() if title and row["title"] == title]:
        return get(data, titled[0])
    found = sorted(id for id in mine if wanted and id.startswith(wanted))
    if not found:
        raise NotFound(f'There is no session "{words}".', hint="`sojourn sessions list` shows what there is.")
    if len(found) > 1:
        raise Ambiguous(
            f'"{words}" fits several sessions: {", ".join(found[:3])} …', hint="Give more of the id, or the title."
        )
    return get(data, found[0])


def find(data: Data, listing: Listing) -> list[Session]:
    found = [session_from(row) for row in data.sessions() if _is_listed(row, listing)]
    found.sort(key=lambda session: (session.last_active, session.id), reverse=True)
    skip = max(0, listing.skip)
    return found[skip : skip + max(0, listing.limit)]


def count(data: Data, listing: Listing) -> int:
    return sum(_is_listed(row, replace(listing, before=None)) for row in data.sessions())


def is_wanted(row: Row, asked: Listing | SearchQuery) -> bool:
    """What a listing and a search can both ask of a session."""
    tags = {clean_tag(tag) for tag in asked.tags}
    return (
        row["principal"] == asked.principal
        and (asked.archived is None or bool(row["archived"]) == asked.archived)
        and (not asked.sources or unescape(row["source"]) in asked.sources)
        and tags <= set(unescape(row["tags"]).split(","))
        and (not asked.model or unescape(row["model"] or "") == asked.model)
    )


def _is_listed(row: Row, asked: Listing) -> bool:
    return (
        is_wanted(row, asked)
        and (asked.pinned is None or bool(row["pinned"]) == asked.pinned)
        and (not asked.parent or row["parent_session_id"] == asked.parent)
        and (asked.since is None or row["last_active"] >= asked.since)
        and (asked.until is None or row["last_active"] < asked.until)
        and (asked.before is None or (row["last_active"], row["id"]) < asked.before)
        and _is_titled(row["title"], asked.text)
    )


def _is_titled(title: str | None, text: str) -> bool:
    try:
        return matches_terms(parse_query(text), extract_terms(title or ""))
    except BadInput:
        return True  # no word was asked for


def change(data: Data, old: Session, new: Session) -> Session:
    """Compare-and-swap on the revision; what may not change here is ignored."""
    row = data.session(old.id)
    title = clean_title(new.title) if new.title else None
    tags = ",".join(sorted({clean_tag(tag) for tag in new.tags}))
    if title != old.title:
        check_free(data, old.principal, title, besides=old.id)
    if row["revision"] != old.revision:
        raise Conflict(
            f'Session "{old.id}" was changed by somebody else (revision {row["revision"]}, not {old.revision}).',
            hint="Read it again and repeat the change.",
        )
    kept = {name: column(name, getattr(new, name), data.redact) for name in _CHANGEABLE}
    kept |= {"title": column("title", title, data.redact), "tags": column("tags", tags, data.redact)}
    kept |= {"pinned": int(new.pinned), "archived": int(new.archived), "title_terms": title_terms(kept["title"])}
    data.update(old.id, **kept, revision=row["revision"] + 1)
    data.changed(old.id, "changed")
    return get(data, old.id)
