"""How sources and roles look. Every sign is one column wide."""

from __future__ import annotations

from rich.text import Text

from sojourn.cli.formatting import one_line
from sojourn.core.sessions import Session

_SOURCES = {
    "hermes": ("☤", "yellow"),
    "claude-code": ("✻", "bright_red"),
    "codex": ("◆", "bright_green"),
    "opencode": ("▣", "bright_blue"),
    "cli": ("❯", "cyan"),
    "telegram": ("➤", "bright_blue"),
    "discord": ("◉", "magenta"),
    "slack": ("#", "magenta"),
    "web": ("◍", "cyan"),
    "api": ("◍", "cyan"),
    "sample": ("✿", "green"),
}
_ROLES = {
    "user": ("❯ you", "bold cyan"),
    "assistant": ("● agent", "bold green"),
    "system": ("§ system", "yellow"),
    "tool": ("▸ tool", "magenta"),
    "title": ("◈ title", "bold yellow"),
}
HIT_STYLE = "bold black on yellow"


def format_source(name: str) -> Text:
    icon, color = _SOURCES.get(name, ("•", "white"))
    return Text(f"{icon} {one_line(name)}", style=color)


def format_role(name: str) -> Text:
    label, style = _ROLES.get(name, (f"· {one_line(name)}", "dim"))
    return Text(label, style=style)


def format_title(session: Session) -> Text:
    """The title, or the opening words of a session that has none."""
    if session.title:
        return Text(one_line(session.title), style="bold")
    return Text(one_line(session.preview, 80) or "(empty)", style="italic")
