"""Calls by nick, in rooms where everybody hears everything."""

from __future__ import annotations

import re


def read_call(text: str, nick: str) -> tuple[str, bool]:
    """A message without the nick it begins with, and whether it names the nick anywhere."""
    call = re.match(rf"{re.escape(nick)}[:,]\s*(.*)", text, re.IGNORECASE | re.DOTALL)
    is_named = re.search(rf"(?<![\w-]){re.escape(nick)}(?![\w-])", text, re.IGNORECASE) is not None
    return call[1] if call else text, is_named
