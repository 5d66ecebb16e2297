"""Everything a surface may do with templates: the commands and the routes are two views of this."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.ports.app import ScanContext
from sojourn.ports.history import History
from sojourn.templates.create import make_template, resolve_session
from sojourn.templates.effectiveness import Comparison, SessionOutcome, compare_outcomes
from sojourn.templates.extract import MAX_EXAMPLES, read_conversation
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
        made = template if self.whole is None else _apply_edit(template, self.whole)
        gone = set(self.drop)
        if unknown := gone - set(range(1, len(made.examples) + 1)):
            raise BadInput(f"There is no example {min(unknown)}.", hint=f"There are {len(made.examples)}.")
        left = [one for number, one in enumerate(made.examples, 1) if number not in gone]
        if not left:
            raise BadInput("A template needs at least one example.", hint="Delete the template instead.")
        was = made.description == default_description(len(made.examples))
        text = (
            self.description
            if self.description is not None
            else default_description(len(left))
            if was
            else made.description
        )
        return replace(
            made,
            name=check_name(self.name) if self.name is not None else made.name,
            examples=left,
            description=text,
            task_type=task_type(self.kind) if self.kind is not None else made.task_type,
        )


def _apply_edit(template: SessionTemplate, data: Json) -> SessionTemplate:
    """Somebody's edit; what only we count stays ours."""
    made = SessionTemplate.from_dict(data)
    return replace(made, usage_count=template.usage_count, created_at=template.created_at)


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
        self.inbox = SuggestionInbox(self.library, self._cleaner)

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
        if home is None:
            session = (await self._app.store.resolve(session)).id
        taken = [one.template.name for one in (await self.library.all()).kept]
        kept = await asyncio.to_thread(self._make, session, name, kind, most, home, taken)
        await self.library.save(kept)
        return kept

    def _make(
        self, session: str, name: str | None, kind: str | None, most: int, home: Path | None, taken: Sequence[str]
    ) -> StoredTemplate:
        history = history_of(self._app, home)
        try:
            id = resolve_session(history, session) if home is not None else session
            talk = read_conversation(history, id)
            return make_template(talk, id, name=name, kind=kind, most=most, taken=taken, cleaner=self._cleaner)
        finally:
            history.close()

    async def suggest(self, home: Path | None = None, progress: Progress | None = None) -> MiningResult:
        """Mines the whole history and fills the inbox."""
        decided = {one.shape: one.needed for one in await self.inbox.all() if one.state != "waiting"}
        found, made = await asyncio.to_thread(self._mine, home, progress, decided)
        await self.inbox.fill(made, home="" if home is None else str(home.resolve()))
        return found

    def _mine(
        self, home: Path | None, progress: Progress | None, decided: Mapping[str, float]
    ) -> tuple[MiningResult, list[Suggestion]]:
        history: History = history_of(self._app, home)
        file = locate_cache(self._app.settings.home, self._describe_history(home))
        try:
            before = load_cache(file)
            found = mine(history, before, progress=progress)
            if found.read or len(before) != len(found.known):
                save_cache(file, found.known)
            digests = {session: one for session, (_, one) in found.known.items()}
            newest = [facts.id for facts in found.facts]
            return found, find_suggestions(history, digests, newest, cleaner=self._cleaner, decided=decided)
        finally:
            history.close()

    def _describe_history(self, home: Path | None) -> str:
        settings = self._app.settings
        if home is not None:
            return f"hermes:{home.resolve()}"
        url = settings["database_url"]
        return str(url.reveal()) if url else f"home:{settings.home.resolve()}"

    async def edit(self, name: str, changes: TemplateChanges) -> SessionTemplate | Suggestion:
        """Changes a template of the library, or a suggestion that waits."""

        def change(kept: StoredTemplate) -> StoredTemplate:
            return replace(kept, template=self._cleaner.template(changes.apply_to(kept.template)))

        try:
            return (await self.library.change(name, change)).template
        except NotFound as absent:
            return await self._edit_suggestion(name, changes, absent)

    async def _edit_suggestion(self, id: str, changes: TemplateChanges, absent: NotFound) -> Suggestion:
        try:
            old = await self.inbox.get(id)
        except NotFound:
            raise absent from None
        new = replace(old, template=self._cleaner.template(changes.apply_to(old.template)), edited=True)
        await self.inbox.put(new)
        return new

    async def delete(self, name: str) -> None:
        if not await self.library.delete(name):
            await self.library.get(name)  # says that there is none

    async def stats(self) -> list[Comparison]:
        names = {one.template.name: one.template.task_type for one in (await self.library.all()).kept}
        notes = await self.library.notes("outcome")
        return compare_outcomes(names, [SessionOutcome.from_dict(one) for one in notes.values()])

    async def preview(
        self, name: str, messages: Sequence[dict[str, Any]] = (), tools: Sequence[str] = (), budget: int = TOKENS
    ) -> Preview:
        """What would be sent, and how many tokens it is. Nothing is counted."""
        fit = trim_to_budget(adapt_tools((await self.library.get(name)).template, tools), budget)
        text = render_examples(to_example_messages(fit.template))
        return Preview(inject(fit.template, messages), text, estimate_tokens(text), fit.left_out, fit.mapped)

    async def take_in(self, data: Json, *, replaces: bool = False) -> SessionTemplate:
        """Keeps a template that was given as JSON: cleaned like one of ours."""
        template = self._cleaner.template(SessionTemplate.from_dict(data))
        await self.library.save(StoredTemplate(template), replace=replaces)
        return template
