"""What somebody wants, read from what they said by the rules of rules.txt, in English and Chinese.

What fits no rule is free text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_GROUP = re.compile(r"(?<!\\)\((?!\?)")
_TRAILING = re.compile(r"[\s?!.。？！…]+$")
_POLITE = re.compile(
    r"^(?:(?:(?:hi|hello)(?=[,，!！.])|hey|ok|okay|so|well|please|could\s+you|can\s+you|would\s+you|请问?|你好(?=[,，!！]))[,，!！.\s]+)+(?=\S)|[,\s]+please$",
    re.IGNORECASE,
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_NUMBERS = {word: at for words in (_ORDINALS, "一二三四五六七八九十") for at, word in enumerate(words, 1)} | {
    "last": -1
}
_LONG = 500  # characters: what is longer is a request only if it begins like one
_LONG_KINDS = frozenset({"run", "remember", "write", "search"})
_CJK = re.compile("[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One thing to do. `text` is what it is about, `where` a folder, a file or a time, `number` which of several."""

    kind: str  # one of rules.txt, or nothing, free
    text: str = ""
    where: str = ""
    number: int = 0


@cache
def rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The rules in order: which kind, and what it looks like."""
    words: dict[str, str] = {}
    made: list[tuple[str, re.Pattern[str]]] = []
    lines = files("sojourn.runtimes.offline").joinpath("rules.txt").read_text("utf-8").splitlines()
    for line in filter(None, (one for one in lines if not one.startswith("#"))):
        kind, _, rule = line.partition(" ")
        if kind == "=":
            kind, _, rule = rule.partition(" ")
            words[kind] = f"({rule.strip()})"
            continue
        for name, meaning in words.items():
            rule = rule.replace(f"{{{name}}}", meaning)
        made.append((kind, re.compile(_regex(rule.strip()), re.IGNORECASE | re.DOTALL)))
    return tuple(made)


def _regex(rule: str) -> str:
    return _GROUP.sub("(?:", rule).replace(" ", r"\s+")


def is_chinese(text: str) -> bool:
    """Whether to answer in Chinese."""
    return bool(_CJK.search(text))


def wish(said: str) -> Wish:
    """What was wanted. Politeness and the mark at the end do not count."""
    whole = said.strip()
    if not whole:
        return Wish(kind="nothing")
    if whole[0] in "!$" and _bare(whole[1:]):
        return Wish(kind="run", text=_bare(whole[1:]))
    short = _POLITE.sub("", _TRAILING.sub("", whole)).strip()
    if not short:  # nothing but question marks
        return Wish(kind="help")
    for kind, rule in rules():
        if len(whole) > _LONG and kind not in _LONG_KINDS:
            continue
        for form in (short, whole):
            if found := rule.fullmatch(form):
                return _made(kind, {key: value for key, value in found.groupdict().items() if value})
    return Wish(kind="free", text=whole)


def _made(kind: str, groups: dict[str, str]) -> Wish:
    number, text = groups.get("n", ""), groups.get("text", "")
    digits = re.sub(r"\D", "", number)
    if kind == "sum" and not re.search(r"\d\s*[-+*/×÷^%]", text):
        return Wish(kind="free", text=text)
    return Wish(
        kind=kind,
        text=text.strip() if kind in ("remember", "forget", "told") else _bare(text),
        where=_bare(groups.get("where", "")),
        number=int(digits) if digits else _NUMBERS.get(number.lower(), 0),
    )


def _bare(text: str) -> str:
    """Without the quotes and back-ticks people put around what they mean literally."""
    text = text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip()
    return text.strip("「」“”")
