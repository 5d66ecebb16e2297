"""Search results: parses what the session tools return, and turns questions into search queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

_HIT = re.compile(
    r'^- "(?P<title>.*?)", (?P<when>[^,]+), (?P<who>[^:]+): (?P<text>.*)\n  \[(?P<session>\S+)(?: number \d+)?.*\]$',
    re.MULTILINE,
)
_MAX_EXCERPT_CHARS = 300
_MAX_QUERY_WORDS = 8
_QUESTION_ZH = re.compile("什么是|是什么|为什么|怎么样|怎么|如何|帮我|请问?|写一[封个首篇]|吗|呢|的")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about actually after again all already also an and any anything are as at be been before by can choose
        chose chosen conversation conversations decide decided did discuss discussed do does done earlier ever exactly
        finally find first for found from get got had happened has have how i in into is it its just know last lately
        learn learned me mention mentioned month my of on or our out please recently regarding remember said say
        session sessions so some talk talked that the their them then there these think this those thought time times
        to today tried try up us use was we week were what when where which while who why with work worked yesterday
        you your""",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One message of a past session."""

    title: str
    when: str
    who: str
    text: str
    session: str

    @property
    def is_tool_output(self) -> bool:
        return self.who.startswith("tool") or bool(re.match(r"…?\W*[\w./-]*\W*[{\[]", self.text)) or '": ' in self.text

    def render(self, number: int) -> str:
        said = self.text if len(self.text) <= _MAX_EXCERPT_CHARS else self.text[: _MAX_EXCERPT_CHARS - 1] + "…"
        return f"{number}. **{self.title}**, {self.when}, {self.who}: {said}  \n   `{self.session}`"


def parse_hits(text: str) -> list[SearchHit]:
    """Parses the result of `session_search` or `session_list`."""
    return [SearchHit(**{**hit.groupdict(), "text": " ".join(hit["text"].split())}) for hit in _HIT.finditer(text)]


def topic_words(text: str) -> list[str]:
    """Returns the words of a question without stop words; keeps Chinese as it is."""
    words = re.findall(r"[\w.+#-]*\w", _QUESTION_ZH.sub(" ", text))
    return [word for word in words if word.lower() not in _STOP_WORDS]


def queries_for(words: Sequence[str]) -> Iterator[str]:
    """Yields queries: all the words, then one fewer each time, dropping the shortest."""
    left = list(words)[:_MAX_QUERY_WORDS]
    while left:
        yield " ".join(left)
        left.remove(min(left, key=len))


def parse_days(when: str, now: datetime) -> tuple[str, str]:
    """Returns the first and last day of "yesterday", "last week" …; empty strings for other words."""
    today = now.date()
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    yesterday, before_month = today - timedelta(days=1), first - timedelta(days=1)
    spans = {
        "today|this morning|今天|刚才": (today, today),
        "yesterday|last night|昨天": (yesterday, yesterday),
        "this week|本周|这周": (monday, today),
        "last week|上周": (monday - timedelta(days=7), monday - timedelta(days=1)),
        "this month": (first, today),
        "last month|上个月": (before_month.replace(day=1), before_month),
    }
    for words, (since, until) in spans.items():
        if when.lower().strip() in words.split("|"):
            return since.isoformat(), until.isoformat()
    return "", ""
