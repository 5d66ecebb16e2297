"""Session names: what may be an id; finds a session by its id, the beginning of one, its title, or a part of it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from sojourn.core.errors import Ambiguous, BadInput, BadTitle, NotFound
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.stores.sql.db import Conditions, Db, Row
from sojourn.text.escape import escape, unescape
from sojourn.text.formatting import one_line
from sojourn.text.titles import clean_title

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=-]{0,254}")
_MAX_TITLES = 20_000  # the most recently used ones
_NAMED = 3  # sessions that an error names
_MIN_SIMILARITY = 0.6  # from 0 to 1
_MAX_COMPARED_TITLES = 500  # titles that are compared
_MAX_COMPARED_CHARS = 100


def check_session_id(raw: str) -> SessionId:
    """Validates a session id, which becomes part of file names and URLs. BadInput."""
    if not _ID.fullmatch(raw) or ".." in raw:
        raise BadInput(f"{raw!r} cannot be a session id.", hint="Letters, digits and . _ : @ + = - are allowed.")
    return SessionId(raw)


def find_session_id(db: Db, words: str, principal: Principal = OWNER) -> SessionId:
    """The id of the one session that `words` name. NotFound with the nearest titles, Ambiguous."""
    wanted = words.strip()
    if found := _find_exact(db, wanted, principal):
        return found
    matches = _find_by_prefix(db, wanted, principal) if wanted else []
    if len(matches) > 1:
        _refuse(words, [row["id"] for row in matches])
    if matches:
        return SessionId(matches[0]["id"])
    titles = _list_titles(db, principal) if wanted else []
    parts = find_by_part(wanted, titles)
    if len(parts) > 1:
        _refuse(words, [f"“{one_line(title, 60)}”" for _, title in parts])
    if not parts:
        raise _not_found(words, suggest(wanted, titles))
    return SessionId(parts[0][0])


def find_by_part(wanted: str, titles: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The (id, title) pairs whose title has `wanted`; only those with whole words of it, if there are any. A title
    that has all the words in another order counts if none has them in this one."""
    part = " ".join(wanted.casefold().split())
    if not part:
        return []
    folded = [(id, title, " ".join(title.casefold().split())) for id, title in titles]
    inside = [one for one in folded if part in one[2]]
    whole = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
    found = [one for one in inside if whole.search(one[2])] or inside
    found = found or [one for one in folded if all(word in one[2] for word in part.split())]
    return [(id, title) for id, title, _ in found]


def suggest(wanted: str, titles: list[tuple[str, str]]) -> list[str]:
    """The titles that come nearest to what was asked for, best first."""
    asked = wanted.casefold()[:_MAX_COMPARED_CHARS]

    def similarity(title: str) -> float:
        pieces = [title.casefold()[:_MAX_COMPARED_CHARS], *re.findall(r"\w{3,}", title.casefold())]
        return max(SequenceMatcher(None, asked, piece).ratio() for piece in pieces)

    rated = sorted(((similarity(title), title) for _, title in titles[:_MAX_COMPARED_TITLES]), key=lambda one: -one[0])
    return [title for rate, title in rated[:_NAMED] if rate >= _MIN_SIMILARITY]


def _find_exact(db: Db, wanted: str, principal: Principal) -> SessionId | None:
    found = db.fetch_one(
        "SELECT id FROM sessions WHERE id = ? AND principal = ?", (escape(wanted), principal)
    ) or db.fetch_one(
        "SELECT id FROM sessions WHERE principal = ? AND title = ?", (principal, _clean_title_or_none(wanted))
    )
    return SessionId(found["id"]) if found else None


def _clean_title_or_none(text: str) -> str | None:
    try:
        return clean_title(text)
    except BadTitle:
        return None  # no session can have this title


def _find_by_prefix(db: Db, start: str, principal: Principal) -> list[Row]:
    where = Conditions()
    where.add_prefix(f"id{db.collate}", start)
    where.add("principal = ?", principal)
    return db.fetch_all(f"SELECT id FROM sessions WHERE {where} ORDER BY id LIMIT {_NAMED + 1}", where.params)


def _list_titles(db: Db, principal: Principal) -> list[tuple[str, str]]:
    rows = db.fetch_all(
        "SELECT id, title FROM sessions WHERE principal = ? AND title IS NOT NULL "
        "ORDER BY archived, last_active DESC, id LIMIT ?",
        (principal, _MAX_TITLES),
    )
    return [(row["id"], unescape(row["title"])) for row in rows]


def _refuse(words: str, names: list[str]) -> None:
    more = " …" if len(names) > _NAMED else ""
    raise Ambiguous(
        f'"{words}" fits several sessions: {", ".join(names[:_NAMED])}{more}', hint="Give more of the id, or the title."
    )


def _not_found(words: str, near: list[str]) -> NotFound:
    hint = "`sojourn sessions list` shows what there is."
    if near:
        hint = f"Did you mean {' or '.join(f'“{one_line(title, 60)}”' for title in near)}? {hint}"
    return NotFound(f'There is no session "{words}".', hint=hint)
