"""Template service: everything that the commands and the routes do with templates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.ports.app import ScanContext
from sojourn.templates.create import make_template, resolve_session
from sojourn.templates.effectiveness import Comparison, SessionOutcome, compare_outcomes
from sojourn.templates.extract import MAX_EXAMPLES
from sojourn.templates.factory import history_of, library_of
from sojourn.templates.inject import inject, to_example_messages
from sojourn.templates.library import Library, StoredTemplate
from sojourn.templates.miner import MiningResult, Progress, mine
from sojourn.templates.mining_cache import load_cache, locate_cache, save_cache
from sojourn.templates.model import SessionTemplate, check_name, default_description, task_type
from sojourn.templates.sanitize import Cleaner
from sojourn.templates.suggestions import Suggestion, SuggestionInbox
from sojourn.templates.tool_translation import adapt_tools, trim_to_budget
from sojourn.templates.verify import find_suggestions
from sojourn.text.template_examples import render_examples
from sojourn.text.token_count import estimate_tokens

TOKENS = 2000  # what templates may use in a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateChanges:
    """What is to be different about a template or a suggestion. None leaves a thing as it is."""

    name: str | None = None
    kind: str | None = None
    description: str | None = None
    drop: tuple[int, ...] = ()  # numbers of examples, from 1
    whole: Json | None = None  # a whole template in its JSON form

    def apply_to(self, template: SessionTemplate) -> SessionTemplate:
        made = template
        if self.whole is not None:  # somebody's edit; what only we count stays ours
            edited = SessionTemplate.from_dict(self.whole)
            made = replace(edited, usage_count=template.usage_count, created_at=template.created_at)
        gone = set(self.drop)
        if unknown := gone - set(range(1, len(made.examples) + 1)):
            raise BadInput(f"There is no example {min(unknown)}.", hint=f"There are {len(made.examples)}.")
        left = [one for number, one in enumerate(made.examples, 1) if number not in gone]
        if not left:
            raise BadInput("A template needs at least one example.", hint="Delete the template instead.")
        description = made.description if self.description is None else self.description
        if self.description is None and description == default_description(len(made.examples)):
            description = default_description(len(left))
        return replace(
            made,
            name=check_name(self.name) if self.name is not None else made.name,
            examples=left,
            description=description,
            task_type=task_type(self.kind) if self.kind is not None else made.task_type,
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """What a template would add to a request."""

    messages: Sequence[dict[str, Any]]
    text: str  # the same in words, for runtimes that take no tool history
    tokens: int
    left_out: tuple[str, ...]
    mapped: tuple[str, ...]  # tools that have another name there


class TemplateService:
    """Templates of one program: its library, its history, its inbox."""

    def __init__(self, app: ScanContext) -> None:
        self._app = app
        self.library: Library = library_of(app)
        self._cleaner = Cleaner(app.settings["templates.result_chars"])
        self.inbox = SuggestionInbox(self.library)

    async def create(
        self,
        session: str,
        *,
        name: str | None = None,
        kind: str | None = None,
        most: int = MAX_EXAMPLES,
        home: Path | None = None,
    ) -> StoredTemplate:
        """A template of a session of ours, or of a Hermes home that is only read."""
        own = (await self._app.store.resolve(session)).id if home is None else None
        taken = [one.template.name for one in (await self.library.all()).stored]

        def make() -> StoredTemplate:
            with closing(history_of(self._app, home)) as history:
                id = own or resolve_session(history, session)
                return make_template(history, id, name=name, kind=kind, most=most, taken=taken, cleaner=self._cleaner)

        stored = await asyncio.to_thread(make)
        await self.library.save(stored)
        return stored

    async def suggest(self, home: Path | None = None, progress: Progress | None = None) -> MiningResult:
        """Mines the whole history and fills the inbox."""
        decided = {one.shape: one.needed for one in await self.inbox.all() if one.state != "waiting"}
        found, made = await asyncio.to_thread(self._mine, home, progress, decided)
        await self.inbox.fill(made, home="" if home is None else str(home.resolve()))
        return found

    def _mine(
        self, home: Path | None, progress: Progress | None, decided: Mapping[str, float]
    ) -> tuple[MiningResult, list[Suggestion]]:
        file = locate_cache(self._app.settings.home, self._describe_history(home))
        with closing(history_of(self._app, home)) as history:
            before = load_cache(file)
            found = mine(history, before, progress=progress)
            if found.read or len(before) != len(found.known):
                save_cache(file, found.known)
            digests = {session: one for session, (_, one) in found.known.items()}
            newest = [facts.id for facts in found.facts]
            return found, find_suggestions(history, digests, newest, cleaner=self._cleaner, decided=decided)

    def _describe_history(self, home: Path | None) -> str:
        settings = self._app.settings
        if home is not None:
            return f"hermes:{home.resolve()}"
        url = settings["database_url"]
        return str(url.reveal()) if url else f"home:{settings.home.resolve()}"

    async def get(self, name: str) -> StoredTemplate | Suggestion:
        """A template of the library, or a suggestion by its id."""
        try:
            return await self.library.get(name)
        except NotFound as absent:
            try:
                return await self.inbox.get(name)
            except NotFound:
                raise absent from None

    async def edit(self, name: str, changes: TemplateChanges) -> SessionTemplate | Suggestion:
        """Changes a template of the library, or a suggestion that waits."""

        def change(stored: StoredTemplate) -> StoredTemplate:
            return replace(stored, template=self._cleaner.template(changes.apply_to(stored.template)))

        found = await self.get(name)
        if isinstance(found, StoredTemplate):
            return (await self.library.change(name, change)).template
        edited = replace(found, template=self._cleaner.template(changes.apply_to(found.template)), edited=True)
        await self.inbox.put(edited)
        return edited

    async def delete(self, name: str) -> None:
        if not await self.library.delete(name):
            await self.library.get(name)  # says that there is none

    async def stats(self) -> list[Comparison]:
        names = {one.template.name: one.template.task_type for one in (await self.library.all()).stored}
        notes = await self.library.notes("outcome")
        return compare_outcomes(names, [SessionOutcome.from_dict(one) for one in notes.values()])

    async def preview(
        self, name: str, messages: Sequence[dict[str, Any]] = (), tools: Sequence[str] = (), budget: int = TOKENS
    ) -> Preview:
        """What would be sent, and how many tokens it is. Nothing is counted."""
        fit = trim_to_budget(adapt_tools((await self.library.get(name)).template, tools), budget)
        text = render_examples(to_example_messages(fit.template))
        return Preview(inject(fit.template, messages), text, estimate_tokens(text), fit.left_out, fit.mapped)

    async def import_template(self, data: Json, *, replaces: bool = False) -> SessionTemplate:
        """Saves a template that was given as JSON, cleaned like one of ours."""
        template = self._cleaner.template(SessionTemplate.from_dict(data))
        await self.library.save(StoredTemplate(template), replace=replaces)
        return template
