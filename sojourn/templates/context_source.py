"""The context source: a new session whose first request looks like a known task gets a template, and says why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

from sojourn.core.errors import NotFound
from sojourn.core.events import Progress
from sojourn.core.messages import Message, tool_calls_of
from sojourn.core.sessions import OWNER
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextContribution, ContextRequest, Stage
from sojourn.templates.effectiveness import SessionOutcome
from sojourn.templates.factory import library_of
from sojourn.templates.inject import to_example_messages
from sojourn.templates.library import Library, StoredTemplate
from sojourn.templates.relevance import rank_templates, select_within_budget
from sojourn.templates.tool_translation import AdaptedTemplate, adapt_tools, trim_to_budget
from sojourn.text.template_examples import render_examples
from sojourn.text.token_count import estimate_tokens

NAME = "templates"
_MAX_TURNS = 1000  # whose outcomes are kept in memory


def make(app: HasStore) -> TemplateSource:
    settings = app.settings
    return TemplateSource(library_of(app), automatic=settings["templates.automatic"], most=settings["templates.most"])


class TemplateSource:
    """Templates are the owner's: guests get none. A session keeps the template it began with until it is dropped."""

    name = NAME
    stage: Stage = "template"

    def __init__(self, library: Library, *, automatic: bool = True, most: int = 1) -> None:
        self._library, self._automatic, self._most = library, automatic, most
        self._outcomes: dict[str, SessionOutcome] = {}  # of sessions, from the start of a turn to its end
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # one per busy session

    def _lock_outcome(self, session: str) -> asyncio.Lock:
        """The lock around each read and write of a session's outcome: a turn's end overlaps the next one's start."""
        return self._locks.setdefault(session, asyncio.Lock())

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        if request.session.principal != OWNER or NAME in request.drop:
            return ContextContribution()
        async with self._lock_outcome(request.session.id):
            return await self._contribute(request)

    async def _contribute(self, request: ContextRequest) -> ContextContribution:
        if len(self._outcomes) >= _MAX_TURNS:  # some ended without `after`
            self._outcomes.clear()
        known = self._outcomes[request.session.id] = await self._load_outcome(request.session.id)
        if request.template == "none":
            await self._drop_templates(known, known.templates)
            return ContextContribution()
        known = await self._drop_templates(known, request.drop)
        if request.template and request.template not in known.templates:
            stored = await self._library.get(request.template)
            known = await self._drop_templates(known, known.templates)  # one that is chosen takes the place of others
            return await self._use(request, known, [(stored, "you asked for it")])
        if known.templates or known.turns or request.history:
            return await self._reuse(request, known)
        if not self._automatic:
            return ContextContribution()
        approved = [one for one in (await self._library.all()).stored if one.template.name not in request.drop]
        fits, left_out = select_within_budget(rank_templates(request.said, approved), request.budget, self._most)
        made = await self._use(request, known, [(one.stored, one.because) for one in fits])
        return replace(made, left_out=(*made.left_out, *left_out))

    async def after(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None:
        """Notes what became of the turn, whether it had a template or not: both are needed to compare."""
        if request.session.principal != OWNER:
            return
        async with self._lock_outcome(request.session.id):
            known = self._outcomes.pop(request.session.id, None) or await self._load_outcome(request.session.id)
            if known.turns or not request.history:  # else the session began before outcomes were recorded
                await self._save_outcome(known.after(kept, status))

    async def _reuse(self, request: ContextRequest, known: SessionOutcome) -> ContextContribution:
        """What the session began with stays before it: what is sent stays the same, and a cache can keep it."""
        found: list[tuple[StoredTemplate, str]] = []
        for name in known.templates:
            try:
                found.append((await self._library.get(name), "this session began with it"))
            except NotFound:
                continue  # it was deleted meanwhile
        return await self._use(request, known, found, count=False)

    async def _use(
        self,
        request: ContextRequest,
        known: SessionOutcome,
        wanted: Sequence[tuple[StoredTemplate, str]],
        *,
        count: bool = True,
    ) -> ContextContribution:
        taken = {call.id for message in request.history for call in tool_calls_of(message)}
        examples: list[Message] = []
        shown: list[Progress] = []
        left_out: list[str] = []
        budget = request.budget
        for stored, because in wanted:
            fit = trim_to_budget(adapt_tools(stored.template, request.tools), budget)
            template = fit.template
            block = to_example_messages(template, taken)
            left_out += [f'example of template "{template.name}": {one}' for one in fit.left_out]
            if not block:
                left_out.append(f'template "{template.name}" (nothing of it fits this session)')
                continue
            spent = estimate_tokens(render_examples(block))
            budget -= spent
            examples += block
            taken |= {call.id for message in block for call in tool_calls_of(message)}
            if count:
                await self._library.count_use(template.name)
            shown.append(_to_progress(fit, because, spent))
        used = [str(one.detail["name"]) for one in shown]
        if count and used:
            await self._save_outcome(replace(known, templates=tuple(dict.fromkeys([*known.templates, *used]))))
        return ContextContribution(examples=tuple(examples), shown=tuple(shown), left_out=tuple(left_out))

    async def _drop_templates(self, known: SessionOutcome, drop: Sequence[str]) -> SessionOutcome:
        gone = tuple(name for name in known.templates if name in drop)
        if not gone:
            return known
        left = tuple(name for name in known.templates if name not in gone)
        known = replace(known, templates=left, dropped=tuple(dict.fromkeys([*known.dropped, *gone])))
        await self._save_outcome(known)
        return known

    async def _load_outcome(self, session: str) -> SessionOutcome:
        found = await self._library.read_note("outcome", session)
        return SessionOutcome.from_dict(found) if found else SessionOutcome(session=session)

    async def _save_outcome(self, outcome: SessionOutcome) -> None:
        if outcome.session in self._outcomes:
            self._outcomes[outcome.session] = outcome
        await self._library.note("outcome", outcome.session, outcome.to_dict())


def _to_progress(fit: AdaptedTemplate, because: str, spent: int) -> Progress:
    template = fit.template
    return Progress(
        "template",
        {
            "name": template.name,
            "task_type": template.task_type.value,
            "because": because,
            "examples": len(template.examples),
            "tokens": spent,
            "left_out": list(fit.left_out),
            "mapped": list(fit.mapped),
        },
    )
