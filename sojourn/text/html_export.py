"""Export as one HTML file to share: redacted, without scripts, and with nothing that is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, Session
from sojourn.text.formatting import format_time, one_line, pluralize, to_iso
from sojourn.text.redaction import redact
from sojourn.text.transcript import SpokenText, TranscriptPiece, fold_messages, has_words, is_undone, summarize_call

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
header p, .who { color: GrayText; font-size: 0.875rem; }
article { margin: 1.25rem 0; }
article.user { border-left: 3px solid; padding-left: 0.75rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { overflow: auto; padding: 0.75rem; border: 1px solid GrayText; border-radius: 6px; font-size: 0.875rem; }
summary { cursor: pointer; }
"""
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)
_SPEAKERS = {"user": "You", "assistant": "Agent", "system": "System"}
_FENCE = re.compile(r"`{3,}|~{3,}")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def to_html(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """Renders a page; what was undone is left out, what was summarised is folded. Folders and people are not named."""
    title = _clean(one_line(session.title or session.preview or "A session"))
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="referrer" content="no-referrer">\n'
    yield f"<style>{_STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
    yield f"<p>{_describe(session)}</p>\n</header>\n<main>\n"
    shown = (row for row in rows if isinstance(row.item, Message) and not is_undone(row.item))
    for folded, pieces in groupby(filter(has_words, fold_messages(shown)), key=lambda piece: piece.message.compacted):
        if folded:
            yield "<details>\n<summary>Earlier messages (summarised)</summary>\n"
        for piece in pieces:
            yield _render(piece)
        if folded:
            yield "</details>\n"
    yield "</main>\n</body>\n</html>\n"


def _describe(session: Session) -> str:
    when = f'<time datetime="{escape(to_iso(session.started_at) or "")}">{format_time(session.started_at)}</time>'
    about = [when, pluralize(session.message_count, "message"), *([_clean(session.model)] if session.model else [])]
    return " · ".join([*about, "shared from Sojourn; secrets are blacked out"])


def _render(piece: TranscriptPiece) -> str:
    if isinstance(piece, SpokenText):
        who = "Notice" if piece.is_notice else _SPEAKERS.get(piece.message.role, "")
        kind = "user" if who == "You" else "other"
        label = who or _clean(one_line(piece.message.role, 40))
        head = f'<p class="who">{label} · {format_time(piece.at)}</p>'
        return f'<article class="{kind}" id="m{piece.seq}">\n{head}\n{_render_text(piece.text)}</article>\n'
    name, arguments = _clean(one_line(piece.call.name, 80)), _clean(one_line(summarize_call(piece.call), 80))
    answer = _clean(piece.answer) if piece.answer is not None else "It did not answer."
    asked = f"<pre>{_clean(piece.call.arguments)}</pre>\n" if piece.call.arguments else ""
    head = f"<summary><code>{name}</code> {arguments}</summary>"
    return f'<details id="m{piece.seq}">\n{head}\n{asked}<pre>{answer}</pre>\n</details>\n'


def _render_text(text: str) -> str:
    """Code blocks as such; everything else as it was written."""
    parts, lines, fence = list[str](), list[str](), ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        is_end = bool(fence) and line.startswith(fence) and not line.strip().strip("`~")
        if is_end or (mark and not fence):
            parts.append(_render_lines(lines, is_code=bool(fence)))
            lines, fence = [], mark[0] if mark and not fence else ""
        else:
            lines.append(line)
    return "".join([*parts, _render_lines(lines, is_code=bool(fence))])


def _render_lines(lines: Sequence[str], *, is_code: bool) -> str:
    text = "".join(lines)
    return f"<pre><code>{_clean(text.rstrip())}</code></pre>\n" if is_code else _paragraph(text)


def _paragraph(text: str) -> str:
    return f'<div class="text">{_clean(text.strip())}</div>\n' if text.strip() else ""


def _clean(text: str) -> str:
    """Redacts secrets again, drops characters that hide or reorder text, and escapes HTML."""
    return escape(_INVISIBLE.sub("", redact(text)))
