"""LibraryService: the part of ports.Service that passes requests on: to libraries and to chat commands of plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.chat_command_table import CommandOutput
from sojourn.core.errors import NotFound
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.app import AgentContext
from sojourn.ports.libraries import Fact, Skill, SkillProblem, TemplateInfo
from sojourn.ports.service import Caller
from sojourn.text.cited_answer import Answer


class LibraryService:
    """Passes each request on to what it is for."""

    def __init__(self, app: AgentContext) -> None:
        self._app = self._libraries = app

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

    async def run_plugin_command(self, name: str, arguments: str, session: SessionId, by: Caller) -> CommandOutput:
        """NotFound, also for a session that is not the caller's."""
        await self._app.store.get(session, principal=None if by.principal == OWNER else by.principal)
        for plugin in self._app.plugins():
            if name in plugin.chat_commands:
                run: Any = self._app.load(plugin.chat_commands[name])
                output: CommandOutput = await run(self._app, session, arguments.strip(), by)
                return output
        raise NotFound(f"No plugin brings the command /{name}.", hint="/help lists the commands.")
