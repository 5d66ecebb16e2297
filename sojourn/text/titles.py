"""Titles and tags of sessions as they are stored: one line, without invisible characters."""

from __future__ import annotations

import re
import unicodedata

from sojourn.core.errors import BadInput, BadTitle

MAX_TITLE_CHARS = 100
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def clean_title(raw: str) -> str | None:
    """Normalises a title to one line without invisible characters; None if nothing is left. BadTitle."""
    seen = "".join(c if c.isspace() or unicodedata.category(c) not in _INVISIBLE else "" for c in raw)
    title = " ".join(seen.split())
    if len(title) > MAX_TITLE_CHARS:
        raise BadTitle(f"The title has {len(title)} characters.", hint=f"Use at most {MAX_TITLE_CHARS}.")
    return title or None


def clean_tag(raw: str) -> str:
    """Normalises a tag to lower case without spaces or commas. BadInput."""
    tag = raw.strip().lower()
    if not tag or len(tag) > 50 or re.search(r"[\s,\x00-\x1f]", tag):
        raise BadInput(f"{raw!r} cannot be a tag.", hint="One word of at most 50 characters, without commas.")
    return tag
