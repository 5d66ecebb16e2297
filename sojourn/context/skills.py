"""Skills: the SKILL.md files of this installation, their ranking for a request, and the context source.

The ranking adds BM25 and, where word vectors are installed, the similarity of meanings.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import MIN_BLOCK_TOKENS, to_contribution, with_token_count
from sojourn.context.embeddings import LOAD_WAIT_SECONDS, Embedder, Embedders
from sojourn.context.query_expansion import expand_query, spoken_forms, translate_chinese
from sojourn.core.errors import NotFound
from sojourn.ports.app import PluginContext, Shared
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.libraries import Skill, SkillProblem
from sojourn.skill_files import read_skills, skill_folders
from sojourn.text.stemming import is_stop_word
from sojourn.text.token_count import truncate_to_tokens
from sojourn.text.tokenizer import stem_words, tokenize

MAX_TOKENS = 2000  # upper limit, whatever the budget of the source
_CACHE_SECONDS = 3.0  # until the folders are read again
_TRUNCATION_NOTE = "\n(The rest is shown by the tool skill_view.)"
# Weights of the scores, tuned on the tuning half of tests/data/skills.
_WEIGHTS = (0.8, 0.5, 0.5, 0.4)  # similarity; of the telling words alone; of the best part; BM25
_MIN_SIMILARITY = 0.12  # cosine from which on similarity alone is a reason
_MAX_PARTS = 6  # of a request that are compared one by one
_PART = re.compile(r"[,.;:?!]|\b(?:and|then|also)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w']+")
_GENERIC_WORDS = frozenset(["tool", "tools", "helper", "plugin", "assistant", "skill", "skills", "ai", "chat", "gpt"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSkill:
    """A skill with its score and the reasons for it."""

    skill: Skill
    score: float
    shared: tuple[str, ...]  # words of the request that the skill has
    nearness: float  # cosine similarity; 0 without word vectors

    @property
    def reason(self) -> str:
        words = f"it has {', '.join(f'“{word}”' for word in self.shared[:4])}" if self.shared else ""
        near = f"its meaning is near ({self.nearness:.2f})" if self.nearness >= _MIN_SIMILARITY else ""
        return "; ".join(filter(None, [words, near]))


class Shortlist:
    """An index of skills. Pure but for the embedders, which compute: ask it in a thread."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = tuple(skills)
        # The vectors know English: a Chinese description is translated word by word.
        names = [name_to_words(one.name) for one in self.skills]
        described = [translate_chinese(one.description) or one.description for one in self.skills]
        self.texts = [f"{name}. {text}" for name, text in zip(names, described, strict=True)]
        self._telling = [keep_telling_words(f"{name} {one}") for name, one in zip(names, self.texts, strict=True)]
        self._index = Bm25Index(
            [[(name_to_words(one.name), 3), (one.description, 2), (one.body, 1)] for one in self.skills]
        )

    def rank(self, request: str, *, embedder: Embedder | None = None) -> list[RankedSkill]:
        """Returns the skills that fit, best first."""
        weighted = expand_query(request, self._index)
        by_terms, forms = self._index.score(weighted), spoken_forms(request)
        english = translate_chinese(request) or request
        near = embedder.similarities(english, self.texts) if embedder else []
        telling = embedder.similarities(keep_telling_words(english), self._telling, centred=False) if embedder else []
        by_part = _compare_parts(english, self._telling, embedder) if embedder else []
        totals = [0.0] * len(self.skills)
        for scores, weight in zip((near, telling, by_part, by_terms), _WEIGHTS, strict=True):
            for number, value in enumerate(_standardise(scores)):
                totals[number] += weight * value
        fitting = [n for n in range(len(self.skills)) if by_terms[n] > 0 or (near and near[n] >= _MIN_SIMILARITY)]
        fitting.sort(key=lambda number: (-totals[number], self.skills[number].name))
        return [
            RankedSkill(
                skill=self.skills[number],
                score=totals[number],
                shared=tuple(forms.get(word, word) for word in self._index.shared_words(number, weighted)),
                nearness=near[number] if near else 0.0,
            )
            for number in fitting
        ]


def name_to_words(name: str) -> str:
    """Returns a name as words: "git rebase" for `git-rebase` and `gitRebase`."""
    return " ".join(token.term for token in tokenize(name))


def keep_telling_words(text: str) -> str:
    """Returns a text without the words that say nothing about what is wanted; all of it if nothing is left."""
    words = (word for word in _WORD.findall(text) if not is_stop_word(word.lower()))
    return " ".join(word for word in words if word.lower() not in _GENERIC_WORDS) or text


def _compare_parts(request: str, texts: Sequence[str], embedder: Embedder) -> list[float]:
    """Returns for each text how well the part of the request that fits it best does so, in standard scores."""
    found = [part for part in map(keep_telling_words, _PART.split(request)) if len(part.split()) > 1][:_MAX_PARTS]
    if len(found) < 2:
        return []
    scores = [_standardise(embedder.similarities(part, texts, centred=False)) for part in found]
    return [max(values) for values in zip(*scores, strict=True)]


def _standardise(scores: Sequence[float]) -> list[float]:
    """Returns standard scores, so that scores of different scales can be added."""
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    spread = sqrt(sum((one - mean) ** 2 for one in scores) / len(scores)) or 1.0
    return [(one - mean) / spread for one in scores]


@dataclass(frozen=True, slots=True)
class _CachedSkills:
    at: float
    found: tuple[Skill | SkillProblem, ...]
    shortlist: Shortlist

    @property
    def is_stale(self) -> bool:
        return time.monotonic() - self.at > _CACHE_SECONDS


class SkillIndex:
    """Reads and ranks the skills: `app.shared(SkillIndex)`. Blocks: call it in a thread."""

    def __init__(self, app: PluginContext) -> None:
        self._app = app
        self._cached: _CachedSkills | None = None
        self._lock = threading.Lock()

    def list_all(self) -> tuple[Skill | SkillProblem, ...]:
        """Returns every SKILL.md, with those that cannot be used as SkillProblem."""
        return self._load().found

    def get(self, name: str) -> Skill:
        for one in self.list_all():
            if isinstance(one, Skill) and one.name == name:
                return one
        raise NotFound(f'There is no skill "{name}".', hint="`sojourn skills list` shows them all.")

    def rank(self, request: str, *, wait: bool = False) -> list[RankedSkill]:
        """Returns the skills that fit a request, best first. `wait`: until the word vectors are loaded."""
        shortlist, embedders = self._load().shortlist, self._app.shared(Embedders)
        if not shortlist.skills or not stem_words(request):
            return []
        max_wait = None if wait else LOAD_WAIT_SECONDS
        return shortlist.rank(request, embedder=embedders.word_vectors(max_wait))

    @property
    def is_known_empty(self) -> bool:
        """Whether the folders were read a moment ago and held no skill; answers at once."""
        known = self._cached
        return known is not None and not known.shortlist.skills and not known.is_stale

    def clear(self) -> None:
        """Reads the files again when somebody asks next."""
        with self._lock:
            self._cached = None

    def _load(self) -> _CachedSkills:
        with self._lock:
            if self._cached is None or self._cached.is_stale:
                found = tuple(read_skills(skill_folders(self._app.settings)))
                is_same = self._cached is not None and self._cached.found == found
                usable = [one for one in found if isinstance(one, Skill)]
                shortlist = self._cached.shortlist if self._cached and is_same else Shortlist(usable)
                self._cached = _CachedSkills(time.monotonic(), found, shortlist)
            return self._cached


class SkillFolders:
    """Skill library over the SKILL.md files of this installation."""

    def __init__(self, app: Shared) -> None:
        self._app = app

    async def list_skills(self) -> list[Skill | SkillProblem]:
        entries = await asyncio.to_thread(self._app.shared(SkillIndex).list_all)
        return [replace(one, body="") if isinstance(one, Skill) else one for one in entries]

    async def get_skill(self, name: str) -> Skill:
        return await asyncio.to_thread(self._app.shared(SkillIndex).get, name)


class SkillSource:
    """Context source: names and descriptions of the best skills, then as many of their bodies as fit."""

    name = "skills"
    stage: Stage = "skills"

    def __init__(self, app: PluginContext) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        most = int(self._app.settings["skills.shortlist"])
        library = self._app.shared(SkillIndex)
        if not most or library.is_known_empty:
            return ContextContribution()
        ranked = await asyncio.to_thread(library.rank, request.said)
        if not ranked:
            return ContextContribution()
        total = sum(isinstance(one, Skill) for one in library.list_all())
        blocks = build_blocks(ranked[:most], min(MAX_TOKENS, request.budget), total=total, tools=request.tools)
        return to_contribution(blocks, min(MAX_TOKENS, request.budget))


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
