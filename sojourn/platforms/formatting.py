"""Markdown as HTML, for the networks that show that."""

from __future__ import annotations

from markdown_it import MarkdownIt

# Raw HTML stays words: nothing a model writes becomes markup but what Markdown has.
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


def as_html(text: str) -> str:
    """Empty when there is nothing to format."""
    shown = _MARKDOWN.render(text).strip()
    inner = shown.removeprefix("<p>").removesuffix("</p>")
    return "" if "<" not in inner else shown
