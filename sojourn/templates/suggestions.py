"""Suggestions: shapes that came back often enough to become templates, waiting until a person says so.

Each lies in the inbox under a short id. Approving makes a template of it; a rejected one comes back only when its
evidence has doubled; one that is never to be suggested again stays away for good.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal, cast

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.templates.library import About, Library, StoredTemplate, to_conflict
from sojourn.templates.model import SessionTemplate, check_name, find_free_name

State = Literal["waiting", "approved", "rejected", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A possible template, and the sessions that support it."""

    id: str
    shape: str
    sessions: int  # that hold the shape, without those that proved otherwise
    evidence: tuple[tuple[str, int], ...]  # the newest that were judged: (session, row of the first call)
    template: SessionTemplate
    requests: tuple[str, ...] = ()
    score: float = 0.0
    state: State = "waiting"
    edited: bool = False  # by a person: mining leaves it as it is
    home: str = ""  # of the history it was found in; empty for our own store

    @property
    def needed(self) -> float:
        """How many sessions must hold the shape before it is suggested (again)."""
        return {"waiting": 0, "rejected": 2 * self.sessions}.get(self.state, inf)

    def to_dict(self) -> dict[str, Json]:
        evidence = [{"session": session, "row": row} for session, row in self.evidence]
        return {**asdict(self), "evidence": evidence, "template": self.template.to_dict()}

    @classmethod
    def from_dict(cls, data: Any) -> Suggestion:
        return cls(
            id=str(data["id"]),
            shape=str(data["shape"]),
            sessions=int(data["sessions"]),
            evidence=tuple((str(one["session"]), int(one["row"])) for one in data.get("evidence", ())),
            template=SessionTemplate.from_dict(data["template"]),
            requests=tuple(data.get("requests", ())),
            score=float(data.get("score", 0.0)),
            state=cast("State", data.get("state", "waiting")),
            edited=data.get("edited") is True,
            home=str(data.get("home") or ""),
        )


class SuggestionInbox:
    """The suggestions of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def all(self) -> list[Suggestion]:
        """Every suggestion, best first; what cannot be read is left out and will be suggested again."""
        found = []
        for value in (await self._library.notes("suggestion")).values():
            try:
                found.append(Suggestion.from_dict(value))
            except (BadInput, KeyError, TypeError, ValueError, AttributeError):
                continue
        return sorted(found, key=lambda one: (-one.score, one.id))

    async def waiting(self) -> list[Suggestion]:
        return [one for one in await self.all() if one.state == "waiting"]

    async def get(self, id: str) -> Suggestion:
        found = [one for one in await self.all() if one.id == id or (len(id) >= 4 and one.id.startswith(id))]
        if len(found) != 1:
            raise NotFound(f'There is no suggestion "{id}".', hint="`sojourn templates suggest` shows what waits.")
        return found[0]

    async def put(self, suggestion: Suggestion) -> None:
        await self._library.note("suggestion", suggestion.id, suggestion.to_dict())

    async def fill(self, suggestions: Sequence[Suggestion], *, home: str = "") -> None:
        """What mining found in a history takes the place of what waited from there. What was decided stays decided, and
        what was edited stays as it is: only its evidence grows."""
        before = {one.id: one for one in await self.all()}
        known = {one.about.shape for one in (await self._library.all()).stored if one.about.shape}
        found_ids = {one.id for one in suggestions}
        for old in before.values():
            is_replaced = old.home == home and old.id not in found_ids
            if is_replaced and old.state == "waiting" and not old.edited:
                await self._library.note("suggestion", old.id, None)
        for found in suggestions:
            new, known_one = replace(found, home=home), before.get(found.id)
            if new.shape in known or (known_one and new.sessions < known_one.needed):
                continue
            if known_one and known_one.edited and known_one.state == "waiting":
                new = replace(new, template=known_one.template, edited=True)
            await self.put(new)

    async def approve(self, id: str, *, name: str | None = None) -> StoredTemplate:
        """Turns a suggestion into a template of the library."""
        suggestion = await self.get(id)
        there = (await self._library.all()).stored
        if twin := next((one for one in there if one.about.shape == suggestion.shape), None):
            raise to_conflict(twin.template.name)
        names = [one.template.name for one in there]
        wish = check_name(name) if name else find_free_name(suggestion.template.name, names)
        template = replace(suggestion.template, name=wish, created_at=time.time())
        about = About(
            requests=suggestion.requests,
            sessions=tuple(session for session, _ in suggestion.evidence),
            shape=suggestion.shape,
        )
        await self._library.save(StoredTemplate(template, about))
        await self.put(replace(suggestion, state="approved"))
        return StoredTemplate(template, about)

    async def reject(self, id: str, *, never: bool = False) -> Suggestion:
        suggestion = replace(await self.get(id), state="never" if never else "rejected")
        await self.put(suggestion)
        return suggestion
