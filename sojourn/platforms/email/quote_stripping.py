"""The words of a letter that its writer wrote: without what is quoted, signed or marked up."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BELOW = re.compile(r"^(-{2,} ?(original|forwarded|ursprüngliche|weitergeleitete) .*|_{10,}|-- ?)$", re.IGNORECASE)
_RETURN = re.compile(r"^(\s*(re|aw|sv|antw|fwd?|wg)\s*:\s*)+", re.IGNORECASE)
_HIDDEN = {"script", "style", "head", "title", "blockquote"}
_BLOCKS = {"p", "div", "br", "tr", "li", "ul", "ol", "table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "hr"}
_EMPTY = {"br", "hr", "img", "meta", "link", "input"}  # have no end


def strip_quotes(text: str) -> str:
    """Without the quoted letter at the end, the line that introduces it, and the signature. Quotes in between,
    to which the writer answers, stay. A letter that is nothing but a quote stays whole."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    cut = next((n for n, line in enumerate(lines) if _BELOW.match(line) and n), len(lines))
    kept = lines[:cut]
    quoted = False
    while kept and (not kept[-1] or kept[-1].startswith(">")):
        quoted |= kept.pop().startswith(">")
    if quoted and kept and kept[-1].endswith(":"):  # "On Monday Ann wrote:", perhaps broken in two
        while kept and kept[-1]:
            kept.pop()
    return "\n".join(kept).strip() or text.strip()


def strip_reply_prefix(subject: str) -> str:
    """Without Re: and the like."""
    return " ".join(_RETURN.sub("", subject).split())


class _TextExtractor(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said: list[str] = []
        self._hidden: list[str] = []  # the tags we are inside of and do not read
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        if tag in _HIDDEN or "gmail_quote" in (about.get("class") or "") or (self._hidden and tag not in _EMPTY):
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.said.append("\n- " if tag == "li" else "\n")
        elif tag == "a":
            self._link = about.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            if tag in self._hidden:
                del self._hidden[len(self._hidden) - 1 - self._hidden[::-1].index(tag) :]
        elif tag in _BLOCKS and tag != "li":
            self.said.append("\n")
        elif tag == "a" and self._link.startswith(("http://", "https://")):
            if self._link not in "".join(self.said[-2:]):
                self.said.append(f" ({self._link})")
            self._link = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.said.append(" ".join(data.split()) if data.strip() else " ")
            if data[-1:].isspace() and data.strip():
                self.said.append(" ")


def html_to_text(html: str) -> str:
    """What a browser would show of it, in plain lines, without quoted letters."""
    reader = _TextExtractor()
    reader.feed(html)
    reader.close()
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in "".join(reader.said).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
