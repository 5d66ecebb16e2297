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


def escape_markdown(text: str, marks: str) -> str:
    """Puts a backslash before every character that means something in a network's Markdown."""
    return text.translate({ord(one): f"\\{one}" for one in marks})


def split_fences(text: str) -> str:
    """Puts an invisible space into every fence, for networks whose code blocks end at the first one."""
    return text.replace("```", "`\u200b`\u200b`")


def render_html(text: str) -> str:
    """Renders HTML for networks that show all of it; empty if there is no formatting."""
    html_text = _build_parser().render(text).strip()
    inner = html_text.removeprefix("<p>").removesuffix("</p>")
    return "" if "<" not in inner else html_text


def render(text: str, style: MarkupStyle) -> str:
    """Renders in a network's own markup or subset of HTML."""
    parser = _build_parser()
    output = _Renderer(text.splitlines(), style).render_blocks(SyntaxTreeNode(parser.parse(text)).children)
    return output if output.strip() else style.escape(text)


def render_plain(text: str) -> str:
    """Renders without markup, for networks that have none. Addresses of links are written out."""
    return render(text, _PLAIN_STYLE)


_PLAIN_STYLE = MarkupStyle(
    escape=lambda text: text,
    schemes=("http", "https", "mailto", "tel"),
    strong=NO_DELIMITERS,
    em=NO_DELIMITERS,
    strike=NO_DELIMITERS,
    code=lambda text: text,
    fence=lambda text, _: text,
    link=lambda label, address: write_link(label, address),
    quote=lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
)


# One mark for each, as Slack, WhatsApp and XMPP have them.
STAR_STYLE = replace(
    _PLAIN_STYLE,
    strong=("*", "*"),
    em=("_", "_"),
    strike=("~", "~"),
    code=lambda text: f"`{text}`",
    fence=lambda text, _: f"```\n{split_fences(text)}\n```",
)


def write_link(label: str, address: str) -> str:
    """A link for networks without labels: the address, after a label that says something else."""
    return address if label in (address, address.partition(":")[2]) else f"{label}: {address}"


@dataclass(frozen=True, slots=True)
class _Renderer:
    lines: list[str]
    style: MarkupStyle

    def render_blocks(self, nodes: Iterable[SyntaxTreeNode], between: str = "\n\n") -> str:
        return between.join(output for node in nodes if (output := self.render_block(node)))

    def render_block(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "paragraph" | "inline":
                return self.render_inline_nodes(node.children)
            case "heading":
                return self._wrap(self.style.strong, self._as_bold().render_inline_nodes(node.children))
            case "fence" | "code_block":
                return self.style.fence(node.content.removesuffix("\n"), (node.info.split() or [""])[0])
            case "blockquote":  # nested quotes are flattened: no network here supports them
                inner = replace(self, style=replace(self.style, quote=lambda text: text))
                return self.style.quote(inner.render_blocks(node.children))
            case "bullet_list":
                return self._render_list(node, ("•" for _ in node.children))
            case "ordered_list":
                first = int(node.attrs.get("start", 1))
                return self._render_list(node, (f"{n}." for n in range(first, first + len(node.children))))
            case "hr":
                return "———"
            case "table" if node.map:  # columns align only in a monospaced font
                return self.style.fence("\n".join(self.lines[slice(*node.map)]), "")
            case _:
                return self.render_blocks(node.children) if node.children else self.style.escape(node.content)

    def _render_list(self, node: SyntaxTreeNode, markers: Iterable[str]) -> str:
        items = []
        for marker, item in zip(markers, node.children, strict=False):
            text = self.render_blocks(item.children, between="\n").replace("\n", "\n" + " " * (len(marker) + 1))
            items.append(f"{marker} {text}")
        return "\n".join(items)

    def render_inline_nodes(self, nodes: Iterable[SyntaxTreeNode]) -> str:
        return "".join(self._render_inline(node) for node in nodes)

    def _render_inline(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "inline":
                return self.render_inline_nodes(node.children)
            case "softbreak" | "hardbreak":
                return "\n"
            case "code_inline":
                return self.style.code(node.content)
            case "strong":
                return self._wrap(self.style.strong, self._as_bold().render_inline_nodes(node.children))
            case "em":
                return self._wrap(self.style.em, self.render_inline_nodes(node.children))
            case "s":
                return self._wrap(self.style.strike, self.render_inline_nodes(node.children))
            case "link":
                return self._render_link(self.render_inline_nodes(node.children), str(node.attrs["href"]))
            case "image":
                return self._render_link(self.style.escape(node.content), str(node.attrs["src"]))
            case _:
                return self.style.escape(node.content)

    def _render_link(self, label: str, address: str) -> str:
        label = label if label.strip() else self.style.escape(address)
        if urlsplit(address).scheme not in self.style.schemes:
            return f"{label} ({self.style.escape(address)})"
        return self.style.link(label, address)

    def _as_bold(self) -> _Renderer:
        """Returns a renderer for text that is bold already."""
        return replace(self, style=replace(self.style, strong=NO_DELIMITERS))

    @staticmethod
    def _wrap(markers: Delimiters, text: str) -> str:
        return f"{markers[0]}{text}{markers[1]}" if text.strip() else text
