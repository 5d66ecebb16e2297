"""Project notes: AGENTS.md and CLAUDE.md of the folder that a session works in, as context of its turns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from sojourn.context.budget import to_contribution
from sojourn.core.sessions import OWNER
from sojourn.ports.app import HasSettings
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage

FILE_NAMES = ("AGENTS.md", "CLAUDE.md")  # the first that is there counts
MAX_FILE_BYTES = 32 * 1024
_MAX_FOLDERS = 8  # looked at, from the folder upwards


class ProjectNotesSource:
    """Reads the notes of the session's folder and of those above it, up to the root of the repository. The owner's
    sessions only: a guest works in a folder of their own."""

    name = "project_notes"
    stage: Stage = "memory"

    def __init__(self, app: HasSettings) -> None:
        self._outside = (app.settings.home, app.settings.user_home)

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        session = request.session
        if session.principal != OWNER or not session.cwd:
            return ContextContribution()
        found = await asyncio.to_thread(lambda: list(read_project_notes(Path(session.cwd or ""), *self._outside)))
        blocks = [
            ContextBlock(
                kind="note",
                title=f"{path.name} of {path.parent.name or path.parent}",
                text=text,
                origin=str(path),
                reason="it lies in the folder that this session works in",
                origins=("foreign",),  # a repository may be anybody's
            )
            for path, text in found
        ]
        return to_contribution(blocks, request.budget)


def read_project_notes(folder: Path, home: Path, user_home: Path) -> Iterator[tuple[Path, str]]:
    """The notes, the outermost first. Links and our own home are passed over; a long file is cut."""
    folders = list(_list_folders(folder, home, user_home))
    for place in reversed(folders):
        for name in FILE_NAMES:
            if (text := _read_file(place / name)) is not None:
                yield place / name, text
                break


def _list_folders(folder: Path, home: Path, user_home: Path) -> Iterator[Path]:
    for place in [folder, *folder.parents][:_MAX_FOLDERS]:
        if place in (home, user_home) or home in place.parents:
            return
        yield place
        if (place / ".git").exists():
            return


def _read_file(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    text = data[:MAX_FILE_BYTES].decode("utf-8", "replace").strip()
    return f"{text}\n[… the rest is left out]" if len(data) > MAX_FILE_BYTES else text or None
