"""Confinement of what tools start: the access a call asks for, its sandbox, and the question before it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from sojourn.core.sessions import SessionId
from sojourn.core.settings import Settings
from sojourn.ports.app import HasSettings, Shared
from sojourn.ports.tool import Question, Scope, Workspace
from sojourn.sandbox.enforcement import confine, find_support
from sojourn.sandbox.policy import SandboxLimits, build_policy, confined_environment

Access = Literal["sandbox", "network", "outside"]
QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
_MEANING: dict[Scope, str] = {
    "sandbox": "It can change the workspace only, and reach no network.",
    "network": "It can change the workspace only, and reach the network.",
    "outside": "It runs outside the sandbox: it can read and change everything you can.",
}
_GIT_SECONDS = 2.0


class CommandApp(HasSettings, Shared, Protocol):
    """What tools that start programs are created with."""


class CommandSandbox:
    """Prepares command lines. Each session has a temporary folder of its own, removed with the application."""

    def __init__(self, app: HasSettings) -> None:
        self._settings = app.settings
        self._folders: dict[SessionId, Path] = {}

    def prepare(
        self, argv: Sequence[str], at: Workspace, access: Access, seconds: float = 0
    ) -> tuple[list[str], dict[str, str]]:
        """The command line and environment that run `argv` with this access. The environment holds no secret.

        seconds: after which the sandbox ends it, should this process have failed to; 0: never
        """
        environment = {"PATH": os.defpath, **self._settings.for_children, **QUIET}
        if effective_scope(access) == "outside":
            return list(argv), environment
        folder = self.folder_of(at.session)
        policy = build_policy(
            at.root,
            folder,
            sojourn_home=self._settings.home,
            user_home=self._settings.user_home,
            network=access == "network",
            limits=read_limits(self._settings, seconds),
        )
        return confine(argv, policy), confined_environment(environment, folder)

    def folder_of(self, session: SessionId) -> Path:
        """The temporary folder of a session."""
        if session not in self._folders:
            folder = Path(tempfile.mkdtemp(prefix="sojourn-"))
            (folder / "gitconfig").write_text(_copy_git_identity(), "utf-8")
            self._folders[session] = folder
        return self._folders[session]

    async def close(self) -> None:
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()


def read_limits(settings: Settings, seconds: float = 0) -> SandboxLimits:
    """The limits of a program, from the settings."""
    return SandboxLimits(
        processes=int(settings["tools.processes"]),
        memory_mib=int(settings["tools.memory_mb"]),
        file_mib=int(settings["tools.file_mb"]),
        seconds=seconds,
    )


def effective_scope(access: Access) -> Scope:
    """What a call really gets: without a sandbox on this machine, everything runs outside."""
    return "outside" if find_support().mechanism == "none" else access


def ask_about_program(text: str, exact: str, reasons: Sequence[str], access: Access) -> Question:
    """Builds the question before a program is started; `reasons` are hints about what it seems to do.

    Where the sandbox leaves a gap, the call is asked about every time. With reasons "deny" is the first choice.
    """
    scope, support = effective_scope(access), find_support()
    parts = [text, f"It {'; it '.join(reasons)}." if reasons else "", _MEANING[scope]]
    if support.missing:
        parts.append(f"This machine's sandbox is not complete: {' '.join(support.missing)}")
    return Question(
        id="",
        text=" ".join(filter(None, parts)),
        detail=exact,
        choices=("deny", "once") if reasons else ("once", "deny"),
        scope=scope,
        dangerous=not support.is_complete,
    )


def _copy_git_identity() -> str:
    """A git configuration with the person's name and address, and nothing else of theirs."""
    lines = ["[user]"]
    for key in ("name", "email"):
        try:
            argv = ["git", "config", "--global", f"user.{key}"]
            found = subprocess.run(argv, capture_output=True, text=True, timeout=_GIT_SECONDS).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found:
            quoted = found.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'\t{key} = "{quoted}"')
    return "\n".join(lines) + "\n"
