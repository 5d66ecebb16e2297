"""The title of a session, made of the first words of its first request."""

from __future__ import annotations

from sojourn.text.redaction import INLINE_CHARS, redact

_MAX_WORDS, _MAX_CHARS = 8, 60


def title_from_request(text: str) -> str:
    """Makes a title of the first words of a request; redacted before it is cut, because half a secret is not found."""
    line = next((line for line in redact(text.lstrip()[:INLINE_CHARS]).splitlines() if line.strip()), "")
    words, title = line.strip(" #>*-`\t").split(), ""
    for word in words[:_MAX_WORDS]:
        if len(f"{title} {word}") > _MAX_CHARS:
            break
        title = f"{title} {word}".strip()
    shown = title or (words[0][: _MAX_CHARS - 1] if words else "")
    return shown.rstrip(".,;:!") + ("…" if shown and len(words) > len(title.split()) else "")
