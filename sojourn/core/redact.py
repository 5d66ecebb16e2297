"""Secrets are blacked out before they are kept.

Runs on the single write path, before storage and index. Each pattern is linear. None eats a quote,
and a backslash only together with what it escapes: JSON stays JSON, also when it is a text inside
other JSON, as the arguments of a tool are. What is blacked out is replaced by `[redacted:<kind>]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from sojourn.core.later import Later

Redactor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret. `hints` are what a text must hold (in any case, if they are lower case and
    `folded`) before the pattern is tried: looking for them is many times faster. A group named
    `secret` limits what is replaced; otherwise all of it is. `digits`: it has some, or it is a word.
    `named`: it is known by the name before it, and code may look the same."""

    kind: str
    hints: tuple[str, ...]
    pattern: Later
    folded: bool = False
    digits: bool = False
    named: bool = False


def _secret(kind: str, hints: str, pattern: str, *, folded: bool = False, **asks: bool) -> Secret:
    return Secret(kind, tuple(hints.split()), Later(pattern, re.IGNORECASE if folded else 0), folded, **asks)


# Where a word begins; after the n of an escaped line break too, but never with the n.
_ALONE = r"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt])|(?<=\\u[0-9a-fA-F]{4}))"
_QUOTE = r"\\{0,7}[\"']"  # in JSON inside JSON a quote has backslashes before it
# Between a name and its value. A quoted name has a quoted value: a number in JSON stays a number.
_IS = rf"(?:{_QUOTE}\s{{0,3}}[:=]>?\s{{0,3}}{_QUOTE}|\s{{0,3}}[:=]>?\s{{0,3}}(?:{_QUOTE})?)"
_KEY = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_LINE = r"(?:\s|\\+[nr]){1,9}[A-Za-z0-9+/=]{20,}+"
SECRETS = (
    _secret(
        "private-key",
        "PRIVATE",  # whole, or cut off in the middle of its lines
        rf"-----BEGIN {_KEY}(?:(?:[^\"'\\-]|\\+[nrt]|-(?!----)){{1,20000}}+-----END {_KEY}|(?:{_LINE}){{1,999}})",
    ),
    _secret("api-key", "sk- pk- rk-", _ALONE + r"[spr]k-[A-Za-z0-9_-]{16,250}", digits=True),
    _secret("stripe-key", "k_live_ k_test_", _ALONE + r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    _secret("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALONE + r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _secret("github-token", "github_pat_", _ALONE + r"github_pat_[A-Za-z0-9_]{30,255}"),
    _secret("gitlab-token", "glpat-", _ALONE + r"glpat-[A-Za-z0-9_-]{16,255}"),
    _secret("slack-token", "xox xapp-", _ALONE + r"(?:xox[abeprs]|xapp-[0-9])-[A-Za-z0-9-]{10,250}"),
    _secret("aws-key", "AKIA ASIA", _ALONE + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _secret("google-key", "AIza", _ALONE + r"AIza[A-Za-z0-9_-]{35}"),
    _secret("google-token", "ya29.", _ALONE + r"ya29\.[A-Za-z0-9_-]{20,4000}"),
    _secret("telegram-token", ":AA", _ALONE + r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _secret("groq-key", "gsk_", _ALONE + r"gsk_[A-Za-z0-9]{40,255}"),
    _secret("hf-token", "hf_", _ALONE + r"hf_[A-Za-z0-9]{30,255}"),
    _secret("npm-token", "npm_", _ALONE + r"npm_[A-Za-z0-9]{36}"),
    _secret("pypi-token", "pypi-AgE", _ALONE + r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _secret("sendgrid-key", "SG.", _ALONE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _secret(
        "jwt",
        "eyJ",
        _ALONE + r"(?<![_-])eyJ[A-Za-z0-9_-]{8,4000}+\.eyJ[A-Za-z0-9_-]{8,8000}+\.[A-Za-z0-9_-]{8,2000}",
    ),
    _secret(
        "bearer",
        "authorization",
        rf"authorization{_IS}(?:bearer|basic|token)\s{{1,3}}(?P<secret>[A-Za-z0-9._~+/=-]{{8,4000}})",
        folded=True,
    ),
    _secret("url-password", "://", r"://[^\s:/@\"'\\<>]{0,100}:(?P<secret>[^\s/@\"'\\<>]{1,200})@"),
    _secret(
        "password",
        "password passwd passphrase secret apikey api_key api-key access_key accesskey private_key privatekey",
        r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key|access[_-]?key|private[_-]?key)"
        rf"{_IS}(?P<secret>[A-Za-z0-9._~+/=@!#$%^&*?-]{{8,400}})",
        folded=True,
        named=True,
    ),
    _secret(
        "token",
        "token",
        rf"token{_IS}(?P<secret>[A-Za-z0-9._~+/=-]{{16,400}})",
        folded=True,
        digits=True,
        named=True,
    ),
)
_HINTS = tuple((hint, secret.folded, secret) for secret in SECRETS for hint in secret.hints)
# Many texts lack these signs, and looking for one character is ten times faster than looking for a word.
_SIGNS = ("_", "-", ":")
# What stands where a secret would, but is none: stars and dots, and the names of variables.
_STAND_IN = Later(
    r"\[redacted|[*x.•_-]+$|\$[A-Za-z_][A-Za-z0-9_]*$|os\.|process\.env|settings\.|config\.|self\."
    r"|(?:[a-z_]+_)?(?:passw(?:or)?d|secret|apikey|key|token)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_.]+")


@cache
def _possible(signs: tuple[str, ...]) -> tuple[tuple[str, bool, Secret], ...]:
    """The hints a text can hold that has only these of the signs."""
    lacking = [sign for sign in _SIGNS if sign not in signs]
    return tuple(one for one in _HINTS if not any(sign in one[0] for sign in lacking))


def redact(text: str) -> str:
    """The text with every secret replaced by its kind."""
    folded = text.lower()
    tried = None
    hints = _possible(tuple([sign for sign in _SIGNS if sign in text]))
    for hint, is_folded, secret in hints:  # every append passes here: a plain loop is three times faster
        if hint in (folded if is_folded else text) and secret is not tried:
            text, tried = secret.pattern.now.sub(partial(_black_out, secret), text), secret
    return text


def _black_out(secret: Secret, hit: re.Match[str]) -> str:
    group = "secret" if "secret" in hit.re.groupindex else 0
    if _is_stand_in(secret, hit, hit[group]):
        return hit[0]
    start, end = hit.start(group) - hit.start(), hit.end(group) - hit.start()
    return hit[0][:start] + f"[redacted:{secret.kind}]" + hit[0][end:]


def _is_stand_in(secret: Secret, hit: re.Match[str], value: str) -> bool:
    """Whether the value is none. Where nothing is quoted, `api_key: Optional` and `password=ask.user()` are code."""
    if secret.digits and not any(c.isdigit() for c in value):
        return True
    if "secret" not in hit.re.groupindex:
        return False
    before, after = hit.string[hit.start() : hit.start("secret")], hit.string[hit.end() : hit.end() + 1]
    if _STAND_IN.now.match(value):
        return True
    if not secret.named or before[-1] in "\"'" or not _NAME.fullmatch(value):
        return False
    return before.rstrip().endswith(":") or "." in value or after in ("(", "[", ",", ")")


def keep(text: str) -> str:
    """A redactor that blacks out nothing: the switch turned off."""
    return text
