"""`/undo files`: gives files that the last turn changed what they held before."""

from __future__ import annotations

import asyncio

from sojourn.chat_command_table import CommandOutput
from sojourn.core.errors import SojournError
from sojourn.core.sessions import SessionId
from sojourn.ports.app import PluginContext
from sojourn.ports.service import Caller
from sojourn.text.formatting import pluralize
from sojourn.tools.file_checkpoints import FileCheckpoint, FileCheckpoints, hash_content
from sojourn.tools.file_drafts import FileLocks, read_before
from sojourn.tools.safe_open import remove_file_at, write_file_at
from sojourn.turn_support.lasting_approvals import require_owner

_LIMIT = "What commands changed is not undone: only write_file and patch keep what was there before."


async def run_undo(app: PluginContext, session: SessionId, arguments: str, by: Caller) -> CommandOutput:
    """Undoes the file changes of the newest turn that has some. What somebody else changed since stays."""
    require_owner(by)
    checkpoints = app.shared(FileCheckpoints)
    found = await asyncio.to_thread(checkpoints.find_last, session)
    if found is None:
        return CommandOutput(lines=("No file was changed by write_file or patch that could be given back.", _LIMIT))
    turn, files = found
    locks, undone, refused = app.shared(FileLocks), list[str](), dict[str, FileCheckpoint]()
    for one in files:
        async with locks.lock(one.place):
            content = await asyncio.to_thread(checkpoints.read_content, session, turn, one)
            problem = await asyncio.to_thread(_restore, one, content)
        if problem:
            refused[f"{one.place.shown} {problem}"] = one
        else:
            undone.append(one.place.shown if one.before else f"{one.place.shown} (removed: it was new)")
    left = await asyncio.to_thread(checkpoints.settle, session, turn, refused.values())
    lines = (
        [f"Gave back {pluralize(len(undone), 'file')} as before turn {turn}: {', '.join(undone)}."] if undone else []
    )
    lines += [f"Left as it is: {words}." for words in refused]
    if left is not None:
        lines.append(f"What these held before is in {left} until the room is needed.")
    return CommandOutput(lines=(*lines, _LIMIT))


def _restore(one: FileCheckpoint, content: bytes | None) -> str:
    """Gives one file back; returns why not."""
    if one.is_mixed:
        return "was changed by somebody else during the turn"
    try:
        now = hash_content(read_before(one.place))
        if now == one.before:
            return ""
        if now != one.after:
            return "was changed by somebody else since"
        if content is None:
            remove_file_at(one.place)
        else:
            write_file_at(one.place, content, mode=one.mode)
    except (SojournError, OSError) as error:
        return f"cannot be written: {error}"
    return ""
