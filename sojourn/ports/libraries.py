"""Libraries of facts, skills and templates: plugins implement them, the service offers them to surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.text.cited_answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A remembered fact about a person, and the session it comes from."""

    id: str  # 8 hex digits, unique per person
    text: str
    why: str = ""
    source_session: SessionId | None = None
    revision: int = 0
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A skill: `body` says what to do, `path` is its SKILL.md."""

    name: str
    description: str
    body: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillProblem:
    """A SKILL.md that cannot be used, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateInfo:
    """A session template in a list. `problem` says why an unreadable one cannot be used."""

    name: str
    kind: str = ""  # code, file, research, terminal, mixed
    description: str = ""
    examples: int = 0
    usage_count: int = 0
    problem: str = ""


class FactLibrary(Protocol):
    """The facts of each person."""

    # all facts, oldest first; with `text`, those that share words with it, best first
    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> Sequence[Fact]: ...
    # a known one is returned as it is; BadInput if it is empty, too long or holds a secret
    async def add_fact(self, text: str, *, why: str = "", principal: Principal = OWNER) -> Fact: ...
    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER) -> Fact: ...  # NotFound, BadInput
    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact: ...  # NotFound
    async def ask(self, question: str, *, principal: Principal = OWNER) -> Answer: ...  # of everything that was said


class SkillLibrary(Protocol):
    """The skills of this installation."""

    # all skills, without their bodies, and every SKILL.md that cannot be used
    async def list_skills(self) -> Sequence[Skill | SkillProblem]: ...
    async def get_skill(self, name: str) -> Skill: ...  # NotFound


class TemplateLibrary(Protocol):
    """The session templates of this installation."""

    async def list_templates(self) -> Sequence[TemplateInfo]:
        """All templates, newest first; unreadable ones last."""
