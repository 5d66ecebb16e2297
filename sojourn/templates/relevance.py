"""Relevance: ranks templates for a request by the words of the requests they come from, and by their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from sojourn.templates.inject import estimate_template_tokens
from sojourn.templates.library import StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, task_type
from sojourn.text.tokenizer import extract_terms

MOST = 3  # templates at a time
LEAST = 0.12  # below this a request does not look like a template's task
SURE = 1.0  # three signs: it sounds like a type of task, whatever other words it has
_SMALL_WORDS = (
    "a an the and or of to in on for with from at by is are be it this that these those i you we me my our your can "
    "could would please do does did make get all any some as if then so not no yes what which how why when where who "
    "there here need want help let 的 了 是 在 我 你 他 请 把 和 与 或 吗 呢 个 这 那 一 有 不"
)
_COMMON = frozenset(_SMALL_WORDS.split())
# What people say when they want a type of thing done, in both languages. Only used to tell the type.
_SAYS = {
    TaskType.CODE: r"\b(?:python|script|compute|calculate|plot|simulate|dataframe|pandas|numpy)\b|脚本|计算|画图|模拟",
    TaskType.FILE: r"\b(?:files?|folder|edit|rename|refactor|rewrite|read|write|patch)\b|\.\w{1,4}\b|文件|修改|重命名",
    TaskType.RESEARCH: r"\b(?:search|look up|find out|research|latest|news|compare)\b|https?://|搜索|查一下|调研",
    TaskType.TERMINAL: r"\b(?:run|install|deploy|build|tests?|git|docker|restart|commit|logs?)\b|运行|安装|部署|测试",
}
_PATTERNS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _SAYS.items()}


@dataclass(frozen=True, slots=True)
class Match:
    """A template, how well it fits, how many tokens it takes, and why it was chosen."""

    stored: StoredTemplate
    score: float
    tokens: int
    because: str


def words_of(text: str) -> set[str]:
    """The words of a text without stop words and numbers."""
    return {word for word in extract_terms(text[:2000]) if word not in _COMMON and not word.isdigit()}


def likely_types(request: str) -> dict[TaskType, float]:
    """How much a request sounds like each type of task, between 0 and 1."""
    found = {kind: min(len(pattern.findall(request[:2000])), 3) / 3 for kind, pattern in _PATTERNS.items()}
    return found | {TaskType.MIXED: 0.0}


def rank_templates(request: str, approved: Sequence[StoredTemplate]) -> list[Match]:
    """The templates that fit a request, the best first; among equals the less used, then the better proven. Where no
    words say which one is meant but the request clearly sounds like a type of task: one template of that type."""
    words = words_of(request)
    own = {one.template.name: _collect_words(one) for one in approved if one.template.examples}
    weight = _weigh_words(list(own.values()))
    likely = likely_types(request)
    found = []
    for one in approved:
        if not one.template.examples or not words:
            continue
        shared = words & own[one.template.name]
        fit = _weigh_share(shared, words, weight)
        score = fit + 0.1 * likely[one.template.task_type] if shared else 0.0
        if score >= LEAST:
            found.append(
                Match(one, round(score, 3), estimate_template_tokens(one.template), _explain(one, shared, weight))
            )
    return sorted(found, key=_rank_key) or _choose_by_type(likely, approved)


def choose_template(stored: Sequence[StoredTemplate], kind: TaskType | str) -> StoredTemplate | None:
    """The template for a type of task: the less used, among equals the better proven, then the newer."""
    meant = task_type(kind)
    fitting = [one for one in stored if one.template.task_type is meant and one.template.examples]
    return min(fitting, key=_rank_usage, default=None)


def _rank_usage(stored: StoredTemplate) -> tuple[int, int, float, str]:
    template = stored.template
    return template.usage_count, -stored.about.proven, -template.created_at, template.name


def _choose_by_type(likely: Mapping[TaskType, float], approved: Sequence[StoredTemplate]) -> list[Match]:
    first, second = sorted(likely, key=lambda kind: -likely[kind])[:2]
    if likely[first] < SURE or likely[second] >= likely[first]:
        return []
    one = choose_template(approved, first)
    why = f"your request sounds like a {first.value} task"
    return [Match(one, round(0.1 * likely[first], 3), estimate_template_tokens(one.template), why)] if one else []


def select_within_budget(matches: Sequence[Match], budget: int, most: int = MOST) -> tuple[list[Match], list[str]]:
    """The first few that the budget has room for, and what it had no room for, in words. The best one is worth cutting:
    it is chosen if there is room for its first example."""
    chosen: list[Match] = []
    left_out: list[str] = []
    for one in matches:
        if len(chosen) >= most:
            break
        if one.tokens <= budget or (not chosen and _estimate_first_example(one.stored.template) <= budget):
            chosen.append(one)
            budget -= min(one.tokens, budget)
        else:
            left_out.append(f'template "{one.stored.template.name}" ({one.tokens} tokens, {budget} left)')
    return chosen, left_out


def _estimate_first_example(template: SessionTemplate) -> int:
    return estimate_template_tokens(replace(template, examples=template.examples[:1]))


def _collect_words(stored: StoredTemplate) -> set[str]:
    template = stored.template
    requested = [words_of(request) for request in stored.about.requests]
    described = template.description if not template.description.startswith("Template with") else ""
    return words_of(f"{template.name} {described}").union(*requested)


def _weigh_words(all_words: Sequence[set[str]]) -> dict[str, float]:
    """A word that every template has says little about which one is meant."""
    counts = Counter(word for words in all_words for word in words)
    return {word: 1.0 + log(len(all_words) / seen) for word, seen in counts.items()}


def _weigh_share(shared: set[str], words: set[str], weight: dict[str, float]) -> float:
    total = sum(weight.get(word, 1.0) for word in words)
    return sum(weight.get(word, 1.0) for word in shared) / total if total else 0.0


def _explain(stored: StoredTemplate, shared: set[str], weight: dict[str, float]) -> str:
    best = sorted(shared, key=lambda word: (-weight.get(word, 1.0), -len(word), word))[:4]
    proof = f", proven in {stored.about.proven} sessions" if stored.about.proven > 1 else ""
    return f"it shares {', '.join(best)} with your request{proof}"


def _rank_key(match: Match) -> tuple[float, int, int, str]:
    stored = match.stored
    return -match.score, stored.template.usage_count, -stored.about.proven, stored.template.name
