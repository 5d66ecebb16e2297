"""Answer signs: what an answer to a question has, and how it orders what is found."""

from __future__ import annotations

import pytest

from sojourn.text.answer_signs import AnswerSigns
from sojourn.text.rank import Candidate, RankedQuery


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("When did we move the cache?", "We moved the cache in March.", "We moved the cache to the edge."),
        ("which year was the merger", "The merger was in 2021.", "The merger was large."),
        ("How many retries did we agree on?", "Three retries, no more.", "Retries are fine."),
        ("什么时候部署的？", "上周部署的。", "已经部署了。"),
        ("多少次重试？", "重试3次。", "会重试。"),
    ],
)
def test_an_answer_has_what_is_asked_for(question: str, answer: str, other: str) -> None:
    signs = AnswerSigns(question)
    assert signs.weigh(answer) > signs.weigh(other) == 1.0


def test_what_only_asks_answers_less() -> None:
    signs = AnswerSigns("what did we choose for the queue?")
    only_asks, also_tells, tells = "Which queue do we take?", "Which queue? We take Redis.", "We take Redis."
    assert signs.weigh(only_asks) < signs.weigh(also_tells) < signs.weigh(tells) == 1.0
    assert signs.weigh("???") < 1.0
    assert signs.weigh("") == 1.0


def test_a_question_ranks_by_them_and_words_do_not() -> None:
    texts = ["The backup moved to the new server.", "The backup moved to the new server in 2021."]

    def rank(said: str) -> list[str]:
        query, found = RankedQuery(said), [Candidate(n, f"s{n}", 1, "user", text) for n, text in enumerate(texts)]
        query.score_alone(found)
        query.score_together(found, {})
        return [one.text for one in sorted(found, key=lambda one: -one.score)]

    assert rank("when was the backup moved to the server?")[0] == texts[1]
    assert rank("backup moved to the server")[0] == texts[0]
