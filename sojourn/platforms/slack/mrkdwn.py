"""Converts Markdown to Slack's mrkdwn, and mrkdwn to text."""

from __future__ import annotations

import html
import re

from sojourn.platforms.markdown import MarkupStyle, escape_html, render

_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")  # <@U1>, <#C1|garden>, <!here>, <https://…|label>


def to_mrkdwn(text: str) -> str:
    return render(text, _STYLE)


def from_mrkdwn(text: str, bot_user: str) -> str:
    """The text of a person, without the mention of our app."""
    text = _REFERENCE.sub(lambda match: _render_reference(match[1], match[2] or "", bot_user), text)
    return html.unescape(text).strip()


def _render_reference(target: str, label: str, bot_user: str) -> str:
    if target.startswith("@"):
        return "" if target[1:] == bot_user else f"@{label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    if not label or label == target or target in (f"mailto:{label}", f"tel:{label}", f"http://{label}"):
        return label or target
    return f"[{label}]({target})"


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
    quote=lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
)
