"""Changes a text by search and replace, or by a unified diff. Pure: texts in, texts out, and errors a model can use.

Line ends are the file's own: what a model writes with \\n fits a file with \\r\\n.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.errors import BadInput

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NOWHERE = "/dev/null"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines to find (`old`) and what stands there afterwards (`new`). `at` is where they were seen, from 1."""

    at: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    ends_open: bool = False  # the new text has no line break at its very end


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The hunks for one file. Without `source` it is new, without `target` it goes."""

    source: str
    target: str
    hunks: list[Hunk]


def replace_text(text: str, old: str, new: str, *, everywhere: bool = False) -> str:
    """Replaces `old` in a text. BadInput unless it is there exactly once (or `everywhere`)."""
    if not old:
        raise BadInput("`old` is empty.", hint="Give the text to replace; to make a file use write_file.")
    if old == new:
        raise BadInput("`old` and `new` are the same.", hint="Nothing would change.")
    end = line_end(text)
    old, new = _convert_line_ends(end, old), _convert_line_ends(end, new)
    count = text.count(old)
    if count == 0:
        raise BadInput(
            f"`old` is not in the file. {_describe_nearest(text, old)}", hint="Copy it exactly, with its spaces."
        )
    if count > 1 and not everywhere:
        at = [str(text.count("\n", 0, hit.start()) + 1) for hit in re.finditer(re.escape(old), text)]
        raise BadInput(
            f"`old` is in the file {count} times, at lines {', '.join(at[:10])}.",
            hint="Take more lines around it, or set all=true.",
        )
    return text.replace(old, new)


def line_end(text: str) -> str:
    """Returns the line end that most lines have."""
    pairs = text.count("\r\n")
    return "\r\n" if pairs * 2 > text.count("\n") else "\n"


def _convert_line_ends(end: str, text: str) -> str:
    return text if end == "\n" else text.replace("\r\n", "\n").replace("\n", end)


def _describe_nearest(text: str, old: str) -> str:
    lines, wanted = text.splitlines(), old.strip("\r\n").splitlines()
    if not wanted or len(lines) > 20_000:
        return ""
    close = difflib.get_close_matches(wanted[0], lines, n=1, cutoff=0.6)
    if not close:
        return "No line looks like its first one."
    number = lines.index(close[0])
    seen = "\n".join(lines[number : number + len(wanted[:5])])
    return f"Nearest is line {number + 1}:\n{seen}\n"


def parse_diff(diff: str) -> list[FileChange]:
    """Parses the changes of a unified diff. BadInput names the line that cannot be read."""
    lines = diff.replace("\r\n", "\n").split("\n")
    changes: list[FileChange] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            changes.append(FileChange(source=_parse_name(line), target=_parse_name(lines[at + 1]), hunks=[]))
            at += 2
        elif hit := _HUNK.match(line):
            if not changes:  # the call names the file
                changes.append(FileChange(source="", target="", hunks=[]))
            hunk, at = _read_hunk(lines, at + 1, hit)
            changes[-1].hunks.append(hunk)
        elif line.startswith("@@"):
            raise BadInput(f"Line {at + 1} of the diff is not a hunk: {line[:80]!r}.", hint="@@ -1,3 +1,4 @@ is one.")
        else:
            at += 1
    changes = [one for one in changes if one.hunks or not one.source or not one.target]  # an empty file has no hunks
    if not changes:
        raise BadInput("There is no change in the diff.", hint="It needs ---, +++ and @@ lines.")
    return changes


def _parse_name(line: str) -> str:
    """Parses the file of a --- or +++ line; empty for /dev/null."""
    name = line[4:].split("\t")[0].strip()
    if name == NOWHERE:
        return ""
    return name[2:] if name.startswith(("a/", "b/")) else name


def _read_hunk(lines: list[str], at: int, head: re.Match[str]) -> tuple[Hunk, int]:
    old: list[str] = []
    new: list[str] = []
    ends_open = False
    begun = at
    want_old, want_new = int(head[2] or 1), int(head[4] or 1)
    while at < len(lines):
        mark, rest = lines[at][:1], lines[at][1:]
        if mark == "\\":
            ends_open = bool(at > begun and lines[at - 1][:1] in "+ ")
        elif (len(old) >= want_old and len(new) >= want_new) or mark not in ("+", "-", " ", ""):
            break
        elif mark == "" and at == len(lines) - 1:
            break  # the line break at the end of the diff
        else:
            if mark != "+":
                old.append(rest)
            if mark != "-":
                new.append(rest)
        at += 1
    if not old and not new:
        raise BadInput(f"The hunk {head[0]!r} is empty.", hint="Lines begin with a space, + or -.")
    return Hunk(at=int(head[1]), old=tuple(old), new=tuple(new), ends_open=ends_open), at


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """Applies hunks to a text. Each is found by its lines; its number only decides between several places."""
    end = line_end(text)
    lines = text.split("\n")
    closed = lines[-1] == ""
    lines = [line.removesuffix("\r") if end == "\r\n" else line for line in (lines[:-1] if closed else lines)]
    if text == "":
        lines, closed = [], True
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        at = _locate_hunk(lines, hunk, hunk.at - 1 + shift, number)
        lines[at : at + len(hunk.old)] = hunk.new
        shift += len(hunk.new) - len(hunk.old)
        if at + len(hunk.new) == len(lines):
            closed = not hunk.ends_open
    return end.join(lines) + (end if closed and lines else "")


def _locate_hunk(lines: list[str], hunk: Hunk, near: int, number: int) -> int:
    wanted = list(hunk.old)
    if not wanted:
        return max(0, min(near + 1, len(lines)))
    spots = [at for at in range(len(lines) - len(wanted) + 1) if lines[at : at + len(wanted)] == wanted]
    if not spots:
        bare = [line.rstrip() for line in wanted]
        spots = [
            at
            for at in range(len(lines) - len(wanted) + 1)
            if lines[at].rstrip() == bare[0] and [line.rstrip() for line in lines[at : at + len(wanted)]] == bare
        ]
    if not spots:
        seen = "\n".join(lines[max(0, near) : max(0, near) + len(wanted)])[:400]
        raise BadInput(
            f"Hunk {number} does not fit: its lines are not in the file. At line {near + 1} there is:\n{seen}",
            hint="Read the file again and take its lines exactly.",
        )
    return min(spots, key=lambda at: abs(at - near))
