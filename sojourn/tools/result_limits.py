"""Result limits: makes a result readable, without secrets, and not longer than allowed.

What does not fit is stored whole (redacted too) in `<home>/outputs/<session>/`, where `read_file` may read it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.ports.app import HasSettings
from sojourn.ports.tool import ToolResult, Workspace
from sojourn.processes.limited_worker import INLINE_BYTES, LimitExceeded, run_limited
from sojourn.text.ansi import strip_control
from sojourn.text.redaction import INLINE_CHARS, redact

MAX_KEPT_RESULTS = 40  # whole results kept per session
_CLEAN_SECONDS, _CLEAN_MEMORY_BYTES = 60.0, 1_000_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")


async def limit_result(result: ToolResult, at: Workspace, home: Path, facts: Mapping[str, Json]) -> ToolResult:
    """Returns the result, cleaned and truncated; `facts` are added to its own."""
    whole = result.text
    text = _clean(whole) if len(whole) < INLINE_CHARS else await asyncio.to_thread(_clean_long, whole)
    more: dict[str, Json] = {**(result.facts or {}), **facts}
    if len(text) > at.most:
        file = await asyncio.to_thread(_save_whole, text, outputs_folder(home, at.session))
        more |= {"characters": len(text), "kept_at": str(file) if file else None}
        text = truncate(text, at.most, file)
    return replace(result, text=text, facts=more)


def _clean(text: str) -> str:
    """Removes terminal sequences first: one in the middle would hide a secret from the redaction."""
    return redact(strip_control(_COLOURS.sub("", text) if "\x1b" in text else text))


def _clean_long(text: str) -> str:
    """The same, in a process of its own: a thread would hold up the others."""
    if len(text) < INLINE_BYTES:
        return _clean(text)
    try:
        return run_limited(_clean, text, seconds=_CLEAN_SECONDS, memory_bytes=_CLEAN_MEMORY_BYTES)
    except LimitExceeded as error:
        return f"[{len(text)} characters were left out, because they could not be searched for secrets: {error}.]"


def truncate(text: str, max_chars: int, file: Path | None) -> str:
    """Keeps the beginning (two thirds) and the end, and a line between that says what is missing and where it is."""
    where = f"The whole text is in {file}: use read_file with offset and limit." if file else "It was not kept."
    left_out = len(text) - max_chars
    lines = text.count("\n")
    mark = f"\n\n[… {left_out} of {len(text)} characters ({lines} lines in all) left out here. {where} …]\n\n"
    room = max(0, max_chars - len(mark))
    head = room * 2 // 3
    return text[:head] + mark + (text[-(room - head) :] if room > head else "")


def outputs_folder(home: Path, session: SessionId) -> Path:
    """Returns the folder with the long results of a session."""
    return home / "outputs" / session


def _save_whole(text: str, folder: Path) -> Path | None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"{os.urandom(6).hex()}.txt"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
            file.write(text.encode("utf-8", "replace"))
        old = sorted(folder.glob("*.txt"), key=lambda one: one.stat().st_mtime_ns)
        for one in old[:-MAX_KEPT_RESULTS]:
            one.unlink(missing_ok=True)
    except OSError:
        return None  # the marker says that it was not kept
    return path


def forget_outputs(app: HasSettings, session: SessionId) -> list[str]:
    """Removes the long results of a session."""
    folder = outputs_folder(app.settings.home, session)
    if not folder.exists():
        return []
    shutil.rmtree(folder, ignore_errors=True)
    return [] if folder.exists() else [str(folder)]
