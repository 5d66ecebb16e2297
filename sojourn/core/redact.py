"""Secrets are blacked out before they are kept.

Runs on the single write path, before storage and index. Each pattern is linear and eats no quote
or backslash, so JSON stays JSON. What is blacked out is replaced by `[redacted:<kind>]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

Redactor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret. `hints` are what a text must hold (in any case, if they are lower case and
    `folded`) before the pattern is tried: looking for them is many times faster. A group named
    `secret` limits what is replaced; otherwise all of it is."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    folded: bool = False


def _secret(kind: str, hints: str, pattern: str, *, folded: bool = False) -> Secret:
    return Secret(kind, tuple(hints.split()), re.compile(pattern, re.IGNORECASE if folded else 0), folded)


_ALONE = r"(?<![A-Za-z0-9])"
SECRETS = (
    _secret(
        "private-key",
        "PRIVATE",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,20000}-----END [A-Z ]{0,30}KEY-----",
    ),
    _secret("api-key", "sk- pk- rk-", _ALONE + r"[spr]k-(?:[A-Za-z0-9]{1,16}-){0,3}[A-Za-z0-9_-]{16,200}"),
    _secret("stripe-key", "k_live_ k_test_", _ALONE + r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,100}"),
    _secret("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALONE + r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    _secret("github-token", "github_pat_", _ALONE + r"github_pat_[A-Za-z0-9_]{30,255}"),
    _secret("gitlab-token", "glpat-", _ALONE + r"glpat-[A-Za-z0-9_-]{16,64}"),
    _secret("slack-token", "xox xapp-", _ALONE + r"(?:xox[abeprs]|xapp-[0-9])-[A-Za-z0-9-]{10,250}"),
    _secret("aws-key", "AKIA ASIA", _ALONE + r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _secret("google-key", "AIza", _ALONE + r"AIza[A-Za-z0-9_-]{35}"),
    _secret("telegram-token", ":AA", r"(?<![0-9A-Za-z])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _secret("hf-token", "hf_", _ALONE + r"hf_[A-Za-z0-9]{30,60}"),
    _secret("npm-token", "npm_", _ALONE + r"npm_[A-Za-z0-9]{36}"),
    _secret("jwt", "eyJ", _ALONE + r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}"),
    _secret(
        "bearer",
        "authorization",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{8,4000})",
        folded=True,
    ),
    _secret(
        "url-password",
        "://",
        r"://[^\s:/@\"'\\<>]{0,100}:(?P<secret>[^\s/@\"'\\<>]{1,200})@",
    ),
    _secret(
        "password",
        "password passwd secret apikey api_key api-key access_token auth_token accesstoken authtoken private_key",
        r"(?:password|passwd|secret|api[_-]?key|access_?token|auth_?token|private_?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
        r"(?P<secret>[A-Za-z0-9._~+/=@!#$%^&*-]{8,400})",
        folded=True,
    ),
)
_HINTS = tuple((hint, secret) for secret in SECRETS for hint in secret.hints)
# Words that stand where a secret would, but are none.
_STAND_IN = re.compile(
    r"\[redacted|\*{3,}|x{4,}|\.{3,}|\$\{?[A-Za-z_]|%\(|os\.|process\.env|settings\.|config\.|self\."
    r"|None$|null$|true$|false$",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text with every secret replaced by its kind."""
    folded = text.lower()
    for hint, secret in _HINTS:
        if hint in (folded if secret.folded else text):
            text = secret.pattern.sub(partial(_black_out, secret.kind), text)
    return text


def _black_out(kind: str, hit: re.Match[str]) -> str:
    if "secret" not in hit.re.groupindex:
        return f"[redacted:{kind}]"
    if _STAND_IN.match(hit["secret"]):
        return hit[0]
    start, end = hit.start("secret") - hit.start(), hit.end("secret") - hit.start()
    return hit[0][:start] + f"[redacted:{kind}]" + hit[0][end:]


def keep(text: str) -> str:
    """A redactor that blacks out nothing: the switch turned off."""
    return text
