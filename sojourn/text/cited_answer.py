"""Cited answer: sentences that stand on quotes, and the quotes. What stands on none is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.sessions import SessionId

NOT_FOUND = "That is not in your history."
SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_REFERENCE = re.compile(r"\[(\d{1,2}(?:\s*,\s*\d{1,2})*)\]")
_LATE_REFERENCE = re.compile(r"([.!?。！？])\s*((?:\[[\d, ]+\]\s*)+)")
_QUOTATION = re.compile(
    r"[\"“„”]([^\"“”„]{2,})[\"”“]|[«»‹›]([^«»‹›]{2,})[»«›‹]|[「『]([^「」『』]{2,})[」』]|(?<!`)`++([^`]{2,}+)`+"
    r"|(?:(?<!\w)'|‘|‚)([^'‘’‚]{2,}+(?:(?<=\w)['’](?=\w)[^'‘’‚]*+)*+)(?:'(?!\w)|’(?!\w)|‘)"
)
_MARKS = re.compile(r"[\"“”„«»‹›「」『』`]|(?<!\w)'(?=[^\W\d])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A part of a message, word for word."""

    session: SessionId
    seq: int
    role: str
    title: str
    day: str
    score: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question; `quotes` are what it stands on. `written_by` is the runtime that worded it, if any."""

    found: bool
    text: str
    quotes: tuple[Quote, ...] = ()
    written_by: str = ""


def parse_answer(said: str, quotes: Sequence[Quote], written_by: str) -> Answer | None:
    """Keeps the sentences that name given quotes and quote nothing else; None if none is left."""
    kept, used = list[str](), dict[int, None]()
    for sentence in (part.strip() for part in SENTENCE_END.split(_join_references(said))):
        numbers = [int(number) for hit in _REFERENCE.finditer(sentence) for number in hit[1].split(",")]
        if not numbers or any(not 1 <= number <= len(quotes) for number in numbers):
            continue
        cited = "\n".join(quotes[number - 1].text for number in numbers)
        if _quotes_something_else(sentence, cited):
            continue
        kept.append(sentence)
        used.update(dict.fromkeys(numbers))
    if not kept:
        return None
    order = {number: place for place, number in enumerate(used, 1)}
    text = _REFERENCE.sub(
        lambda hit: "[" + ", ".join(str(order[int(number)]) for number in hit[1].split(",")) + "]", " ".join(kept)
    )
    return Answer(found=True, text=text, quotes=tuple(quotes[number - 1] for number in used), written_by=written_by)


def _quotes_something_else(sentence: str, cited: str) -> bool:
    """Whether a sentence has words in quotation marks that are not in the quotes, or a mark without its partner."""
    quoted = [next(filter(None, parts)) for parts in _QUOTATION.findall(sentence)]
    return any(words not in cited for words in quoted) or _MARKS.search(_QUOTATION.sub("", sentence)) is not None


def _join_references(said: str) -> str:
    """Puts references that follow the full stop before it, so that they stay with their sentence."""
    return _LATE_REFERENCE.sub(r" \2\1 ", said)
