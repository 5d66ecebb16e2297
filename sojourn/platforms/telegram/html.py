"""Markdown as Telegram's HTML: three letters to escape, and tags that always close."""

from __future__ import annotations

from html import escape

from sojourn.platforms.markdown import Marks, escaped, render


def to_html(text: str) -> str:
    return render(text, _MARKS)


def _fence(text: str, language: str) -> str:
    if language:
        return f'<pre><code class="language-{escape(language)}">{escaped(text)}</code></pre>'
    return f"<pre>{escaped(text)}</pre>"


_MARKS = Marks(
    escape=escaped,
    schemes=("http", "https", "tg", "mailto", "tel"),
    strong=("<b>", "</b>"),
    em=("<i>", "</i>"),
    strike=("<s>", "</s>"),
    code=lambda text: f"<code>{escaped(text)}</code>",
    fence=_fence,
    link=lambda label, address: f'<a href="{escape(address)}">{label}</a>',
    quote=lambda said: f"<blockquote>{said}</blockquote>",
)
