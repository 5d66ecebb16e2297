"""HTML entities: read as `html.unescape` does, but for numbers that Python refuses to read because of their length."""

from __future__ import annotations

import html
import re

_ZEROS = re.compile(r"&#0{8,}")
_LONG_NUMBER = re.compile(r"&#0{0,8}[1-9][0-9]{7,};?")  # beyond any character


def unescape_html(text: str) -> str:
    """Replaces entities by their characters. Linear; raises nothing."""
    if "&#" in text:
        text = _LONG_NUMBER.sub("\N{REPLACEMENT CHARACTER}", _ZEROS.sub("&#0", text))
    return html.unescape(text)
