"""Markdown as Telegram's HTML: three letters to escape, and tags that always close."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from sojourn.platforms.markup import Marks, render


def to_html(text: str) -> str:
    return render(text, _MARKS)


def _words(text: str) -> str:
    return escape(text, quote=False)


def _fence(text: str, language: str) -> str:
    if language:
        return f'<pre><code class="language-{escape(language)}">{_words(text)}</code></pre>'
    return f"<pre>{_words(text)}</pre>"


def _link(label: str, address: str) -> str:
    if urlsplit(address).scheme in ("http", "https", "tg", "mailto", "tel"):
        return f'<a href="{escape(address)}">{label}</a>'
    return f"{label} ({_words(address)})"


_MARKS = Marks(
    escape=_words,
    strong=("<b>", "</b>"),
    em=("<i>", "</i>"),
    strike=("<s>", "</s>"),
    code=lambda text: f"<code>{_words(text)}</code>",
    fence=_fence,
    link=_link,
    quote=lambda said: f"<blockquote>{said}</blockquote>",
)
