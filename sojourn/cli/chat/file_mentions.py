"""File mentions: `@path` in a message names a file that goes along."""

from __future__ import annotations

import re
from pathlib import Path

_MENTION = re.compile(r'(?:^|(?<=\s))@(?:"([^"\n]+)"|(\S+))')
_OPEN = re.compile(r"(?:^|\s)@(\S*)$")


def find_open_mention(text: str) -> str | None:
    """The beginning of the path that is typed at the end of a text; None if none is."""
    found = _OPEN.search(text)
    return found[1] if found else None


def find_mentioned_files(text: str, folder: str) -> list[Path]:
    """The files that a message mentions and that are there. A mention that names none stays a word."""
    found: list[Path] = []
    for quoted, plain in _MENTION.findall(text):
        for name in (quoted or plain, (quoted or plain).rstrip(".,;:!?)")):
            path = Path(folder or ".") / Path(name).expanduser()
            if path.is_file():
                found.append(path)
                break
    return list(dict.fromkeys(found))
