"""Redaction: replaces secrets with `[redacted:<kind>]` on the write path, before storage and index.

`text.secret_patterns` describes the secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial

from sojourn.text.lazy_pattern import LazyPattern
from sojourn.text.secret_patterns import KEY_PATTERNS, OTHER_PATTERNS, SecretPattern

Redactor = Callable[[str], str]

_Hint = tuple[str, bool, SecretPattern]

_KEYS: tuple[_Hint, ...] = tuple((hint, False, secret) for secret in KEY_PATTERNS for hint in secret.hints)
_OTHERS: tuple[_Hint, ...] = tuple((hint, secret.folded, secret) for secret in OTHER_PATTERNS for hint in secret.hints)
# Most texts lack these signs and stems, and a search for few is faster than for many. Stems ignore case.
_SIGNS, _STEMS = (
    tuple(":/=?&-"),
    ("pass", "key", "token", "secret", "bearer", "cookie", "author", "login", "curl", "mysql"),
)
_MIN_CHARS = 14  # a key is one long word; most words are short, so few are searched
_OF_KEYS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/+=")
_APART = bytes(one if one in _OF_KEYS else ord(" ") for one in range(256))
# Placeholders where a secret would be: stars, dots, names of variables.
_STAND_IN = LazyPattern(
    r"\[redacted|\$?\{|[*x.•_-]+$|\$[A-Za-z_][A-Za-z0-9_]*$|os\.|process\.env|settings\.|config\.|self\."
    r"|(?:[a-z_]+_)?(?:passw(?:or)?d|secret|apikey|key|token)$"
    r"|(?:sha|md|utf|base|argon|scrypt|pbkdf|hs|rs|aes|rfc|v|http)[-_]?[0-9][-_a-z0-9]*$",  # ways to keep a password
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_.]+")


@lru_cache(maxsize=4096)
def _select_hints(signs: tuple[str, ...]) -> tuple[_Hint, ...]:
    """The hints that a text with only these signs and stems can contain."""
    lacking = [sign for sign in (*_SIGNS, *_STEMS) if sign not in signs]
    return tuple(one for one in _OTHERS if not any(sign in one[0] for sign in lacking))


@cache
def _compile_prefixes() -> re.Pattern[bytes]:
    """Matches the beginning of any key, grouped by first letter, which `re` searches fastest."""
    rests: dict[str, list[str]] = {}
    for hint, _, _ in _KEYS:
        rests.setdefault(hint[0], []).append(re.escape(hint[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items()).encode())


def _may_hold_keys(text: str) -> bool:
    words = text.encode("ascii", "replace").translate(_APART).split()
    long_ones = b" ".join([word for word in words if len(word) >= _MIN_CHARS])
    return _compile_prefixes().search(long_ones) is not None


def redact(text: str) -> str:
    """Replaces every secret of a text with its kind."""
    folded = text.lower()
    present = [sign for sign in _SIGNS if sign in text]
    present += [stem for stem in _STEMS if stem in folded]
    hints = _select_hints(tuple(present))
    for hint, is_folded, secret in (*_KEYS, *hints) if _may_hold_keys(text) else hints:
        if hint in (folded if is_folded else text):
            done = _replace_secrets(secret, hint, folded if is_folded else text, text)
            if done is not text:
                text, folded = done, done.lower()
    return text


def _replace_secrets(secret: SecretPattern, hint: str, where: str, text: str) -> str:
    """Replaces the secrets that begin with a hint."""
    pattern = secret.pattern.compiled
    if secret.inside or len(where) != len(text):  # the lower case of a letter may be longer: its places are no good
        done = pattern.sub(partial(_black_out, secret), text)
        return text if done == text else done
    parts: list[str] = []
    kept, at = 0, where.find(hint)
    while at >= 0:
        hit = pattern.match(text, at)
        if hit:
            parts += (text[kept:at], _black_out(secret, hit))
            kept = hit.end()
        at = where.find(hint, hit.end() if hit else at + 1)
    return "".join((*parts, text[kept:])) if parts else text


def _black_out(secret: SecretPattern, hit: re.Match[str]) -> str:
    group = "secret" if "secret" in hit.re.groupindex else 0
    if _is_stand_in(secret, hit, hit[group]):
        return hit[0]
    start, end = hit.start(group) - hit.start(), hit.end(group) - hit.start()
    return hit[0][:start] + f"[redacted:{secret.kind}]" + hit[0][end:]


def _is_stand_in(secret: SecretPattern, hit: re.Match[str], value: str) -> bool:
    """Whether a value is no secret; unquoted, `api_key: Optional` and `password=ask.user()` are code."""
    if secret.digits and not any(c.isdigit() for c in value):
        return True
    if "secret" not in hit.re.groupindex:
        return False
    before, after = hit.string[hit.start() : hit.start("secret")], hit.string[hit.end() : hit.end() + 1]
    if _STAND_IN.compiled.match(value):
        return True
    if not secret.named or before[-1] in "\"'" or not _NAME.fullmatch(value):
        return False
    return before.rstrip().endswith(":") or "." in value or after in ("(", "[", ",", ")")


def no_redaction(text: str) -> str:
    """A redactor that changes nothing, for the setting `redact = no`."""
    return text
