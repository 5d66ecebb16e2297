"""The form of a secret pattern, and the parts that patterns are made of.

Each pattern is linear. None consumes a quote, or a backslash without the character it escapes, so that JSON stays
valid, even as a string inside other JSON.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sojourn.text.lazy_pattern import LazyPattern


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """A kind of secret. The pattern is tried only where one of its `hints` occurs, because finding a word is faster.

    The pattern begins with its hint. The group `secret` limits what is replaced; it is no part of another group,
    and what may be skipped before it is skipped lazily: the first secret is the one that is found.
    folded: hints are lower case and match any case. digits: without a digit it is a plain word. random: words are none,
    neither is code. strong: no sign tells that a value follows, so it must look like a secret. mixed: only the mix of
    its letters tells. named: the name before it identifies it, and code may look the same. vendor: a word as vendors
    use it comes before it. needs: the text has one of these signs; most have not.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: LazyPattern
    folded: bool = False
    digits: bool = False
    random: bool = False
    strong: bool = False
    mixed: bool = False
    named: bool = False
    vendor: bool = False
    needs: str = ""


def make_pattern(
    kind: str, hints: str, pattern: str, *, folded: bool = False, needs: str = "", **asks: bool
) -> SecretPattern:
    words = tuple(hint.replace("␣", " ") for hint in hints.split())
    return SecretPattern(kind, words, LazyPattern(pattern, re.IGNORECASE if folded else 0), folded, needs=needs, **asks)


# Where a word begins; after the n of an escaped line break too, but never with the n.
ALONE = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{4}))"
END = r"(?![A-Za-z0-9])"
QUOTE = r"\\{0,7}[\"']"  # in JSON inside JSON a quote has backslashes before it
OPEN = rf"(?:[@bfruN]{{0,2}}{QUOTE}|`|&quot;)"  # a string begins; some languages have a letter before it
CLOSED = r"(?=\\{0,7}[\"'`]|&quot;)"
# Between a name and its value. A quoted name has a quoted value: a number in JSON stays a number.
IS = rf"(?:{QUOTE}\s{{0,3}}[:=]>?\s{{0,3}}{QUOTE}|\s{{0,3}}[:=：]>?\s{{0,3}}(?:{QUOTE})?)"
_SIGN = r"(?:[:=!?+.|&]{0,3}=>?|::?>?|\?\?|\|\||->|%3D|[→：＝])"
_CLOSE_NAME = r"(?:\\{0,7}[\"']?[\])]{1,2}|\[\]|%|[*_`]{1,3})?"
# A quoted name, and a quoted value behind it: in JSON, in a call that takes both.
IS_PAIR = rf"[\])]{{0,2}}{QUOTE}[\])]{{0,2}}\s{{0,3}}(?:{_SIGN}|,|or\b)\s{{0,20}}{OPEN}"
# Any sign that gives a value to a name; the type of the name or an opening bracket may be between them.
_BLOCK = r"(?:[|>][-+]?[ ]{0,3}(?:\n|\\{1,7}n)\s{0,20})?"  # a value on the next line, in YAML
IS_GIVEN = (
    rf"(?:\s{{0,2}}(?::|as\b)\s{{0,2}}[&*]?'?[A-Za-z][\w.<>\[\] |]{{0,30}}=\s{{0,3}}{OPEN}"
    rf"|\s{{0,2}}\{{[^\n{{}}\"'\\]{{0,40}}\}}\s{{0,3}}=\s{{0,3}}{OPEN}"
    rf"|{_CLOSE_NAME}[ \t]{{0,9}}{_SIGN}[*_]{{0,2}}\s{{0,4}}(?:!!?\w{{1,12}}\s)?{_BLOCK}[(\[{{]?(?:{OPEN})?"
    rf"|[({{,]\s{{0,2}}{OPEN})"
)
NO_NUMBER = r"(?![0-9.,%:]+(?![A-Za-z0-9!@#$^&*?_~+/-]))"
VALUE = r"[A-Za-z0-9._~+/=@!#$%^&*?-]"
TEXT = r"[^\"'`\\\n]"  # inside quotes
LINE = r"(?:\n|\\{1,7}n)"  # a line break, as it is or escaped
