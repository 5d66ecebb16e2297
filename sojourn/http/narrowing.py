"""Searching only in sessions of a listing: by model, tags and archive, of which the search itself knows nothing.

Hits are asked for until enough of them lie in such sessions. Where few of many do, a page may be short or empty while
more is to come: nobody waits for a walk through everything that was ever said.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from sojourn.core.errors import NotFound
from sojourn.core.sessions import SessionId, clean_tag
from sojourn.ports.store import Hit, Listing, Search, SessionStore

_HITS, _ROUNDS = 200, 25  # looked at in one go, and how often, before a page is given that is not full
_KNOWN = 2000  # sessions that are known beforehand, so that none has to be looked up
_FEW = 8  # sessions in which one looks one by one

Page = tuple[list[Hit], int | None]  # and where to go on
Fits = Callable[[SessionId], Awaitable[bool]]


async def search_in(store: SessionStore, search: Search, sessions: Listing) -> Page:
    """Up to `search.limit` hits in sessions of that listing."""
    known = [one.id for one in await store.find(replace(sessions, limit=_KNOWN + 1))]
    if not known:
        return [], None
    few = known if len(known) <= _FEW else []
    fits = _among(frozenset(known)) if len(known) <= _KNOWN else _looking_up(store, sessions)
    shown: list[Hit] = []
    before = search.before
    for _ in range(_ROUNDS):
        found = await store.search(replace(search, limit=_HITS, before=before))
        for hit in found:
            if few and hit.seq:  # titles come first; from here on there are only messages
                return _cut(shown + await _in_each(store, replace(search, before=hit.at + 1), few), search.limit)
            if await fits(hit.session):
                shown.append(hit)
            if len(shown) > search.limit:
                return _cut(shown, search.limit)
        if len(found) < _HITS:
            return shown, None
        before = found[-1].at
    return shown, before


async def _in_each(store: SessionStore, search: Search, sessions: list[SessionId]) -> list[Hit]:
    found: list[Hit] = []
    for session in sessions:
        if search.session in (None, session):
            found += await store.search(replace(search, session=session, limit=search.limit + 1))
    return sorted(found, key=lambda hit: hit.at, reverse=True)


def _cut(hits: list[Hit], limit: int) -> Page:
    return hits[:limit], hits[limit - 1].at if len(hits) > limit else None


def _among(known: frozenset[SessionId]) -> Fits:
    async def fits(session: SessionId) -> bool:
        return session in known

    return fits


def _looking_up(store: SessionStore, sessions: Listing) -> Fits:
    """For filters that most sessions pass, so that few are looked up for a page."""
    tags = {clean_tag(one) for one in sessions.tags}
    seen: dict[SessionId, bool] = {}

    async def fits(session: SessionId) -> bool:
        if session not in seen:
            try:
                one = await store.get(session)
            except NotFound:  # it was deleted meanwhile
                return False
            is_there = sessions.archived in (None, one.archived)
            seen[session] = is_there and tags <= set(one.tags) and sessions.model in ("", one.model)
        return seen[session]

    return fits
