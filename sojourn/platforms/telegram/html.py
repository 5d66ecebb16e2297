"""Markdown as Telegram's HTML: three letters to escape, and tags that always close."""

from __future__ import annotations

from html import escape

from sojourn.platforms.markdown import MarkupStyle, escape_html, render


def to_html(text: str) -> str:
    return render(text, _MARKS)


def _render_fence(text: str, language: str) -> str:
    if language:
        return f'<pre><code class="language-{escape(language)}">{escape_html(text)}</code></pre>'
    return f"<pre>{escape_html(text)}</pre>"


_MARKS = MarkupStyle(
    escape=escape_html,
    schemes=("http", "https", "tg", "mailto", "tel"),
    strong=("<b>", "</b>"),
    em=("<i>", "</i>"),
    strike=("<s>", "</s>"),
    code=lambda text: f"<code>{escape_html(text)}</code>",
    fence=_render_fence,
    link=lambda label, address: f'<a href="{escape(address)}">{label}</a>',
    quote=lambda said: f"<blockquote>{said}</blockquote>",
)
