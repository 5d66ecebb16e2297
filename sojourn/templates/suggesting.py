"""Suggestions: shapes that came back often enough to become templates, waiting until a person says so.

Each lies in the inbox under a short id. Approving makes a template of it; a rejected one comes back only when its
evidence has doubled; one that is never to be asked about again stays away for good.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import inf
from typing import Any, Literal, cast

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.core.values import dataclass
from sojourn.ports.history import History
from sojourn.templates import tools
from sojourn.templates.cleaning import Cleaner
from sojourn.templates.exchanges import Conversation, Exchange
from sojourn.templates.extract import read
from sojourn.templates.library import About, Kept, Library, taken
from sojourn.templates.making import REQUEST_CHARS, free
from sojourn.templates.naming import check_name
from sojourn.templates.parameters import generalised
from sojourn.templates.recurring import LEAST_SESSIONS, MOST, Shape, recurring
from sojourn.templates.shapes import Digest
from sojourn.templates.values import SessionTemplate, ToolCallExample, described

State = Literal["waiting", "approved", "rejected", "never"]
RUNS = 5  # how many runs are read again to see what varies
EVIDENCE = 20  # how many sessions are named as evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A template that might be, and what speaks for it."""

    id: str
    shape: str
    sessions: int
    evidence: tuple[tuple[str, int], ...]  # (session, row of the first call)
    template: SessionTemplate
    requests: tuple[str, ...] = ()
    score: float = 0.0
    state: State = "waiting"
    edited: bool = False  # by a person: mining leaves it as it is

    @property
    def needed(self) -> float:
        """How many sessions must hold the shape before it is asked about (again)."""
        return {"waiting": 0, "rejected": 2 * self.sessions}.get(self.state, inf)

    def to_dict(self) -> dict[str, Json]:
        return {
            "id": self.id, "shape": self.shape, "sessions": self.sessions,
            "evidence": [{"session": session, "row": row} for session, row in self.evidence],
            "template": self.template.to_dict(), "requests": list(self.requests), "score": self.score,
            "state": self.state, "edited": self.edited,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Any) -> Suggestion:
        evidence = [(str(one["session"]), int(one["row"])) for one in data.get("evidence", ())]
        return cls(
            id=str(data["id"]), shape=str(data["shape"]), sessions=int(data["sessions"]), evidence=tuple(evidence),
            template=SessionTemplate.from_dict(data["template"]), requests=tuple(data.get("requests", ())),
            score=float(data.get("score", 0.0)), state=cast("State", data.get("state", "waiting")),
            edited=data.get("edited") is True,
        )  # fmt: skip


class Inbox:
    """The suggestions of a library."""

    def __init__(self, library: Library, cleaner: Cleaner | None = None) -> None:
        self._library = library
        self._cleaner = cleaner or Cleaner()

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

    async def fill(self, suggestions: Sequence[Suggestion]) -> None:
        """What mining found takes the place of what waited. What was decided stays decided, and what was edited stays
        as it is: only its evidence grows."""
        before = {one.id: one for one in await self.all()}
        known = {one.about.shape for one in (await self._library.all()).kept if one.about.shape}
        for old in before.values():
            if old.state == "waiting" and not old.edited and old.id not in {one.id for one in suggestions}:
                await self._library.note("suggestion", old.id, None)
        for new in suggestions:
            old_one = before.get(new.id)
            if new.shape in known or (old_one and new.sessions < old_one.needed):
                continue
            is_edited = old_one is not None and old_one.edited and old_one.state == "waiting"
            await self.put(replace(new, template=old_one.template, edited=True) if old_one and is_edited else new)

    async def approve(self, id: str, *, name: str | None = None) -> Kept:
        """Makes it a template of the library."""
        suggestion = await self.get(id)
        there = (await self._library.all()).kept
        if twin := next((one for one in there if one.about.shape == suggestion.shape), None):
            raise taken(twin.template.name)
        names = [one.template.name for one in there]
        wish = check_name(name) if name else free(suggestion.template.name, names)
        template = replace(suggestion.template, name=wish, created_at=time.time())
        about = About(
            requests=suggestion.requests, sessions=tuple(session for session, _ in suggestion.evidence),
            shape=suggestion.shape,
        )  # fmt: skip
        await self._library.save(Kept(template, about))
        await self.put(replace(suggestion, state="approved"))
        return Kept(template, about)

    async def reject(self, id: str, *, never: bool = False) -> Suggestion:
        suggestion = replace(await self.get(id), state="never" if never else "rejected")
        await self.put(suggestion)
        return suggestion


def suggestions(
    history: History, digests: Mapping[str, Digest], newest: Sequence[str], *, cleaner: Cleaner | None = None,
    most: int = MOST, decided: Mapping[str, float] | None = None,
) -> list[Suggestion]:  # fmt: skip
    """The best shapes of a history as suggestions. `newest` are its sessions, newest first; `decided` shapes a person
    has already spoken about make room for others until so many sessions hold them."""
    clean = cleaner or Cleaner()
    needed = decided or {}
    shapes = recurring(digests, most=most + len(needed))
    open_ones = [shape for shape in shapes if shape.sessions >= needed.get(shape.words, 0)]
    order = {session: place for place, session in enumerate(newest)}
    talk_of = cache(partial(read, history))  # good shapes stand in the same sessions
    return [made for shape in open_ones[:most] if (made := _suggestion(talk_of, shape, order, clean)) is not None]


def _suggestion(
    talk_of: Callable[[str], Conversation], shape: Shape, order: Mapping[str, int], clean: Cleaner
) -> Suggestion | None:
    sessions = sorted(shape.runs, key=lambda session: order.get(session, len(order)))
    runs: list[list[ToolCallExample]] = []
    requests: list[str] = []
    evidence: list[tuple[str, int]] = []
    seen: set[Hashable] = set()
    for session in sessions[:RUNS]:
        talk = talk_of(session)
        places = shape.runs[session]
        if not places or places[-1] >= len(talk.exchanges):
            continue  # it changed while we looked
        calls = [talk.exchanges[at] for at in places]  # mining judged them
        if (own := _own(talk.request, calls)) in seen:
            continue  # the same run again, in a branch or a copy of its session: that proves nothing more
        seen.add(own)
        runs.append([clean.example(ToolCallExample(one.tool, one.parsed(), one.result or "")) for one in calls])
        requests.append(clean.text(talk.request[:REQUEST_CHARS]))
        evidence.append((session, calls[0].row))
    sessions_left = shape.sessions - (min(len(sessions), RUNS) - len(runs))
    if len(runs) < 2 or sessions_left < LEAST_SESSIONS:
        return None
    evidence += [(session, 0) for session in sessions[RUNS:EVIDENCE]]
    id = hashlib.blake2b(shape.words.encode(), digest_size=4).hexdigest()
    examples = generalised(_same_tools(runs))
    template = SessionTemplate(
        name=f"{_slug(shape.steps)}-{id[:4]}", task_type=tools.classify(one.tool_name for one in examples),
        examples=examples, source_session_id=evidence[0][0],
        description=f"{described(len(examples))}, seen in {sessions_left} sessions: {shape.words}"[:300],
    )  # fmt: skip
    return Suggestion(
        id=id, shape=shape.words, sessions=sessions_left, evidence=tuple(evidence), template=template,
        requests=tuple(dict.fromkeys(filter(None, requests))), score=shape.score,
    )  # fmt: skip


def _own(request: str, calls: Sequence[Exchange]) -> Hashable:
    """What tells a run from a copy of it. Calls have ids of their own; where they have none, no two are the same."""
    if not all(one.id for one in calls):
        return object()
    return request, *((one.id, one.arguments, one.result) for one in calls)


def _same_tools(runs: Sequence[list[ToolCallExample]]) -> list[list[ToolCallExample]]:
    """Runs of several programs in the words of the first."""

    def like(one: ToolCallExample, tool: str) -> ToolCallExample:
        return replace(one, tool_name=tool, arguments=tools.renamed(one.arguments, one.tool_name, tool))

    names = [one.tool_name for one in runs[0]]
    return [[like(one, tool) for one, tool in zip(run, names, strict=True)] for run in runs if len(run) == len(names)]


def _slug(steps: Sequence[str]) -> str:
    words = re.findall(r"[a-z0-9]+", " ".join(steps).lower())
    return "-".join(dict.fromkeys(words))[:40].strip("-") or "steps"
