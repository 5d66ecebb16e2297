"""Intents: matches a request against the rules of rules.txt, in English and Chinese, and finds its topic words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_CAPTURING = re.compile(r"(?<!\\)\((?!\?)")
_TRAILING = re.compile(r"(?<![\s?!.。？！…])[\s?!.。？！…]++$")
_POLITE = re.compile(
    r"^(?:(?:(?:hi|hello)(?=[,，!！.])|hey|ok|okay|so|well|please|could\s+you|can\s+you|would\s+you|请问?|你好(?=[,，!！]))[,，!！.\s]+)+(?=\S)|(?<![,\s])[,\s]++please$",
    re.IGNORECASE,
)
_LONG_CHARS = 500  # a longer text is a request only if it begins like one of these:
_LONG_KINDS = frozenset({"run", "remember", "search"})
_CJK = re.compile("[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")
_QUESTION_ZH = re.compile("什么是|是什么|为什么|怎么样|怎么|如何|帮我|请问?|写一[封个首篇]|吗|呢|的")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A recognised request: its object in `text`, a folder or file in `where`, a line number in `line`."""

    kind: str  # a kind of rules.txt, or: nothing, free
    text: str = ""
    where: str = ""
    line: int = 1


@cache
def load_rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Returns the rules in order: a kind, and the pattern of the whole request."""
    words: dict[str, str] = {}
    rules: list[tuple[str, re.Pattern[str]]] = []
    lines = _read_data("rules.txt").splitlines()
    for line in filter(None, (one for one in lines if not one.startswith("#"))):
        kind, _, rule = line.partition(" ")
        if kind == "=":
            kind, _, rule = rule.partition(" ")
            words[kind] = f"({rule.strip()})"
            continue
        for name, meaning in words.items():
            rule = rule.replace(f"{{{name}}}", meaning)
        pattern = _CAPTURING.sub("(?:", rule.strip()).replace(" ", r"\s+")
        rules.append((kind, re.compile(pattern, re.IGNORECASE | re.DOTALL)))
    return tuple(rules)


def is_chinese(text: str) -> bool:
    """True when the reply should be in Chinese."""
    return bool(_CJK.search(text))


def parse_intent(request: str) -> Intent:
    """Returns the intent of a request; ignores politeness and closing punctuation. No rule matches: kind "free"."""
    whole = request.strip()
    if not whole:
        return Intent(kind="nothing")
    if whole[0] in "!$" and _unquote(whole[1:]):
        return Intent(kind="run", text=_unquote(whole[1:]))
    short = _POLITE.sub("", _TRAILING.sub("", whole)).strip()
    if not short:  # question marks alone
        return Intent(kind="help")
    for kind, rule in load_rules():
        if len(whole) > _LONG_CHARS and kind not in _LONG_KINDS:
            continue
        if match := rule.fullmatch(short) or rule.fullmatch(whole):
            groups = {"text": "", "where": "", "line": "1"} | {k: v for k, v in match.groupdict().items() if v}
            text = groups["text"].strip() if kind == "remember" else _unquote(groups["text"])
            return Intent(kind=kind, text=text, where=_unquote(groups["where"]), line=int(groups["line"]))
    return Intent(kind="free", text=whole)


def _unquote(text: str) -> str:
    text = text.strip()
    while len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        text = text[1:-1].strip()
    return text.strip("「」“”")


def topic_words(text: str) -> list[str]:
    """Returns the words of a question without stop words; keeps Chinese as it is."""
    words = re.findall(r"[\w.+#-]*\w", _QUESTION_ZH.sub(" ", text))
    return [word for word in words if word.lower() not in load_stop_words()]


@cache
def load_stop_words() -> frozenset[str]:
    return frozenset(_read_data("stop_words.txt").split())


def _read_data(name: str) -> str:
    return files("sojourn.runtimes.offline").joinpath(name).read_text("utf-8")
