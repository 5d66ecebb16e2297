"""Answers as chat messages: cut where a network cuts, and never so that code is left open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sojourn.core.attachments import Attachment
from sojourn.core.errors import SojournError
from sojourn.core.events import Failed
from sojourn.core.messages import Json
from sojourn.ports.platform import Counting
from sojourn.text.ansi import strip_control

_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)(.*)$")
_CLOSE_ROOM = 8  # what closing and opening a fence again may take, besides its own line
DUPLICATE_MARK = "↻ (perhaps for the second time)\n"  # before what may have been sent before


def measure_length(text: str, counting: Counting) -> int:
    """How long a text is, in what the network counts."""
    if counting == "utf16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass")) if counting == "bytes" else len(text)


def split_text(text: str, most: int, counting: Counting = "characters") -> list[str]:
    """Pieces of at most that size, cut between paragraphs, lines or words; an open fence is closed and opened again."""
    text = strip_control(text).strip()
    if measure_length(text, counting) <= most:
        return [text] if text else []
    pieces, now, fence = list[str](), list[str](), ""
    for line in _lines(text, most - 2 * _CLOSE_ROOM - 40, counting):
        marks = _FENCE.match(line)
        closing = f"\n{_marks(fence)}" if fence else ""
        if now and measure_length("\n".join([*now, line]) + closing, counting) > most - (_CLOSE_ROOM if marks else 0):
            kept, rest = _at_paragraph(now) if not fence else (now, [])
            pieces.append("\n".join(kept) + (f"\n{_marks(fence)}" if fence else ""))
            now = [fence, *rest] if fence else rest
        now.append(line)
        if marks:
            fence = "" if fence and _closes(fence, line) else (fence or line.strip()[:40])
    pieces.append("\n".join(now))
    return [piece.strip("\n") for piece in pieces if piece.strip()]


def _lines(text: str, most: int, counting: Counting) -> Iterator[str]:
    """The lines, those that are too long alone cut between words, or anywhere."""
    for line in text.split("\n"):
        while measure_length(line, counting) > most:
            end = _fits(line, most, counting)
            space = line.rfind(" ", end // 2, end)
            cut = space if space > 0 else end
            yield line[:cut]
            line = line[cut:].removeprefix(" ")
        yield line


def _fits(line: str, most: int, counting: Counting) -> int:
    """How many characters of a line fit; never half of one."""
    low, high = 1, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure_length(line[:middle], counting) <= most else (low, middle - 1)
    return low


def _at_paragraph(lines: list[str]) -> tuple[list[str], list[str]]:
    """Cut at the last empty line of the second half, if there is one."""
    for at in range(len(lines) - 1, len(lines) // 2, -1):
        if not lines[at].strip():
            return lines[:at], lines[at + 1 :]
    return lines, []


def _marks(fence: str) -> str:
    found = _FENCE.match(fence)
    return found[1] if found else "```"


def _closes(fence: str, line: str) -> bool:
    marks, found = _marks(fence), _FENCE.match(line)
    return found is not None and found[1].startswith(marks) and not found[2].strip()


def question_text(detail: Mapping[str, Json]) -> str:
    """What a turn asks before it goes on."""
    lines = [f"❓ {strip_control(str(detail.get('text', '')))}"]
    if what := strip_control(str(detail.get("detail", ""))).strip():
        lines += ["```", what[:1500], "```"]
    return "\n".join(lines)


def answers_text(detail: Mapping[str, Json], *, for_owner: bool) -> str:
    """The line below a question: how to answer it."""
    choices = [str(one) for one in detail.get("choices", ())]
    return f"Answer with: {', '.join(choices)}." if for_owner else "Only the owner can allow this."


_LABELS = {"once": "Allow once", "session": "Allow for this session", "always": "Always allow", "deny": "Deny"}


def choice_label(choice: str) -> str:
    """A choice, as it stands on a button."""
    return _LABELS.get(choice, choice)


def settled_text(detail: Mapping[str, Json]) -> str:
    """The line below a question that is over: what was chosen, by whom or why."""
    chosen, by, why = (strip_control(str(detail.get(name) or "")) for name in ("choice", "by", "why"))
    return f"→ {choice_label(chosen)}" + (f" ({by})" if by else "") + (f": {why}" if why else "")


_WORDS = {"yes": "once", "y": "once", "ok": "once", "allow": "once", "no": "deny", "n": "deny"}


def parse_choice(text: str, choices: tuple[str, ...]) -> str | None:
    """Which of the choices a person's words mean; None when they mean something else."""
    word = text.strip().strip(".!").lower().removeprefix("/")
    word = word if word in choices else _WORDS.get(word, word)
    return word if word in choices else None


def file_line(file: Attachment, why: str = "") -> str:
    """What is said where a file cannot be sent."""
    kind = f"{file.media_type}, {file.size:,} bytes" if file.size else file.media_type
    return (
        f"📎 {strip_control(file.name) or 'a file'} ({kind}) is in the session. {why or 'This network takes no files.'}"
    )


def failure_text(failed: Failed) -> str:
    return apology_text(failed.message, failed.hint)


def apology_text(what: str, hint: str = "") -> str:
    """What could not be done, and what to do now."""
    return f"✗ {what}\n{hint}".strip()


def error_text(error: SojournError) -> str:
    return apology_text(str(error), error.hint)
