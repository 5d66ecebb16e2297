"""What past sessions say, read back from the tools that look into them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sojourn.runtimes.offline.trail import Entry

_HIT = re.compile(
    r'^- "(?P<title>.*?)", (?P<when>[^,]+), (?P<who>[^:]+): (?P<text>.*)\n'
    r"  \[(?P<session>\S+)(?: number (?P<seq>\d+))?.*\]$",
    re.MULTILINE,
)
_ASKING_ZH = re.compile("什么是|是什么|为什么|怎么样|怎么|如何|帮我|请问?|写一[封个首篇]|吗|呢|的")
_NOT_A_TOPIC = frozenset(
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
class Hit:
    """One place in a past session."""

    title: str
    when: str
    who: str
    text: str
    session: str
    number: int = 0

    @property
    def entry(self) -> Entry:
        return Entry(kind="session", name=self.session, number=self.number)

    @property
    def is_work(self) -> bool:
        """Whether this is a tool's result or a call of one."""
        return self.who.startswith("tool") or bool(re.match(r"…?\W*[\w./-]*\W*[{\[]", self.text)) or '": ' in self.text

    def line(self, at: int) -> str:
        """As it is shown: what was said, where and when."""
        said = self.text if len(self.text) <= 300 else self.text[:299] + "…"
        return f"{at}. **{self.title}**, {self.when}, {self.who}: {said}  \n   `{self.session}`"


def hits(text: str) -> list[Hit]:
    """The places a tool's answer names."""
    return [
        Hit(
            title=found["title"],
            when=found["when"],
            who=found["who"],
            text=" ".join(found["text"].split()),
            session=found["session"],
            number=int(found["seq"] or 0),
        )
        for found in _HIT.finditer(text)
    ]


def topic(text: str) -> list[str]:
    """The words that matter; Chinese stays as it is."""
    words = re.findall(r"[\w.+#-]*\w", _ASKING_ZH.sub(" ", text))
    return [word for word in words if word.lower() not in _NOT_A_TOPIC]


def queries(words: Sequence[str]) -> Iterator[str]:
    """What to look for: all the words, then always one fewer, the shortest first."""
    left = list(words)[:8]
    while left:
        yield " ".join(left)
        if len(left) <= 1:
            return
        left.remove(min(left, key=len))


def days(when: str, now: datetime) -> tuple[str, str]:
    """The first and last day that a word for a time means; empty when it means none."""
    word = when.lower().strip()
    today = now.date()
    if word in ("today", "this morning", "今天", "刚才"):
        return today.isoformat(), today.isoformat()
    if word in ("yesterday", "last night", "昨天"):
        day = (today - timedelta(days=1)).isoformat()
        return day, day
    monday = today - timedelta(days=today.weekday())
    if word in ("this week", "本周", "这周"):
        return monday.isoformat(), today.isoformat()
    if word in ("last week", "上周"):
        return (monday - timedelta(days=7)).isoformat(), (monday - timedelta(days=1)).isoformat()
    first = today.replace(day=1)
    if word == "this month":
        return first.isoformat(), today.isoformat()
    if word in ("last month", "上个月"):
        end = first - timedelta(days=1)
        return end.replace(day=1).isoformat(), end.isoformat()
    return "", ""
