"""Workspace folders: where the tools of a session work. Each guest has a folder of their own."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.sessions import OWNER, Session
from sojourn.core.settings import Settings


def find_workspace(session: Session, cwd: str, settings: Settings) -> Path:
    """The working folder of a session. A guest always gets a folder of their own. BadInput if it does not exist."""
    if session.principal != OWNER:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", session.principal)
        if name != session.principal.replace("guest:", "guest_", 1):  # so that no two guests share a folder
            name += "-" + hashlib.sha256(session.principal.encode()).hexdigest()[:16]
        return make_workspace(settings, "guests", name)
    wanted = cwd or session.cwd or settings["agent.workspace"]
    if not wanted:
        return make_workspace(settings)
    root = settings.user_home / wanted[2:] if wanted.startswith("~/") else Path(wanted)
    if not root.is_dir():
        raise BadInput(f"The folder {root} is not there.", hint="Make it, or start the session in another folder.")
    return root.resolve()


def make_workspace(settings: Settings, *below: str) -> Path:
    """The folder `workspace` of the home, or one below it, private to the owner."""
    folder = settings.home.joinpath("workspace", *below)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
