"""Markdown as Slack's mrkdwn, and Slack's words as people write them."""

from __future__ import annotations

import html
import re

from sojourn.platforms.markdown import MarkupStyle, escape_html, render

_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")  # <@U1>, <#C1|garden>, <!here>, <https://…|label>


def to_mrkdwn(text: str) -> str:
    return render(text, _STYLE)


def from_mrkdwn(text: str, us: str) -> str:
    """What a person wrote, without our own name in it."""
    return html.unescape(_REFERENCE.sub(lambda found: _render_reference(found[1], found[2] or "", us), text)).strip()


def _render_reference(what: str, label: str, us: str) -> str:
    if what.startswith("@"):
        return "" if what[1:] == us else f"@{label or what[1:]}"
    if what.startswith("#"):
        return f"#{label or what[1:]}"
    if what.startswith("!"):
        return label or f"@{what[1:].partition('^')[0]}"
    if not label or label == what or what in (f"mailto:{label}", f"tel:{label}", f"http://{label}"):
        return label or what
    return f"[{label}]({what})"


def _render_link(label: str, address: str) -> str:
    return f"<{escape_html(address).replace('|', '%7C')}|{label.replace('|', '¦')}>"


_STYLE = MarkupStyle(
    escape=escape_html,
    schemes=("http", "https", "mailto", "tel"),
    strong=("*", "*"),
    em=("_", "_"),
    strike=("~", "~"),
    code=lambda text: f"`{escape_html(text)}`",
    fence=lambda text, language: f"```\n{escape_html(text)}\n```",
    link=_render_link,
    quote=lambda said: "\n".join(f"> {line}" for line in said.split("\n")),
)
