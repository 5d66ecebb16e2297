"""The programs in which a session can go on. To add one: a file that builds its sessions, and its entry here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sojourn.continuation import claude, codex, gemini, hermes, opencode, pi, qwen
from sojourn.continuation.conversation import PastConversation
from sojourn.continuation.native_session import NativeSession
from sojourn.core.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A program in which a session can go on."""

    name: str  # as people write it after `--in`
    label: str
    source: str  # the name of its importer
    build: Callable[[PastConversation, Settings], NativeSession]
    resume: Sequence[str]  # its own command, without the session
    reader: str = ""  # the importer of what is written, if it is another one
    unload: Sequence[str] = ()  # its own command that deletes a session, without the session


TARGETS = {
    one.name: one
    for one in (
        Target(
            name="claude",
            label="Claude Code",
            source="claude-code",
            build=claude.build_session,
            resume=("claude", "--resume"),
        ),
        Target(name="codex", label="Codex", source="codex", build=codex.build_session, resume=("codex", "resume")),
        Target(
            name="opencode",
            label="opencode",
            source="opencode",
            build=opencode.build_session,
            resume=("opencode", "--session"),
            reader="opencode-export",
            unload=("opencode", "session", "delete"),
        ),
        Target(
            name="gemini",
            label="Gemini CLI",
            source="gemini",
            build=gemini.build_session,
            resume=("gemini", "--resume"),
        ),
        Target(name="qwen", label="Qwen Code", source="qwen", build=qwen.build_session, resume=("qwen", "--resume")),
        Target(name="pi", label="pi", source="pi", build=pi.build_session, resume=("pi", "--session")),
        Target(
            name="hermes", label="Hermes", source="hermes", build=hermes.build_session, resume=("hermes", "--resume")
        ),
    )
}
