"""Where the tools of a turn work, for whom, and whom they ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.events import Progress
from sojourn.core.sessions import OWNER, Principal, Session, SessionId, TurnId
from sojourn.core.settings import Settings
from sojourn.ports.tool import Question, Reply
from sojourn.service.hearing import Hearing
from sojourn.service.log import Pen


@dataclass(slots=True, kw_only=True)
class TurnWorkspace:
    """The Workspace of one turn."""

    root: Path
    session: SessionId
    turn: TurnId
    principal: Principal
    seconds: float
    most: int
    hearing: Hearing
    pen: Pen
    _full: bool = False

    async def ask(self, question: Question) -> Reply:
        return await self.hearing.ask(question)

    def tell(self, line: str) -> None:
        """When lines come faster than they can be kept, some are left out: they are a show, not the result."""
        if not self._full or not self.pen.is_behind:
            self._full = not self.pen.soon(Progress("tool", {"line": line}))


def root_of(session: Session, cwd: str, settings: Settings) -> Path:
    """The folder of a session. A guest has one of their own, whatever they ask for."""
    home = settings.home / "workspace"
    if session.principal != OWNER:
        home = home / "guests" / re.sub(r"[^A-Za-z0-9_-]", "_", session.principal)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return home
    wanted = cwd or session.cwd or settings["agent.workspace"]
    if not wanted:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        return home
    root = settings.user_home / wanted[2:] if wanted.startswith("~/") else Path(wanted)
    if not root.is_dir():
        raise BadInput(f"The folder {root} is not there.", hint="Make it, or start the session in another folder.")
    return root.resolve()
