"""Exact text: the hash of what a question is about, and a form of it that hides nothing from the eye."""

from __future__ import annotations

import hashlib
import re

# What a screen would obey, reorder or not show: control characters, marks of direction, joiners and other fillers.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def hash_text(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def reveal(text: str) -> str:
    """Writes every character that would not be seen as its code: `\\u{202e}`. Line breaks and tabs stay."""
    return _UNSEEN.sub(lambda hit: f"\\u{{{ord(hit[0]):x}}}", text)
