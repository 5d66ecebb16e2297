"""Markdown as Slack's mrkdwn, and Slack's words as people write them."""

from __future__ import annotations

import html
import re

from sojourn.platforms.markdown import Marks, escaped, render

_MARKED = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")  # <@U1>, <#C1|garden>, <!here>, <https://…|label>


def to_mrkdwn(text: str) -> str:
    return render(text, _MARKS)


def to_words(text: str, us: str) -> str:
    """What a person wrote, without our own name in it."""
    return html.unescape(_MARKED.sub(lambda found: _word(found[1], found[2] or "", us), text)).strip()


def _word(what: str, label: str, us: str) -> str:
    if what.startswith("@"):
        return "" if what[1:] == us else f"@{label or what[1:]}"
    if what.startswith("#"):
        return f"#{label or what[1:]}"
    if what.startswith("!"):
        return label or f"@{what[1:].partition('^')[0]}"
    if not label or label == what or what in (f"mailto:{label}", f"tel:{label}", f"http://{label}"):
        return label or what
    return f"[{label}]({what})"


def _link(label: str, address: str) -> str:
    return f"<{escaped(address).replace('|', '%7C')}|{label.replace('|', '¦')}>"


_MARKS = Marks(
    escape=escaped,
    schemes=("http", "https", "mailto", "tel"),
    strong=("*", "*"),
    em=("_", "_"),
    strike=("~", "~"),
    code=lambda text: f"`{escaped(text)}`",
    fence=lambda text, language: f"```\n{escaped(text)}\n```",
    link=_link,
    quote=lambda said: "\n".join(f"> {line}" for line in said.split("\n")),
)
