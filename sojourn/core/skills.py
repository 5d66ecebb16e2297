"""Skills: a folder with a `SKILL.md`, whose head says what it is for and whose body says how it is done.

    ---
    name: release-notes
    description: Writes release notes from the commits since the last tag.
    ---
    1. Find the last tag …

The head is the part of YAML that such files use: `key: value`, quotes, `>` and `|` blocks, lines that go
on when they are indented. Keys we do not know are passed over. No file is opened here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.core.errors import BadInput

MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_NAME = re.compile(r"[^\s/\\\x00-\x1f][^/\\\x00-\x1f]*")
_HINT = "It begins with ---, then `name:` and `description:`, then --- and the instructions."


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One skill. `body` is what to do, `path` the SKILL.md it was read from."""

    name: str
    description: str
    body: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillProblem:
    """A SKILL.md that is there but cannot be used, and why."""

    path: str
    why: str


def parse_skill(text: str, where: str = "") -> Skill:
    """The skill a SKILL.md describes; `where` is its path. Without `name:` its folder names it. BadInput."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    marks = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(marks) < 2 or any(line.strip() for line in lines[: marks[0]]):
        raise BadInput(f"{where or 'This skill'} has no head between two lines of ---.", hint=_HINT)
    head = _head(lines[marks[0] + 1 : marks[1]])
    name = head.get("name", "") or _folder(where)
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise BadInput(
            f"{where or 'This skill'} has no usable name: {name[:80]!r}.",
            hint=f"`name:` has up to {MAX_NAME_CHARS} characters and no slash.",
        )
    description = " ".join(head.get("description", "").split())
    if not description:
        raise BadInput(f"{where or name} has no description.", hint="Say in `description:` when the skill is of use.")
    return Skill(
        name=name,
        description=description[:MAX_DESCRIPTION_CHARS],
        body="\n".join(lines[marks[1] + 1 :]).strip(),
        path=where,
    )


def _folder(where: str) -> str:
    steps = where.replace("\\", "/").split("/")
    return steps[-2] if len(steps) > 1 else ""


def _head(lines: list[str]) -> Mapping[str, str]:
    """The keys at the left edge; each takes the indented lines that follow it."""
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        hit = _KEY.match(lines[at].rstrip())
        at += 1
        if hit is None:
            continue
        more: list[str] = []
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t"):
            more.append(lines[at])
            at += 1
        found.setdefault(hit[1].lower(), _value((hit[2] or "").strip(), more))
    return found


def _value(first: str, more: list[str]) -> str:
    if re.fullmatch(r"[>|][+-]?\d?", first):
        inner = [line.strip() for line in more]
        return (" " if first[0] == ">" else "\n").join(inner).strip()
    whole = " ".join([first, *(line.strip() for line in more)]).strip()
    if len(whole) > 1 and whole[0] == whole[-1] == "'":
        return whole[1:-1].replace("''", "'")
    if len(whole) > 1 and whole[0] == whole[-1] == '"':
        try:
            return str(json.loads(whole))
        except ValueError:
            return whole[1:-1]
    return re.split(r"\s#", whole)[0].strip()
