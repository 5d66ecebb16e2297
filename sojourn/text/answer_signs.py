"""Answer signs: whether a message has what a question asks for, a time or a number, or only asks itself."""

from __future__ import annotations

import re

from sojourn.text.cited_answer import SENTENCE_END

_TIME_FACTOR, _NUMBER_FACTOR = 1.2, 1.1  # of a message that has what is asked for
_ASKING_SHARE = 0.15  # of its score that a message loses which does nothing but ask
_WEIGHED_CHARS = 2000  # of a message
_ASKS_TIME = re.compile(
    r"^\s*(?:since |until |by )?when\b|\b(?:what|which) (?:date|day|year|month|time)\b|\bhow long\b"
    r"|什么时候|何时|哪天|哪年|几点|多久",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|old|often|long)\b|多少|几个|几次", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|recently|this (?:week|month|year|morning|weekend)"
    r"|(?:week|weekend|month|year|day)s?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may"
    r"|june|july|august|september|october|november|december|\d{4})\b|\d[年月日号点]|[昨今明]天|[上下]周",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|couple|few|several|once|twice)\b"
    r"|[两二三四五六七八九十百]",
    re.IGNORECASE,
)


class AnswerSigns:
    """What an answer to a question has."""

    def __init__(self, question: str) -> None:
        self._asks_time = _ASKS_TIME.search(question) is not None
        self._asks_number = _ASKS_NUMBER.search(question) is not None

    def weigh(self, text: str) -> float:
        """Returns by how much the score of a message is multiplied."""
        text, factor = text[:_WEIGHED_CHARS], 1.0
        if self._asks_time and _TIME.search(text):
            factor *= _TIME_FACTOR
        if self._asks_number and _NUMBER.search(text):
            factor *= _NUMBER_FACTOR
        if "?" in text or "？" in text:
            sentences = [one.rstrip() for one in SENTENCE_END.split(text) if one.strip()]
            asking = sum(one.endswith(("?", "？")) for one in sentences)
            factor *= 1 - _ASKING_SHARE * asking / max(1, len(sentences))
        return factor
