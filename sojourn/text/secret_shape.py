"""Secret shapes: tells what may be a secret from words, code and placeholders that stand where one would."""

from __future__ import annotations

import re

from sojourn.text.lazy_pattern import LazyPattern

# Placeholders where a secret would be: stars, dots, names of variables; and ways to keep a password.
_STAND_IN = LazyPattern(
    r"\[redacted|!vault$|sk-\.\.\.|\$?\{|[*x.•_-]+$|\$[A-Za-z_(][A-Za-z0-9_]*|os\.|process\.env|settings\.|config\.|self\.|args\.|<|%[sd(]"
    r"|AAAA[BCE]3Nza|ssh-(?:rsa|ed25519)|(?:[a-z]{1,20}_)?(?:passw(?:or)?d|secret|apikey|key|token)$"
    r"|(?:sha|md|utf|base|argon|scrypt|pbkdf|hs|rs|aes|rfc|http|oauth|tls|ssl|ipv|x509|rsa|ed)[-_]?[0-9][-_a-z0-9]*$|v[0-9][0-9.]*$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_.]+")
_CALLED = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,60}(?:\??\.[A-Za-z_$][A-Za-z0-9_$]{0,60}){0,6}")
_ATTRIBUTE = re.compile(r"[A-Za-z_]{1,60}[0-9]{0,4}[A-Za-z_]{0,60}")
_NUMBER = re.compile(r"0[xob][0-9a-f]{1,8}|[0-9]{1,3}(?:_[0-9]{3}){1,3}|[0-9]{1,9}\*{1,2}\w{1,9}", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_GIVES_PASSWORD = re.compile(
    r"(?:passw(?:or)?d|passphrase)(?:[\\\"']{0,8}\s{0,9}(?:=>|[:=!]{0,2}=|:)\s{0,3}[\\\"']{1,8}|=[\\\"']{0,8})\Z",
    re.IGNORECASE,
)
_DIGIT = re.compile("[0-9]")
_DATE = re.compile(r"[0-9]{2,4}[-/.:][0-9]{1,2}(?:[-/.:T][0-9A-Z:.]*)?")
_STRONG = re.compile(r"[0-9]{3}|[0-9][A-Za-z]+[0-9]|[!@#$%^&*?~+]|[a-z][0-9]+[A-Z]|[A-Z][0-9]+[a-z]")
# What vendors put before a key: sk_live, glpat, API-v2. Not the beginning of an identifier such as !Ab-… or $xy_….
_VENDOR = re.compile(
    r"(?<![\w!$@#+/=.~-])(?:[a-z]{2,14}|[A-Z]{2,14})[0-9]{0,2}(?:[_-](?:[a-z0-9]{1,10}|[A-Z0-9]{1,10})){0,3}\Z"
)
VENDOR_CHARS = 40
_SIGNS = frozenset("!@#$%^&*?~+{}()[]<>")
_MIN_STRONG_CHARS = 7
_MAX_WORD_CHARS = 80  # the beginning tells


def is_stand_in(value: str) -> bool:
    """Whether a value is a placeholder, a path or the name of a method, where a secret would be."""
    return _STAND_IN.compiled.match(value) is not None or _is_path(value)


def is_code(value: str, before: str, after: str) -> bool:
    """Whether an unquoted value is a name in a program: `api_key: Optional`, `password=ask.user()`."""
    if before[-1:] in "\"'`":
        return False
    if (after in ("(", "[") and _CALLED.fullmatch(value)) or _NUMBER.fullmatch(value):
        return True
    if _is_attribute(value):
        return True
    if not _NAME.fullmatch(value):
        return False
    return "." in value or (not is_random(value) and (before.rstrip().endswith(":") or after in (",", ")")))


def has_digit(value: str) -> bool:
    return _DIGIT.search(value) is not None


def is_strong(value: str) -> bool:
    """Whether a value is a secret even without a sign before it: letters with digits or signs, and no name or date."""
    if len(value) < _MIN_STRONG_CHARS or value.isdigit() or _DATE.match(value):
        return False
    if not has_digit(value) and (" " in value or len(_SIGNS.intersection(value)) < 3):
        return False
    if not any(one.isalpha() for one in value) or value[0] in "/~." or "://" in value:
        return False
    is_long = len(value) >= 12 and value.lower() != value != value.upper()
    return (is_long or _STRONG.search(value) is not None) and not _is_words(value)


def is_mixed(value: str) -> bool:
    """Whether a long word is a key: capitals, small letters and digits in no order."""
    digits = sum(one.isdigit() for one in value)
    return digits >= (1 if len(value) >= 28 else 3) and value.lower() != value != value.upper() and is_strong(value)


def has_vendor(text: str, end: int) -> bool:
    """Whether a word that a vendor would use ends here. In base64url, letters before a - are as random as the rest."""
    return _VENDOR.search(text, max(0, end - VENDOR_CHARS), end) is not None


def is_random(value: str) -> bool:
    """Whether a value is not made of words: it has a digit, or capitals where words have none."""
    return has_digit(value) or not _is_words(value)


def may_be_word(value: str, before: str) -> bool:
    """Whether what comes before a value tells that it is a password even if it is a word: `password=…`."""
    return len(value) >= 8 and _GIVES_PASSWORD.search(before) is not None


def _is_words(value: str) -> bool:
    """Whether a value is made of words as programs write them: thisOne, ThisOne, this_one, THIS-ONE, one2."""
    parts: list[str] = _PARTS.findall(value[:_MAX_WORD_CHARS])
    if _is_jumble(value[:_MAX_WORD_CHARS], len(parts)):
        return False
    return all(_is_word(part, alone=len(parts) == 1) for part in parts)


def _is_jumble(value: str, parts: int) -> bool:
    """Whether a long word changes between capitals, small letters and digits more often than words do."""
    is_mix = value.isalnum() and value.lower() != value != value.upper() and has_digit(value)
    return is_mix and len(value) >= 16 and len(value) < 3.2 * parts


def _is_word(part: str, *, alone: bool) -> bool:
    if part.isdigit():
        return len(part) <= 2
    if part.isalpha() and part.isascii():
        return len(part) >= 2 or alone
    return len(part) <= 2 and not part.strip(" ._/-:?")


def _is_path(value: str) -> bool:
    return value[:1] in "/~." and "/" in value[:3] and _is_words(value.lstrip("~./").partition("/")[0])


def _is_attribute(value: str) -> bool:
    """Whether a value is `module.Class` or `thing2.value`: names with a dot between them, none of them random."""
    parts = value.split(".")
    return len(parts) > 1 and all(_ATTRIBUTE.fullmatch(part) for part in parts)
