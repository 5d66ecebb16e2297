"""Memory need: whether a request can be about the past, and how well a memory must fit to be worth telling.

Small talk, orders, and questions about what is open right now bring nothing. Otherwise the request decides how much of
it a memory must have: little if it speaks of the past, much if it could be about anything.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from sojourn.context.word_lists import load_words
from sojourn.text.languages import guess_languages
from sojourn.text.stemming import is_stop_word
from sojourn.text.tokenizer import tokenize
from sojourn.text.writing_systems import is_unspaced

# Lowest scores (text.rank) of the best memory, calibrated on questions with and without an answer in the history.
PAST_SCORE, NAMED_SCORE, ASKED_SCORE, OTHER_SCORE = 0.1, 0.22, 0.3, 0.62
_PAST = re.compile(
    r"\b(?:did|was|were|had|ago|remember|recall|remind|earlier|previous(?:ly)?|before|yesterday|again|still|back then"
    r"|last (?:time|week|month|year|session)|we|we've|our|us|my|mine|used to|have (?:i|you|we)|has \w+ ever"
    r"|decided?|discussed|agreed|chosen?|chose|said|told|talked|mentioned|wanted|planned|happened"
    r"|wir|unsere?|hatten?|letzte[snr]?|gestern|nous|notre|avons|hemos|nuestr[oa]s?|ayer|abbiamo|nostr[oaei]|ieri"
    r"|temos|noss[oa]s?|ontem|wij|onze|gisteren|vår[at]?|igår)\b"
    r"|上次|之前|记得|我们|昨天|以前",
    re.IGNORECASE,
)
_LONG_AGO = re.compile(
    r"\b(?:last time|remember|before|earlier|ago|yesterday|we (?:did|decided|chose|agreed))\b", re.IGNORECASE
)
_OPEN = re.compile(
    r"\b(?:this|that|these|the (?:open|current|selected|attached|last|following)|my current)\s+"
    r"(?:\w+\s+)?(?:file|function|method|class|module|line|lines|code|loop|variable|error|json|table|list|test|snippet|script|"
    r"paragraph|text|page|image|diff|commit|branch|folder|directory|repo|project|query|regex|traceback|output|selection)\b"
    r"|\bline \d+\b|\b(?:here|above|below)\s*[.?!]?$|这个文件|这行|这段代码",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"^\s*(?:[/!$]\s*\S|(?:please\s+|can you\s+|could you\s+)?(?:run|execute|exec)\s+\S+(?:\s+-{1,2}\w|\s*$)|"
    r"(?:ls|cd|cat|pwd|git|npm|pip|uv|make|docker|kubectl|cargo|pytest|python3?|node|grep|curl)\s+[\w./-]+)",
    re.IGNORECASE,
)
_GENERAL = re.compile(  # asks for knowledge or for work, not for what was said
    r"^\s*(?:please\s+|can you\s+|could you\s+)?(?:how (?:do|can|would|should) (?:i|you|one)\b|how to\b"
    r"|what(?:'s| is| are) (?:the difference|an?)\b|what does\b.{1,40}\bmean\b"
    r"|(?:write|explain|generate|create|draw|convert|translate|define|make|build|implement|give me|show me)\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(  # asks for one thing in particular
    r"^\s*(?:(?:at|in|on|from|to|for|until|by|with) )?(?:which\b|what (?!is\b|are\b|was\b|does\b|do\b)\w+"
    r"|how (?:many|much|long|big|large|small|high|often|fast)\b)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,;:'’)] )[A-Z][a-z]{2,}\b")
_THIRD_PERSON = re.compile(r"^\s*(?:who|whose|when|where)\b|\b(?:he|she|they|his|her|their)\b", re.IGNORECASE)


@lru_cache(maxsize=64)
def find_lowest_score(said: str) -> float | None:
    """Returns how well a memory must fit a request; None if the request needs no memory."""
    telling = (token.term for token in tokenize(said) if not is_stop_word(token.term))
    first = next(telling, "")
    speaks_of_past = _PAST.search(said) is not None
    if not first or _COMMAND.search(said) or (_OPEN.search(said) and not _LONG_AGO.search(said)):
        return None
    if all(term in load_words("workspace_words.txt") or term.isdigit() for term in chain([first], telling)):
        return None
    if speaks_of_past:
        return PAST_SCORE
    if _GENERAL.search(said):
        return OTHER_SCORE
    is_german = guess_languages(token.term for token in tokenize(said)) == ("german",)  # its nouns are no names
    if (_NAME.search(said) and not is_german) or _THIRD_PERSON.search(said) or is_unspaced(first[0]):
        return NAMED_SCORE
    return ASKED_SCORE if _ASKED.search(said) else OTHER_SCORE
