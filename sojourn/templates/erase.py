"""Forgets a session: what was made of it goes, what merely knew of it no longer does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sojourn.core.sessions import SessionId
from sojourn.ports.app import HasStore
from sojourn.templates import mining_cache
from sojourn.templates.factory import library_of
from sojourn.templates.library import Library, StoredTemplate
from sojourn.templates.suggestions import SuggestionInbox


async def forget(app: HasStore, session: SessionId) -> list[str]:
    """Removes every trace of a session from templates, suggestions and notes. Names what it changed."""
    changed = await forget_in(library_of(app), session)
    return changed + [str(file) for file in mining_cache.clear_cache(app.settings.home)]


async def forget_in(library: Library, session: str) -> list[str]:
    changed: list[str] = []
    for stored in (await library.all()).stored:
        name = f"template {stored.template.name}"
        if stored.template.source_session_id == session:
            await library.delete(stored.template.name)
            changed.append(name)
        elif session in stored.about.sessions:
            await library.change(stored.template.name, partial(_without, session))
            changed.append(name)
    for suggestion in await SuggestionInbox(library).all():
        if session in {one for one, _ in suggestion.evidence}:
            await library.note("suggestion", suggestion.id, None)
            changed.append(f"suggestion {suggestion.id}")
    if await library.read_note("outcome", session) is not None:
        await library.note("outcome", session, None)
        changed.append("what became of it with templates")
    return changed


def _without(session: str, stored: StoredTemplate) -> StoredTemplate:
    """Nobody noted which words came from which session, so all of them go."""
    left = tuple(one for one in stored.about.sessions if one != session)
    return replace(stored, about=replace(stored.about, sessions=left, requests=()))
