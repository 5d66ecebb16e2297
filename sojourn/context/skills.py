"""The skills of this installation, and the context source that shortlists them for a request."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn.context.budget import MIN_BLOCK_TOKENS, to_contribution, with_token_count
from sojourn.context.embeddings import Embedders
from sojourn.context.skill_ranking import RankedSkill, Shortlist
from sojourn.context.stemming import stem_words
from sojourn.core.errors import NotFound
from sojourn.ports.app import PluginContext, Shared
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.libraries import Skill, SkillProblem
from sojourn.skill_files import read_skills, skill_folders
from sojourn.text.token_count import truncate_to_tokens

MAX_TOKENS = 2000  # upper limit, whatever the budget of the source
LOAD_WAIT_SECONDS = 0.15  # for word vectors that are being loaded
_CACHE_SECONDS = 3.0  # until the folders are read again
_TRUNCATION_NOTE = "\n(The rest is shown by the tool skill_view.)"


@dataclass(frozen=True, slots=True)
class _CachedSkills:
    at: float
    found: tuple[Skill | SkillProblem, ...]
    shortlist: Shortlist


class SkillIndex:
    """Reads and ranks the skills: `kit.shared(SkillIndex)`. Blocks: call it in a thread."""

    def __init__(self, kit: PluginContext) -> None:
        self._kit = kit
        self._cached: _CachedSkills | None = None
        self._lock = threading.Lock()

    def list_all(self) -> tuple[Skill | SkillProblem, ...]:
        """Returns every SKILL.md, with those that cannot be used as SkillProblem."""
        return self._load().found

    def rank(self, request: str, *, wait: bool = False) -> list[RankedSkill]:
        """Returns the skills that fit a request, best first. `wait`: until the word vectors are loaded."""
        shortlist, embedders = self._load().shortlist, self._kit.shared(Embedders)
        if not shortlist.skills or not stem_words(request):
            return []
        max_wait = None if wait else LOAD_WAIT_SECONDS
        return shortlist.rank(request, embedder=embedders.word_vectors(max_wait))

    def _load(self) -> _CachedSkills:
        with self._lock:
            if self._cached is None or time.monotonic() - self._cached.at > _CACHE_SECONDS:
                found = tuple(read_skills(skill_folders(self._kit.settings)))
                is_same = self._cached is not None and self._cached.found == found
                usable = [one for one in found if isinstance(one, Skill)]
                shortlist = self._cached.shortlist if self._cached and is_same else Shortlist(usable)
                self._cached = _CachedSkills(time.monotonic(), found, shortlist)
            return self._cached


class SkillFolders:
    """Skill library over the SKILL.md files of this installation."""

    def __init__(self, kit: Shared) -> None:
        self._kit = kit

    async def list_skills(self) -> list[Skill | SkillProblem]:
        found = await asyncio.to_thread(self._kit.shared(SkillIndex).list_all)
        return [replace(one, body="") if isinstance(one, Skill) else one for one in found]

    async def get_skill(self, name: str) -> Skill:
        for one in await asyncio.to_thread(self._kit.shared(SkillIndex).list_all):
            if isinstance(one, Skill) and one.name == name:
                return one
        raise NotFound(f'There is no skill "{name}".', hint="`sojourn skills list` shows them all.")


class SkillSource:
    """Context source: names and descriptions of the best skills, then as many of their bodies as fit."""

    name = "skills"
    stage: Stage = "skills"

    def __init__(self, kit: PluginContext) -> None:
        self._kit = kit

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        most = int(self._kit.settings["skills.shortlist"])
        library = self._kit.shared(SkillIndex)
        ranked = await asyncio.to_thread(library.rank, request.said) if most else []
        if not ranked:
            return ContextContribution()
        total = sum(isinstance(one, Skill) for one in library.list_all())
        blocks = build_blocks(ranked[:most], min(MAX_TOKENS, request.budget), total=total, tools=request.tools)
        return to_contribution(blocks, min(MAX_TOKENS, request.budget))


def make(kit: PluginContext) -> SkillSource:
    return SkillSource(kit)


def build_blocks(
    ranked: Sequence[RankedSkill], budget: int, *, total: int, tools: Sequence[str] = ()
) -> list[ContextBlock]:
    """Builds one block per skill; a body is included whole or, if it does not fit, truncated."""
    rest = _build_remaining_block(total - len(ranked)) if "skills_list" in tools and total > len(ranked) else None
    blocks = [_build_block(one, one.skill.description) for one in ranked]
    room = budget - sum(block.tokens for block in blocks) - (rest.tokens if rest else 0)
    for number, one in enumerate(ranked):
        if room < MIN_BLOCK_TOKENS or not one.skill.body:
            continue
        whole = _build_block(one, f"{one.skill.description}\n\n{one.skill.body}")
        cost = whole.tokens - blocks[number].tokens
        if cost > room:
            body = truncate_to_tokens(one.skill.body, room - 2 * MIN_BLOCK_TOKENS)
            whole = _build_block(one, f"{one.skill.description}\n\n{body}{_TRUNCATION_NOTE}")
            cost = whole.tokens - blocks[number].tokens
        if cost <= room:
            blocks[number] = whole
            room -= cost
    return [*blocks, rest] if rest else blocks


def _build_block(one: RankedSkill, text: str) -> ContextBlock:
    return with_token_count(
        ContextBlock(kind="skill", title=one.skill.name, text=text, origin=one.skill.path, reason=one.reason)
    )


def _build_remaining_block(more: int) -> ContextBlock:
    text = f"There are {more} more skills: skills_list names them, skill_view opens one."
    return with_token_count(
        ContextBlock(kind="skill", title="Other skills", text=text, origin="skill folders", reason="not shortlisted")
    )
