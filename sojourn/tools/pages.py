"""The readable text of a web page, with its links, by the standard library alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas"})
_BLOCKS = re.compile(
    r"p|div|section|article|main|header|footer|aside|nav|[uod]l|d[td]|table|thead|tbody|tr|pre|blockquote|form|li|hr|br"
    r"|fieldset|figure|figcaption|h[1-6]|address|details|summary|option"
)
_APART = re.compile(r"p|pre|table|[uo]l|blockquote|h[1-6]")


class _Page(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = base
        self.parts: list[str] = []
        self.title = ""
        self._silent: list[str] = []
        self._in_title = False
        self._pre = 0
        self._links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        if tag in _SILENT:
            self._silent.append(tag)
        if self._silent:
            return
        given = dict(attrs)
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n\n" if _APART.fullmatch(tag) else "\n")
        if re.fullmatch(r"h[1-6]", tag):
            self.parts.append("#" * int(tag[1]) + " ")
        elif tag == "li":
            self.parts.append("- ")
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag == "pre":
            self._pre += 1
        elif tag == "img" and given.get("alt"):
            self.parts.append(f"[picture: {given['alt']}]")
        elif tag == "a":
            self._links.append((given.get("href") or "", len(self.parts)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
            return
        if self._silent:
            return
        if tag == "pre":
            self._pre = max(0, self._pre - 1)
        if tag == "a" and self._links:
            href, start = self._links.pop()
            if "".join(self.parts[start:]).strip() and not href.startswith(("#", "javascript:", "data:")) and href:
                self.parts.append(f" ({_joined(self.base, href)})")
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self.parts.append(data if self._pre else re.sub(r"\s+", " ", data))


def _joined(base: str, href: str) -> str:
    try:
        return urljoin(base, href)
    except ValueError:
        return href


def readable(html: str, base: str = "") -> str:
    """What a person would read: headings, paragraphs, lists, tables and links."""
    page = _Page(base)
    page.feed(html)
    page.close()
    lines = [line.rstrip() if line.startswith("    ") else line.strip() for line in "".join(page.parts).split("\n")]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    title = " ".join(page.title.split())
    return f"{title}\n\n{body}" if title and not body.startswith(f"# {title}") else body or title
