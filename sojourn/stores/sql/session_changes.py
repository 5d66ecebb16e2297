"""Changes of a session by people: title, tags, pin, archive, model, folder, trash."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.core.errors import Conflict
from sojourn.core.sessions import Session, SessionId
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.families import find_family
from sojourn.stores.sql.free_titles import number_title
from sojourn.stores.sql.leases import check_idle
from sojourn.stores.sql.rows import title_terms, to_stored_text
from sojourn.stores.sql.sessions import check_title_free, get_session
from sojourn.text.titles import clean_tag, clean_title

_CHANGEABLE = ("title", "pinned", "archived", "model", "cwd", "trashed_at")


def change_session(db: Db, old: Session, new: Session) -> Session:
    """Compare-and-swap on the revision. Fields that are not changeable are ignored."""
    values: dict[str, Any] = {name: getattr(new, name) for name in _CHANGEABLE}
    values["title"] = clean_title(new.title) if new.title else None
    values["tags"] = ",".join(sorted({clean_tag(tag) for tag in new.tags}))
    values["pinned"], values["archived"] = int(new.pinned), int(new.archived)
    if values["title"] != old.title:
        check_title_free(db, old.principal, values["title"], besides=old.id)
    columns = {name: to_stored_text(v, db.redact) if isinstance(v, str) else v for name, v in values.items()}
    columns["title_terms"] = title_terms(columns["title"])
    is_updated = db.execute(
        f"UPDATE sessions SET {', '.join(f'{name} = ?' for name in columns)}, revision = revision + 1 "
        "WHERE id = ? AND revision = ?",
        [*columns.values(), old.id, old.revision],
    )
    if not is_updated:
        current = get_session(db, old.id)
        raise Conflict(
            f'Session "{old.id}" was changed by somebody else (revision {current.revision}, not {old.revision}).',
            hint="Read it again and repeat the change.",
        )
    if (old.trashed_at is None) != (new.trashed_at is None):
        _move_family(db, old, new.trashed_at)
    db.record_change(old.id, "changed")
    return get_session(db, old.id)


def _move_family(db: Db, session: Session, trashed_at: float | None) -> None:
    """Sub-agents go into the trash with their session, and those that did come back with it. SessionBusy."""
    if trashed_at is not None:
        check_idle(db, session.id, None)
    was = "trashed_at IS NULL" if session.trashed_at is None else "trashed_at = ?"
    for member in find_family(db, session.id)[1:]:
        if trashed_at is not None:
            check_idle(db, SessionId(member), None)
        params = (trashed_at, member, *(() if session.trashed_at is None else (session.trashed_at,)))
        if db.execute(f"UPDATE sessions SET trashed_at = ?, revision = revision + 1 WHERE id = ? AND {was}", params):
            db.record_change(member, "changed")


def set_title(db: Db, session: SessionId, title: str, *, instead_of: str | None = None) -> str | None:
    """Sets a title unless the person has set another than `instead_of`; a taken one gets the next free number."""
    found, wanted = get_session(db, session), clean_title(title)
    if found.title != instead_of or wanted in (None, found.title):
        return None
    free = number_title(db, found.principal, wanted)
    return change_session(db, found, replace(found, title=free)).title
