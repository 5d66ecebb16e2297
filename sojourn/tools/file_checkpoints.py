"""File checkpoints: what files held before the tools of a turn changed them, so that `/undo files` gives it back.

Kept in `<home>/checkpoints/<session>/<turn>/`, for the owner's eyes alone: `files.json` and the contents. What a
command changes is not kept: nobody knows which files it is before it has run.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from threading import RLock

from sojourn.core.sessions import SessionId, TurnId
from sojourn.ports.app import HasSettings
from sojourn.ports.tool import Workspace
from sojourn.tools.safe_open import FileDraft, ResolvedPath

MAX_TURNS = 30  # of one session
_LIST = "files.json"
_REFUSED = ".refused"  # ends the name of a folder with contents that were not given back


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheckpoint:
    """One file that a turn changed. `before` and `after` are hashes; empty: there was, or is, no such file."""

    path: str
    root: str
    before: str
    after: str
    mode: int  # the permissions it had; 0 if it was not there
    content: str  # name of the file with the earlier content; empty if it was not there
    is_mixed: bool = False  # somebody else changed the file between two changes of the turn

    @property
    def place(self) -> ResolvedPath:
        return ResolvedPath(Path(self.path), Path(self.root), inside=True)


class FileCheckpoints:
    """The checkpoints of this home. Its methods block."""

    def __init__(self, app: HasSettings) -> None:
        self._app, self._lock = app, RLock()
        self._callers: dict[SessionId, tuple[SessionId, TurnId]] = {}  # the turns that sub-agents work for

    def add_subagent(self, child: SessionId, at: Workspace) -> None:
        """What a sub-agent changes belongs to the turn that called it."""
        if len(self._callers) > 1000:
            self._callers.pop(next(iter(self._callers)))
        self._callers[child] = self._callers.get(at.session, (at.session, at.turn))

    def save(self, at: Workspace, drafts: Iterable[FileDraft]) -> None:
        """Keeps what files hold that are about to be changed."""
        if not (limit := int(self._app.settings["tools.checkpoint_mb"])):
            return
        session, turn = self._callers.get(at.session, (at.session, at.turn))
        folder = self._folder(session, turn)
        with self._lock:
            if not folder.exists():
                for one in (folder.parents[1], folder.parent, folder):
                    one.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._make_room(session, limit << 20)
            known = {one.path: one for one in _read_list(folder)}
            for draft in drafts:
                path = str(draft.place.path)
                known[path] = _follow(known[path], draft) if path in known else _keep(folder, len(known), draft)
            _write_private(folder / _LIST, json.dumps([asdict(one) for one in known.values()]).encode())

    def find_last(self, session: SessionId) -> tuple[TurnId, list[FileCheckpoint]] | None:
        """The newest turn that changed files and was not undone, and these files."""
        turns = _list_turns(checkpoints_folder(self._app.settings.home, session))
        return (TurnId(turns[-1].name), _read_list(turns[-1])) if turns else None

    def read_content(self, session: SessionId, turn: TurnId, one: FileCheckpoint) -> bytes | None:
        """What the file held; None if it was not there."""
        return (self._folder(session, turn) / one.content).read_bytes() if one.content else None

    def settle(self, session: SessionId, turn: TurnId, refused: Iterable[FileCheckpoint] = ()) -> Path | None:
        """Forgets a turn that was undone; returns the folder where the contents of refused files stay for now."""
        folder, kept = self._folder(session, turn), {one.content for one in refused if one.content}
        with self._lock:
            if not kept:
                shutil.rmtree(folder)
                return None
            for file in folder.iterdir():
                if file.name not in kept and file.name != _LIST:
                    file.unlink()
            return folder.rename(folder.with_name(folder.name + _REFUSED))

    def _folder(self, session: SessionId, turn: TurnId) -> Path:
        return checkpoints_folder(self._app.settings.home, session) / turn

    def _make_room(self, session: SessionId, limit: int) -> None:
        """Removes the oldest turns of a session that has too many, and the oldest of all that take too much."""
        sessions = checkpoints_folder(self._app.settings.home, session).parent
        for old in _list_turns(sessions / session)[:-MAX_TURNS]:
            shutil.rmtree(old, ignore_errors=True)
        turns = sorted((one for one in sessions.glob("*/*") if one.is_dir()), key=_age, reverse=True)
        size = 0
        for turn in turns:
            size += sum(file.stat().st_size for file in turn.iterdir())
            if size > limit:
                shutil.rmtree(turn, ignore_errors=True)


def checkpoints_folder(home: Path, session: SessionId) -> Path:
    return home / "checkpoints" / session


def forget_checkpoints(app: HasSettings, session: SessionId) -> list[str]:
    """Erases the checkpoints of a session; returns the folder, if there was one."""
    folder = checkpoints_folder(app.settings.home, session)
    if not folder.is_dir():
        return []
    shutil.rmtree(folder)
    return [str(folder)]


def hash_content(data: bytes | None) -> str:
    """The hash of a file's content; empty if there is no file."""
    return "" if data is None else sha256(data).hexdigest()


def _keep(folder: Path, number: int, draft: FileDraft) -> FileCheckpoint:
    content, mode = "", 0
    if draft.before is not None:
        content = str(number)
        _write_private(folder / content, draft.before)
        with suppress(OSError):
            mode = draft.place.path.stat(follow_symlinks=False).st_mode & 0o777
    return FileCheckpoint(
        path=str(draft.place.path),
        root=str(draft.place.root),
        before=hash_content(draft.before),
        after=hash_content(draft.after),
        mode=mode,
        content=content,
    )


def _follow(known: FileCheckpoint, draft: FileDraft) -> FileCheckpoint:
    """The checkpoint after another change in the same turn."""
    before = hash_content(draft.before)
    is_mixed = known.is_mixed or before not in (known.after, known.before)
    return replace(known, after=hash_content(draft.after), is_mixed=is_mixed)


def _list_turns(folder: Path) -> list[Path]:
    """The turns that can be undone, the oldest first."""
    if not folder.is_dir():
        return []
    return sorted((one for one in folder.iterdir() if one.is_dir() and not one.name.endswith(_REFUSED)), key=_age)


def _read_list(folder: Path) -> list[FileCheckpoint]:
    file = folder / _LIST
    return [FileCheckpoint(**one) for one in json.loads(file.read_bytes())] if file.exists() else []


def _age(path: Path) -> int:
    return path.stat().st_mtime_ns


def _write_private(path: Path, data: bytes) -> None:
    """Replaces a file in one step; only its owner can read it."""
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        out.write(data)
    draft.replace(path)
