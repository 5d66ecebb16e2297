"""Rendering of chat messages: splits long texts without breaking code blocks, and builds the gateway's own texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sojourn.core.attachments import Attachment
from sojourn.core.messages import Json
from sojourn.ports.platform import Counting, PlatformInfo
from sojourn.ports.tool import Covers
from sojourn.text.ansi import strip_control
from sojourn.text.mentions import neutralize_mentions

_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)(.*)$")
_FENCE_ROOM = 8  # characters that closing and reopening a fence may take, besides its own line
_FENCE_CHARS = 40  # of a fence's line that are repeated
DUPLICATE_MARK = "↻ (possibly sent twice)\n"  # in front of a message that may have been sent before


def measure_length(text: str, counting: Counting) -> int:
    """The length of a text in the unit the network counts."""
    if counting == "utf16":
        return len(text.encode("utf-16-le", "surrogatepass")) // 2
    return len(text.encode("utf-8", "surrogatepass")) if counting == "bytes" else len(text)


def without_calls(text: str, info: PlatformInfo) -> str:
    """A text that calls nobody together (@all), and is not longer for the network."""
    return neutralize_mentions(text, "") if info.counting == "bytes" else neutralize_mentions(text)


def split_text(text: str, max_length: int, counting: Counting = "characters") -> list[str]:
    """Splits a text between paragraphs, lines or words; an open code fence is closed and reopened."""
    text = strip_control(text).strip()
    if measure_length(text, counting) <= max_length:
        return [text] if text else []
    pieces, current, fence = list[str](), list[str](), ""
    for line in _iter_lines(text, max_length - 2 * _FENCE_ROOM - _FENCE_CHARS, counting):
        is_fence = _FENCE.match(line) is not None
        closing = f"\n{_fence_marks(fence)}" if fence else ""
        room = max_length - (_FENCE_ROOM if is_fence else 0)
        if current and measure_length("\n".join([*current, line]) + closing, counting) > room:
            head, tail = _split_at_paragraph(current) if not fence else (current, [])
            pieces.append("\n".join(head) + closing)
            current = [fence, *tail] if fence else tail
        current.append(line)
        if is_fence:
            fence = "" if fence and _is_closing(fence, line) else (fence or line.strip()[:_FENCE_CHARS])
    pieces.append("\n".join(current))
    return [piece.strip("\n") for piece in pieces if piece.strip()]


def split_messages(text: str, info: PlatformInfo, *, reserve: int = 0) -> list[str]:
    """Splits a text for a network; each message has room for the mark of a duplicate, and for `reserve` more."""
    room = info.max_chars - measure_length(DUPLICATE_MARK, info.counting) - reserve
    return split_text(text, room, info.counting)


def _iter_lines(text: str, max_length: int, counting: Counting) -> Iterator[str]:
    """The lines; a line that is too long is split between words, or anywhere."""
    for line in text.split("\n"):
        while measure_length(line, counting) > max_length:
            end = _count_fitting(line, max_length, counting)
            space = line.rfind(" ", end // 2, end)
            end = space if space > 0 else end
            yield line[:end]
            line = line[end:].removeprefix(" ")
        yield line


def _count_fitting(line: str, max_length: int, counting: Counting) -> int:
    """The number of whole characters of a line that fit."""
    low, high = 1, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure_length(line[:middle], counting) <= max_length else (low, middle - 1)
    return low


def _split_at_paragraph(lines: list[str]) -> tuple[list[str], list[str]]:
    """Splits at the last empty line of the second half, if there is one."""
    for at in range(len(lines) - 1, len(lines) // 2, -1):
        if not lines[at].strip():
            return lines[:at], lines[at + 1 :]
    return lines, []


def _fence_marks(fence: str) -> str:
    match = _FENCE.match(fence)
    return match[1] if match else "```"


def _is_closing(fence: str, line: str) -> bool:
    match = _FENCE.match(line)
    return match is not None and match[1].startswith(_fence_marks(fence)) and not match[2].strip()


def answers_text(choices: Sequence[str], *, for_owner: bool, code: str = "") -> str:
    """The line below an open question: how to answer it."""
    words = ", ".join(f"{one} {code}".strip() for one in choices)
    return f"Answer with: {words}." if for_owner else "Only the owner can allow this."


_LABELS = {"once": "Allow once", "session": "Allow for this session", "always": "Always allow", "deny": "Deny"}


def choice_label(choice: str) -> str:
    """The label of a choice's button."""
    return _LABELS.get(choice, choice)


def settled_text(detail: Mapping[str, Json]) -> str:
    """The line below a settled question: the choice, and who made it or why."""
    choice, by, why = (strip_control(str(detail.get(name) or "")) for name in ("choice", "by", "why"))
    return f"→ {choice_label(choice)}" + (f" ({by})" if by else "") + (f": {why}" if why else "")


_SYNONYMS = {"yes": "once", "y": "once", "ok": "once", "allow": "once", "no": "deny", "n": "deny"}


def parse_choice(text: str, tool: str = "") -> tuple[str, Covers | None] | None:
    """The answer a text means, offered or not; None if it means something else. `always <tool>` covers the tool."""
    word, _, what = text.strip().strip(".!").lower().removeprefix("/").partition(" ")
    word = _SYNONYMS.get(word, word)
    if word not in _LABELS or (what and (what != tool.lower() or word not in ("session", "always"))):
        return None
    return word, "tool" if what else None


def file_line(file: Attachment, reason: str = "") -> str:
    """The text that is sent instead of a file."""
    kind = f"{file.media_type}, {file.size:,} bytes" if file.size else file.media_type
    name = strip_control(file.name) or "a file"
    return f"📎 {name} ({kind}) is in the session. {reason or 'This network does not accept files.'}"


def problem_text(problem: str, hint: str = "") -> str:
    """A problem, and what to do about it."""
    return f"✗ {problem}\n{hint}".strip()
