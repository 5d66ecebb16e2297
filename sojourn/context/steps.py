"""Parses a request into steps: numbered and bulleted lists, "then", "and also", "for each of A, B and C".

Rules for English and Chinese; a sentence that asks for one thing stays one step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.context.word_lists import load_words

_ITEM = re.compile(r"^[ \t]*(?:(\d{1,2})[.)、．]|([-*•·])|([一二三四五六七八九十]{1,2})[、.．])[ \t]*(\S.*)$")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_THEN = re.compile(
    r"(?:[,;.]\s{0,9}|\s{1,9})(?:and\s{1,9})?"
    r"(?:then|after that|afterwards|next|finally|once (?:that|this)(?:'s| is) done)\s{0,9}[,:]?\s{1,9}"
    r"|[，,；;。]?\s{0,9}(?:然后|接着|之后再|随后|最后再|最后)[，,]?",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"(?:[,;.]\s{0,9}|\s{1,9})(?:and also|also|plus|as well as|in addition|at the same time|in parallel)[,:]?\s{1,9}"
    r"|[，,；;。]?\s{0,9}(?:另外|同时|还要|顺便|以及再|并且还)[，,]?",
    re.IGNORECASE,
)
_FOR_EACH = re.compile(r"for each (?:one )?of (?P<rest>.+)", re.IGNORECASE | re.DOTALL)
_OF_EACH = re.compile(
    r"(?P<what>[a-z].*?)\s{0,9}\b(?:for |in |of )?each of (?:these|the following)?\s{0,9}:?\s{0,9}(?P<things>.+)",
    re.IGNORECASE,
)
_EACH_CHINESE = re.compile(r"(?:对|为|给|把)?(?P<things>[^，。；\n]+?)(?:分别|各自|每个都?)(?P<what>[^。；\n]+)")
_LIST = re.compile(r"\s{0,9}(?:,\s{0,9}and\s{1,9}|,|;|\band\b|、|，|和|以及)\s{0,9}")
_AND = re.compile(r"(?:,\s{0,9}(?:and\s{1,9})?|\s{1,9}and\s{1,9})(?=(\w{1,40})(?:\s|$))", re.IGNORECASE)
_AFTER_ALL = re.compile(
    r"^(?:and )?(?:finally|at the end|in the end|when (?:all|everything)|最后|全部完成后)", re.IGNORECASE
)
_NEEDS = re.compile(
    r"\b(?:it|them|those|the (?:result|output|findings|summary|above|previous)s?|these results|step \d+)\b"
    r"|上一步|上述|以上|结果|它们?",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"\W*(?:(?:please|can you|could you|would you|i want you to|i need you to|let's|first|now|also|then|next|lastly"
    r"|finally),?\s+)*(\w+)",
    re.IGNORECASE,
)
MAX_PROSE_CHARS = 2000  # of running text that is searched for steps
_SPACES = re.compile(r"[^\S\n]+")
MAX_TITLE_CHARS = 160
_VERBS = "verbs.txt"


@dataclass(frozen=True, slots=True)
class RequestStep:
    """One step. `after`: it waits for the steps before it; otherwise it is independent."""

    title: str
    after: bool = False
    last: bool = False  # it waits for all others


def parse_steps(request: str) -> tuple[RequestStep, ...]:
    """Returns the steps of a request in order; fewer than two for a simple request."""
    plain = _FENCE.sub(" ", request).strip()
    listed = _parse_list(plain)
    if len(listed) > 1:
        return listed
    plain = _SPACES.sub(" ", plain)
    if len(plain) > MAX_PROSE_CHARS:
        return ()
    return _parse_for_each(plain) or _parse_prose(plain)


def _parse_list(text: str) -> tuple[RequestStep, ...]:
    """Parses a list of requests; other lists are content. A numbered list is sequential, a bulleted one is not,
    unless its words say otherwise."""
    found: list[RequestStep] = []
    for hit in filter(None, map(_ITEM.match, text.splitlines())):
        title = _to_title(hit[4])
        waits = bool(hit[1] or hit[3] or _NEEDS.search(title))
        found.append(RequestStep(title, after=waits, last=bool(_AFTER_ALL.match(title))))
    requests = sum(_is_request(step.title) for step in found)
    return tuple(found) if 2 * requests >= len(found) else ()


def _parse_for_each(text: str) -> tuple[RequestStep, ...]:
    """Parses one request for several things; the steps are independent."""
    plain = text.rstrip(" .。")
    if hit := _FOR_EACH.fullmatch(plain):
        cuts = re.finditer(r"\s*[,:]\s*", hit["rest"])
        forms = [(hit["rest"][: cut.start()], hit["rest"][cut.end() :]) for cut in cuts]
    else:
        found = _OF_EACH.fullmatch(plain) or _EACH_CHINESE.fullmatch(plain)
        forms = [(found["things"], found["what"])] if found else []
    for listed, what in forms:
        things = [one.strip(" .") for one in _LIST.split(listed) if one.strip(" .")]
        if _is_request(what) and len(things) > 1 and all(len(one) <= 60 for one in things):
            return tuple(RequestStep(_to_title(f"{what}: {one}")) for one in things)
    return ()


def _parse_prose(text: str) -> tuple[RequestStep, ...]:
    """Parses running text: "then" and a plain "and" make a step wait, "and also" does not."""
    found: list[RequestStep] = []
    is_marked = False
    for stretch in (stretches := _split_at(_THEN, text)):
        waits = bool(found)
        alsos = _split_at(_ALSO, stretch)
        is_marked = is_marked or len(stretches) > 1 or len(alsos) > 1
        for also in alsos:
            for piece in _split_at_and(also):
                found.append(RequestStep(_to_title(piece), after=waits or bool(found and _NEEDS.search(piece))))
                waits = True
            waits = False
    return tuple(found) if is_marked or len(found) > 2 else ()  # "look at it and tell me" is one request


def _split_at(mark: re.Pattern[str], text: str) -> list[str]:
    """Splits a text at a mark if every part is a request; a narrative ("I went home, then …") stays whole."""
    parts = [part.strip(" ,，;；.。\n") for part in mark.split(text)]
    return parts if all(map(_is_request, parts)) else [text]


def _split_at_and(text: str) -> Sequence[str]:
    cuts = [hit for hit in _AND.finditer(text) if hit[1].lower() in load_words(_VERBS)]
    if not cuts or not _is_request(text):
        return [text]
    edges = [0, *(hit.end() for hit in cuts)]
    ends = [*(hit.start() for hit in cuts), len(text)]
    return [text[a:b].strip(" ,") for a, b in zip(edges, ends, strict=True)]


def _is_request(part: str) -> bool:
    """True when a part asks for an action: it begins with a known verb, or is Chinese, where verbs are not checked."""
    first = _POLITE.match(part)
    if first is None:
        return False
    return first[1].lower() in load_words(_VERBS) or (not first[1].isascii() and len(part) > 1)


def _to_title(text: str) -> str:
    flat = re.sub(r"^先", "", " ".join(text.split()).strip(" .;；。"))
    return flat if len(flat) <= MAX_TITLE_CHARS else flat[: MAX_TITLE_CHARS - 1].rstrip() + "…"
