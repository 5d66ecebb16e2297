"""Markdown renderer for chat networks: as HTML, or in the network's own markup. Other text stays as written."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

Delimiters = tuple[str, str]
NO_DELIMITERS: Delimiters = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupStyle:
    """The markup of a network: delimiters and renderers for each Markdown element."""

    escape: Callable[[str], str]
    schemes: tuple[str, ...]  # URL schemes that become links; others are written out
    strong: Delimiters
    em: Delimiters
    strike: Delimiters
    code: Callable[[str], str]
    fence: Callable[[str, str], str]  # the lines, and their language
    link: Callable[[str, str], str]  # the label, ready to be sent, and the address
    quote: Callable[[str], str]


def _build_parser() -> MarkdownIt:
    """Builds the parser. Raw HTML stays text, and so does a line like "[1]: https://…", which CommonMark would drop
    as a reference definition."""
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"])
    return parser.disable("reference")


def escape_html(text: str) -> str:
    """Escapes &, < and >, as networks with a subset of HTML require."""
    return html.escape(text, quote=False)


def render_html(text: str) -> str:
    """Renders HTML for networks that show all of it; empty if there is no formatting."""
    shown = _build_parser().render(text).strip()
    inner = shown.removeprefix("<p>").removesuffix("</p>")
    return "" if "<" not in inner else shown


def render(text: str, marks: MarkupStyle) -> str:
    """Renders in a network's own markup or subset of HTML."""
    parser = _build_parser()
    written = _Renderer(text.splitlines(), marks).blocks(SyntaxTreeNode(parser.parse(text)).children)
    return written if written.strip() else marks.escape(text)


@dataclass(frozen=True, slots=True)
class _Renderer:
    lines: list[str]
    marks: MarkupStyle

    def blocks(self, nodes: Iterable[SyntaxTreeNode], between: str = "\n\n") -> str:
        return between.join(written for node in nodes if (written := self.block(node)))

    def block(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "paragraph" | "inline":
                return self.inline(node.children)
            case "heading":
                return self._around(self.marks.strong, self._bold().inline(node.children))
            case "fence" | "code_block":
                return self.marks.fence(node.content.removesuffix("\n"), (node.info.split() or [""])[0])
            case "blockquote":  # nested quotes are flattened: no network here supports them
                inner = replace(self, marks=replace(self.marks, quote=lambda said: said))
                return self.marks.quote(inner.blocks(node.children))
            case "bullet_list":
                return self._list(node, ("•" for _ in node.children))
            case "ordered_list":
                first = int(node.attrs.get("start", 1))
                return self._list(node, (f"{n}." for n in range(first, first + len(node.children))))
            case "hr":
                return "———"
            case "table" if node.map:  # columns align only in a monospaced font
                return self.marks.fence("\n".join(self.lines[slice(*node.map)]), "")
            case _:
                return self.blocks(node.children) if node.children else self.marks.escape(node.content)

    def _list(self, node: SyntaxTreeNode, signs: Iterable[str]) -> str:
        items = []
        for sign, item in zip(signs, node.children, strict=False):
            said = self.blocks(item.children, between="\n").replace("\n", "\n" + " " * (len(sign) + 1))
            items.append(f"{sign} {said}")
        return "\n".join(items)

    def inline(self, nodes: Iterable[SyntaxTreeNode]) -> str:
        return "".join(self._word(node) for node in nodes)

    def _word(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "inline":
                return self.inline(node.children)
            case "softbreak" | "hardbreak":
                return "\n"
            case "code_inline":
                return self.marks.code(node.content)
            case "strong":
                return self._around(self.marks.strong, self._bold().inline(node.children))
            case "em":
                return self._around(self.marks.em, self.inline(node.children))
            case "s":
                return self._around(self.marks.strike, self.inline(node.children))
            case "link":
                return self._link(self.inline(node.children), str(node.attrs["href"]))
            case "image":
                return self._link(self.marks.escape(node.content), str(node.attrs["src"]))
            case _:
                return self.marks.escape(node.content)

    def _link(self, label: str, address: str) -> str:
        label = label if label.strip() else self.marks.escape(address)
        if urlsplit(address).scheme not in self.marks.schemes:
            return f"{label} ({self.marks.escape(address)})"
        return self.marks.link(label, address)

    def _bold(self) -> _Renderer:
        """Returns a renderer for text that is bold already."""
        return replace(self, marks=replace(self.marks, strong=NO_DELIMITERS))

    @staticmethod
    def _around(signs: Delimiters, said: str) -> str:
        return f"{signs[0]}{said}{signs[1]}" if said.strip() else said
