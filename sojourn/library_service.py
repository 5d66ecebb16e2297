"""LibraryService: the part of ports.Service that asks the libraries of plugins for facts, skills and templates."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.app import Libraries
from sojourn.ports.libraries import Fact, Skill, SkillProblem, TemplateInfo
from sojourn.text.cited_answer import Answer


class LibraryService:
    """Passes each request on to the library it is for."""

    def __init__(self, libraries: Libraries) -> None:
        self._libraries = libraries

    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> Sequence[Fact]:
        return await self._libraries.facts.list_facts(text=text, principal=principal)

    async def add_fact(self, text: str, *, why: str = "", principal: Principal = OWNER) -> Fact:
        return await self._libraries.facts.add_fact(text, why=why, principal=principal)

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER) -> Fact:
        return await self._libraries.facts.edit_fact(id, text, principal=principal)

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        return await self._libraries.facts.delete_fact(id, principal=principal)

    async def ask(self, question: str, *, principal: Principal = OWNER) -> Answer:
        return await self._libraries.facts.ask(question, principal=principal)

    async def list_skills(self) -> Sequence[Skill | SkillProblem]:
        return await self._libraries.skills.list_skills()

    async def get_skill(self, name: str) -> Skill:
        return await self._libraries.skills.get_skill(name)

    async def list_templates(self) -> Sequence[TemplateInfo]:
        return await self._libraries.templates.list_templates()
