"""Mining cache: one file with what mining found last time, so that only what changed is read again.

The file is a convenience: without it, or if it is torn, everything is simply read once more.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from sojourn.core.errors import StoreUnavailable
from sojourn.templates.files import replace_file
from sojourn.templates.miner import Known
from sojourn.templates.session_shape import VERSION, Digest
from sojourn.templates.tool_calls import json_of

FOLDER = "cache"


def locate_cache(home: Path, history: str) -> Path:
    """The cache file of a history; `history` is its address."""
    short = hashlib.blake2b(history.encode(), digest_size=6).hexdigest()
    return home / FOLDER / f"templates-{short}.json"


def load_cache(file: Path) -> Known:
    """What is known; nothing, when the file is not there, not whole, or of another version."""
    try:
        data: Any = json_of(file.read_bytes())
        if data["version"] != VERSION:
            return {}
        steps: list[str] = data["steps"]
        return {
            session: (mark, Digest(tuple(steps[at] for at in kinds), tuple(places)))
            for session, (mark, kinds, places) in data["sessions"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return {}


def save_cache(file: Path, known: Known) -> None:
    """Keeps it for next time. A disk that is full costs time later and nothing else."""
    numbers: dict[str, int] = {}
    sessions = {
        session: [mark, [numbers.setdefault(step, len(numbers)) for step in found.steps], found.places]
        for session, (mark, found) in known.items()
    }
    text = to_json({"version": VERSION, "sessions": sessions, "steps": list(numbers)})
    with suppress(StoreUnavailable):
        replace_file(file, text)


def clear_cache(home: Path) -> list[Path]:
    """Deletes the caches of all histories; returns their files."""
    found = sorted((home / FOLDER).glob("templates-*.json"))
    for file in found:
        file.unlink(missing_ok=True)
    return found
