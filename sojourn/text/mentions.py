"""Mentions that call everybody in a room: @all, @channel, @here, @room, @everyone."""

from __future__ import annotations

import re

from sojourn.text.html_entities import unescape_html

_EVERYBODY = re.compile(r"(?<![A-Za-z0-9])@(?=(?:all|channel|here|room|everyone)(?![A-Za-z0-9]))", re.IGNORECASE)
_SIGN = "\N{FULLWIDTH COMMERCIAL AT}"


def neutralize_mentions(text: str, sign: str = _SIGN) -> str:
    """Replaces the @ of such mentions, also one that Markdown would make of an entity; no network acts on the rest."""
    text = _EVERYBODY.sub(sign, text)
    plain = unescape_html(text)
    return _EVERYBODY.sub(sign, plain) if _EVERYBODY.search(plain) else text
