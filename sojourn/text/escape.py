"""Escape: encodes characters that a database cannot store.

PostgreSQL rejects NUL, SQLite's string functions stop at it, and neither accepts a lone surrogate (how Python keeps a
byte that is not valid UTF-8). Each becomes U+001A SUBSTITUTE and four hex digits, as does U+001A itself, so the escape
is reversible.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{4})")


def escape(text: str) -> str:
    """Escapes a text for any store."""
    if text.isascii() and "\x00" not in text and "\x1a" not in text:
        return text  # the usual case; the pattern takes ten times as long
    return _UNSAFE.sub(lambda hit: f"\x1a{ord(hit[0]):04x}", text)


def unescape(text: str) -> str:
    """Reverses `escape`."""
    if "\x1a" not in text:
        return text
    return _ESCAPED.sub(lambda hit: chr(int(hit[1], 16)), text)


def from_bytes(raw: bytes) -> str:
    """Decodes UTF-8 and keeps each invalid byte as a surrogate."""
    return raw.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Reverses `from_bytes`; keeps a lone surrogate that never was a byte."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def first_words(content: bytes) -> str:
    """The start of a message on one line, as Hermes' lists show it: it ends at the first NUL."""
    start = content.split(b"\0", 1)[0].decode("utf-8", "ignore").replace("\n", " ").replace("\r", " ")[:63].strip()
    return start[:60] + "..." if len(start) > 60 else start
