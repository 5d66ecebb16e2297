"""Path policy: where a tool may read and write. A path is resolved first (no `..`, no symbolic link left in it), then
judged; `safe_open` opens exactly that."""

from __future__ import annotations

import os
from pathlib import Path

from sojourn.core.errors import BadInput, NotAllowed
from sojourn.core.settings import Settings
from sojourn.ports.tool import Question, Workspace
from sojourn.skill_files import skill_folders
from sojourn.tools.result_limits import outputs_folder
from sojourn.tools.safe_open import ResolvedPath
from sojourn.tools.sensitive_paths import RUNS_LATER, SECRET, find_reason


def locate(at: Workspace, raw: str, settings: Settings) -> ResolvedPath:
    """Resolves a path that a model wrote. BadInput."""
    if not raw.strip():
        raise BadInput("The path is empty.", hint='Use "." for the workspace itself.')
    if raw == "~" or raw.startswith("~/"):
        raw = str(settings.user_home / raw[2:])
    too_long = next((step for step in raw.split("/") if len(step.encode()) > 255), "")
    if too_long or len(raw.encode()) > 4095:
        raise BadInput(f"The name {too_long[:40] or raw[:40]}… is too long.", hint="At most 255 bytes for a name.")
    root = Path(os.path.realpath(at.root))
    real = Path(os.path.realpath(root / raw))
    return ResolvedPath(real, root, real == root or root in real.parents)


def ask_about_reading(at: Workspace, raw: str, settings: Settings) -> tuple[Question | None, ResolvedPath]:
    """Returns the question before a path is read, and the path. Inside the workspace only secrets are asked about."""
    place = locate(at, raw, settings)
    if reason := find_reason(SECRET, str(place.path)) or _own_home_reason(at, place, settings):
        text = f"Read {place.shown}? {reason[0].upper()}{reason[1:]}."
        return Question(id="", text=text, detail=str(place.path), dangerous=True), place
    if place.inside or _is_always_readable(at, place.path, settings):
        return None, place
    return Question(id="", text="Read outside the workspace?", detail=str(place.path)), place


def ask_about_writing(at: Workspace, place: ResolvedPath, settings: Settings, detail: str) -> Question:
    """Returns the question before a place of the workspace is written."""
    reason = find_reason(RUNS_LATER + SECRET, str(place.path)) or _own_home_reason(at, place, settings)
    text = f"Write {place.shown}?" + (f" {reason[0].upper()}{reason[1:]}." if reason else "")
    return Question(id="", text=text, detail=detail, dangerous=bool(reason))


def require_writable(at: Workspace, raw: str, settings: Settings) -> ResolvedPath:
    """Resolves a path inside the workspace. NotAllowed."""
    place = locate(at, raw, settings)
    if not place.inside:
        raise NotAllowed(
            f"{raw[:200]} is outside the workspace {place.root}: nothing is written there.",
            hint="Use a path inside the workspace.",
        )
    if place.path == place.root:
        raise BadInput("The workspace itself is a folder.", hint="Name a file in it.")
    return place


def _own_home_reason(at: Workspace, place: ResolvedPath, settings: Settings) -> str:
    """Returns the reason to ask about Sojourn's home; empty elsewhere, and in a workspace inside the home."""
    home = Path(os.path.realpath(settings.home))
    lies_there = _fold(home) in map(_fold, (place.path, *place.path.parents))
    if not lies_there or _is_always_readable(at, place.path, settings):
        return ""
    if place.inside and home in place.root.parents:
        return ""
    return "all sessions, settings and tokens of this program are kept there"


def _is_always_readable(at: Workspace, path: Path, settings: Settings) -> bool:
    """True for long results of this session, and for skills."""
    free = [outputs_folder(settings.home, at.session), *skill_folders(settings)]
    return any(Path(os.path.realpath(folder)) in path.parents for folder in free)


def _fold(path: Path) -> str:
    """A path as a file system compares it that ignores case."""
    return str(path).casefold()
