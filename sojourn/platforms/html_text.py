"""HTML of mails and messages as Markdown."""

from __future__ import annotations

from html_to_markdown import ConversionError, ConversionOptions, PreprocessingOptions, convert

_MAX_TAG_DEPTH = 200  # deeper tags are dropped: the converter is recursive


def html_to_text(html: str) -> str:
    """Converts HTML to Markdown, without what it quotes."""
    options = ConversionOptions(
        exclude_selectors=["blockquote", ".gmail_quote"],
        extract_metadata=False,
        max_depth=_MAX_TAG_DEPTH,
        preprocessing=PreprocessingOptions(enabled=False),
        skip_images=True,
    )
    try:
        text = convert(html, options).content or ""
    except ConversionError:
        return html
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()
