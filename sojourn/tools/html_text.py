"""Converts HTML pages to readable text."""

from __future__ import annotations

import re

from html_to_markdown import ConversionError, ConversionOptions, PreprocessingOptions, convert

from sojourn.text.html_entities import unescape_html

MAX_TAG_DEPTH = 200  # deeper tags are dropped: the converter is recursive
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,500})</title>", re.IGNORECASE)


def html_to_text(page: str, base: str = "") -> str:
    """Converts a page to Markdown: headings, paragraphs, lists, tables, and links from `base`."""
    options = ConversionOptions(
        base_url=base or None,
        extract_metadata=False,
        inline_data_media="drop_element",
        max_depth=MAX_TAG_DEPTH,
        preprocessing=PreprocessingOptions(enabled=False),
    )
    try:
        body = (convert(page, options).content or "").strip()
    except ConversionError:
        body = ""  # the page is broken beyond what a browser would show
    found = _TITLE.search(page, 0, 100_000)
    title = " ".join(unescape_html(found[1]).split()) if found else ""
    return f"{title}\n\n{body}".strip() if not body.startswith(f"# {title}") else body
