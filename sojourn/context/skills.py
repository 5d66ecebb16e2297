"""The skill shortlist: the few skills a request calls for, as much of each as fits."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn.context.packing import LEAST, packed, sized
from sojourn.context.senses import Senses
from sojourn.context.shortlist import Ranked, Shortlist
from sojourn.context.words import words
from sojourn.core.errors import NotFound
from sojourn.core.skills import Skill, SkillProblem
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.kit import Kit
from sojourn.ports.skills import read_skills, skill_folders
from sojourn.text.token_count import truncate_to_tokens

BUDGET = 2000  # tokens, however much the source may use
PATIENCE = 0.15  # seconds to wait for a model that is just being loaded
_FRESH = 3.0  # seconds for which the folders are not read again
_MORE = "\n(The rest is shown by the tool skill_view.)"


@dataclass(frozen=True, slots=True)
class _Read:
    at: float
    found: tuple[Skill | SkillProblem, ...]
    shortlist: Shortlist


class Shelf:
    """The skills of this process: `kit.shared(Shelf)`. Reads and ranks, so use it in a thread."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._read: _Read | None = None
        self._reading = threading.Lock()

    def found(self) -> tuple[Skill | SkillProblem, ...]:
        """Every SKILL.md, also those that cannot be used."""
        return self._fresh().found

    def rank(self, request: str, *, wait: bool = False) -> list[Ranked]:
        """The skills that fit a request, best first. `wait` until the vectors are loaded."""
        shortlist, senses = self._fresh().shortlist, self._kit.shared(Senses)
        if not shortlist.skills or not words(request):
            return []
        patience = None if wait else PATIENCE
        return shortlist.rank(request, words=senses.words(patience))

    def _fresh(self) -> _Read:
        with self._reading:
            if self._read is None or time.monotonic() - self._read.at > _FRESH:
                found = tuple(read_skills(skill_folders(self._kit.settings)))
                is_same = self._read is not None and self._read.found == found
                usable = [one for one in found if isinstance(one, Skill)]
                shortlist = self._read.shortlist if self._read and is_same else Shortlist(usable)
                self._read = _Read(time.monotonic(), found, shortlist)
            return self._read


class SkillFolders:
    """ports.SkillLibrary over the SKILL.md files of this installation."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def list_skills(self) -> list[Skill | SkillProblem]:
        found = await asyncio.to_thread(self._kit.shared(Shelf).found)
        return [replace(one, body="") if isinstance(one, Skill) else one for one in found]

    async def get_skill(self, name: str) -> Skill:
        for one in await asyncio.to_thread(self._kit.shared(Shelf).found):
            if isinstance(one, Skill) and one.name == name:
                return one
        raise NotFound(f'There is no skill "{name}".', hint="`sojourn skills list` shows them all.")


class SkillSource:
    """Names and descriptions of the best ones first, then as many of their bodies as there is room for."""

    name = "skills"
    stage: Stage = "skills"

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        most = int(self._kit.settings["skills.shortlist"])
        shelf = self._kit.shared(Shelf)
        ranked = await asyncio.to_thread(shelf.rank, request.said) if most else []
        if not ranked:
            return ContextContribution()
        total = sum(isinstance(one, Skill) for one in shelf.found())
        blocks = shortlisted(ranked[:most], min(BUDGET, request.budget), total=total, tools=request.tools)
        return packed(blocks, min(BUDGET, request.budget))


def make(kit: Kit) -> SkillSource:
    return SkillSource(kit)


def shortlisted(ranked: Sequence[Ranked], budget: int, *, total: int, tools: Sequence[str] = ()) -> list[ContextBlock]:
    """One block for each skill; a body is given whole or, for the first that does not fit, as far as it goes."""
    rest = _rest(total - len(ranked)) if "skills_list" in tools and total > len(ranked) else None
    blocks = [_block(one, one.skill.description) for one in ranked]
    room = budget - sum(block.tokens for block in blocks) - (rest.tokens if rest else 0)
    for number, one in enumerate(ranked):
        if room < LEAST or not one.skill.body:
            continue
        whole = _block(one, f"{one.skill.description}\n\n{one.skill.body}")
        cost = whole.tokens - blocks[number].tokens
        if cost > room:
            whole = _block(
                one, f"{one.skill.description}\n\n{truncate_to_tokens(one.skill.body, room - 2 * LEAST)}{_MORE}"
            )
            cost = whole.tokens - blocks[number].tokens
        if cost <= room:
            blocks[number] = whole
            room -= cost
    return [*blocks, rest] if rest else blocks


def _block(one: Ranked, text: str) -> ContextBlock:
    return sized(ContextBlock(kind="skill", title=one.skill.name, text=text, origin=one.skill.path, reason=one.reason))


def _rest(more: int) -> ContextBlock:
    text = f"There are {more} more skills: skills_list names them, skill_view opens one."
    return sized(
        ContextBlock(kind="skill", title="Other skills", text=text, origin="skill folders", reason="not shortlisted")
    )
