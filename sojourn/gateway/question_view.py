"""A question as a chat may show it: exactly or not at all, and only the answers that fit what is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.core.messages import Json
from sojourn.text.ansi import strip_control
from sojourn.text.exact import hash_text, reveal

_MAX_CHARS = 1500  # of the exact text, spread over messages where a network has shorter ones
_BACKTICKS = re.compile("`{3,}")
_REDACTED = (
    "Part of it is blacked out, because it looks like a secret and would stay on this network. "
    "Deny it here, or answer in the terminal or the dashboard, which show all of it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question in a chat. `limit` says why fewer answers are offered; `whole` is the exact text if it was cut."""

    text: str
    choices: tuple[str, ...]
    limit: str = ""
    whole: str = ""


def build_view(detail: Mapping[str, Json]) -> QuestionView:
    """The view of a question from the detail of its event, which is redacted; its hash tells whether anything was."""
    exact, choices = str(detail.get("detail", "")), tuple(map(str, detail.get("choices", ())))
    limit = whole = ""
    shown = reveal(exact)
    if exact and hash_text(exact) != detail.get("sha256"):
        choices, limit = _keep(choices, "deny"), _REDACTED
    if (missing := len(shown) - _MAX_CHARS) > 0:
        shown, whole = shown[:_MAX_CHARS], "" if limit else exact
        choices = _keep(choices, "once", "deny")
        limit = f"{missing:,} more characters are not shown here. {limit or 'It can be allowed once, or denied.'}"
    lines = [f"❓ {strip_control(str(detail.get('text', '')))}"]
    if shown.strip():
        fence = "`" * max((len(run) + 1 for run in _BACKTICKS.findall(shown)), default=3)
        lines += [fence, shown.strip("\n"), fence]
    return QuestionView(text="\n".join([*lines, *filter(None, [limit])]), choices=choices, limit=limit, whole=whole)


def _keep(choices: tuple[str, ...], *words: str) -> tuple[str, ...]:
    return tuple(one for one in choices if one in words)
