"""The command table: every command by name, imported when it is used.

Each start reads this file. Under `TYPE_CHECKING` it imports what its lazies name, so that mypy and import-linter
check them.
"""

# ruff: noqa: F401  the imports under TYPE_CHECKING show import-linter and mypy what the lazies name

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sojourn.lazy import Lazy

if TYPE_CHECKING:
    from asyncio import run as asyncio_run
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractContextManager

    import click
    from click.shell_completion import CompletionItem
    from rich.console import Console

    from sojourn.cli.chat.prompt import run_chat as run_chat
    from sojourn.cli.commands.approvals import approvals
    from sojourn.cli.commands.chat import chat
    from sojourn.cli.commands.completion import complete_runtimes, complete_sessions, complete_sources, completion
    from sojourn.cli.commands.config import config
    from sojourn.cli.commands.doctor import doctor
    from sojourn.cli.commands.imports import imports
    from sojourn.cli.commands.os_service import service
    from sojourn.cli.commands.plugins import plugins
    from sojourn.cli.commands.sessions import sessions
    from sojourn.cli.commands.sessions_edit import (
        archive,
        delete,
        end,
        forget,
        pin,
        tag,
        title,
        unarchive,
        unpin,
        untag,
    )
    from sojourn.cli.commands.sessions_export import export
    from sojourn.cli.commands.sessions_prune import prune
    from sojourn.cli.commands.sessions_search import search
    from sojourn.cli.commands.sessions_show import show
    from sojourn.cli.commands.stop import stop
    from sojourn.cli.commands.store import store
    from sojourn.cli.commands.update import uninstall, update
    from sojourn.cli.commands.usage import usage
    from sojourn.cli.commands.welcome import welcome
    from sojourn.cli.context import CommandContext
    from sojourn.cli.views.console import make_console
    from sojourn.cli.views.reports import (
        print_histories,
        print_import_report,
        print_move_report,
        print_stats,
        print_verdict,
        show_progress,
    )
    from sojourn.cli.views.session_uses import print_uses
    from sojourn.cli.views.sessions import print_hits, print_sessions, print_transcript
    from sojourn.cli.views.status import print_checks, print_greeting, print_next_steps, print_plugins, print_settings
    from sojourn.history_watcher import HistoryWatcher
    from sojourn.ports.store_admin import Progress

    LazyCommand = Lazy[click.Command]
    LazyView = Lazy[Callable[..., None]]  # a function that prints values on a rich console
    MakeConsole = Callable[..., Console]
    ShowProgress = Callable[..., AbstractContextManager[Progress]]
    Complete = Callable[[CommandContext, str], list[CompletionItem]]
    Run = Callable[[Coroutine[Any, Any, Any]], Any]
    RunChat = Callable[..., Coroutine[Any, Any, None]]
    _COMPLETE: tuple[Complete, ...] = (complete_runtimes, complete_sessions, complete_sources)
    _run: Run = asyncio_run
    _run_chat: RunChat = run_chat
    _make_console: MakeConsole = make_console
    _show_progress: ShowProgress = show_progress


class TableEntry(NamedTuple):
    """A command, and one line about it for `sojourn --help`."""

    command: LazyCommand
    summary: str


COMMANDS = {
    "welcome": TableEntry(
        Lazy("sojourn.cli.commands.welcome:welcome"), "A first look: health, histories found, your sessions."
    ),
    "chat": TableEntry(Lazy("sojourn.cli.commands.chat:chat"), "Talk to an agent."),
    "approvals": TableEntry(
        Lazy("sojourn.cli.commands.approvals:approvals"), "What you allowed for longer than once; list or revoke it."
    ),
    "stop": TableEntry(Lazy("sojourn.cli.commands.stop:stop"), "Stop the turn that runs in a session."),
    "sessions": TableEntry(
        Lazy("sojourn.cli.commands.sessions:sessions"), "List, read, search and look after sessions."
    ),
    "import": TableEntry(Lazy("sojourn.cli.commands.imports:imports"), "Bring in the history of another agent."),
    "store": TableEntry(Lazy("sojourn.cli.commands.store:store"), "Figures, checks, copies and moves of the store."),
    "usage": TableEntry(Lazy("sojourn.cli.commands.usage:usage"), "Tokens and cost of your turns, by day or month."),
    "config": TableEntry(
        Lazy("sojourn.cli.commands.config:config"), "Every setting, its value and where it came from."
    ),
    "doctor": TableEntry(Lazy("sojourn.cli.commands.doctor:doctor"), "Check that everything is in order."),
    "service": TableEntry(
        Lazy("sojourn.cli.commands.os_service:service"),
        "Keep the server running: from your login on, and again after a crash.",
    ),
    "update": TableEntry(
        Lazy("sojourn.cli.commands.update:update"), "Say which version runs and how to get a newer one."
    ),
    "uninstall": TableEntry(Lazy("sojourn.cli.commands.update:uninstall"), "Take Sojourn off this machine."),
    "plugins": TableEntry(Lazy("sojourn.cli.commands.plugins:plugins"), "Who offers what."),
    "completion": TableEntry(
        Lazy("sojourn.cli.commands.completion:completion"), "Print the completion script for a shell."
    ),
}

SESSIONS_COMMANDS: dict[str, LazyCommand] = {
    "show": Lazy("sojourn.cli.commands.sessions_show:show"),
    "search": Lazy("sojourn.cli.commands.sessions_search:search"),
    "title": Lazy("sojourn.cli.commands.sessions_edit:title"),
    "tag": Lazy("sojourn.cli.commands.sessions_edit:tag"),
    "untag": Lazy("sojourn.cli.commands.sessions_edit:untag"),
    "pin": Lazy("sojourn.cli.commands.sessions_edit:pin"),
    "unpin": Lazy("sojourn.cli.commands.sessions_edit:unpin"),
    "archive": Lazy("sojourn.cli.commands.sessions_edit:archive"),
    "unarchive": Lazy("sojourn.cli.commands.sessions_edit:unarchive"),
    "end": Lazy("sojourn.cli.commands.sessions_edit:end"),
    "export": Lazy("sojourn.cli.commands.sessions_export:export"),
    "delete": Lazy("sojourn.cli.commands.sessions_edit:delete"),
    "prune": Lazy("sojourn.cli.commands.sessions_prune:prune"),
    "forget": Lazy("sojourn.cli.commands.sessions_edit:forget"),
}

# Parts that only some runs of a command need.
ASYNCIO_RUN: Lazy[Run] = Lazy("asyncio:run")  # as large as click
COMPLETE_RUNTIMES: Lazy[Complete] = Lazy("sojourn.cli.commands.completion:complete_runtimes")
COMPLETE_SESSIONS: Lazy[Complete] = Lazy("sojourn.cli.commands.completion:complete_sessions")
COMPLETE_SOURCES: Lazy[Complete] = Lazy("sojourn.cli.commands.completion:complete_sources")
RUN_CHAT: Lazy[RunChat] = Lazy("sojourn.cli.chat.prompt:run_chat")  # prompt_toolkit

# Views load rich, which `--json` does not need.
MAKE_CONSOLE: Lazy[MakeConsole] = Lazy("sojourn.cli.views.console:make_console")
SHOW_PROGRESS: Lazy[ShowProgress] = Lazy("sojourn.cli.views.reports:show_progress")
PRINT_HITS: LazyView = Lazy("sojourn.cli.views.sessions:print_hits")
PRINT_USES: LazyView = Lazy("sojourn.cli.views.session_uses:print_uses")
PRINT_SESSIONS: LazyView = Lazy("sojourn.cli.views.sessions:print_sessions")
PRINT_TRANSCRIPT: LazyView = Lazy("sojourn.cli.views.sessions:print_transcript")
PRINT_HISTORIES: LazyView = Lazy("sojourn.cli.views.reports:print_histories")
HISTORY_WATCHER: Lazy[type[HistoryWatcher]] = Lazy("sojourn.history_watcher:HistoryWatcher")
PRINT_IMPORT_REPORT: LazyView = Lazy("sojourn.cli.views.reports:print_import_report")
PRINT_MOVE_REPORT: LazyView = Lazy("sojourn.cli.views.reports:print_move_report")
PRINT_STATS: LazyView = Lazy("sojourn.cli.views.reports:print_stats")
PRINT_VERDICT: LazyView = Lazy("sojourn.cli.views.reports:print_verdict")
PRINT_CHECKS: LazyView = Lazy("sojourn.cli.views.status:print_checks")
PRINT_GREETING: LazyView = Lazy("sojourn.cli.views.status:print_greeting")
PRINT_NEXT_STEPS: LazyView = Lazy("sojourn.cli.views.status:print_next_steps")
PRINT_PLUGINS: LazyView = Lazy("sojourn.cli.views.status:print_plugins")
PRINT_SETTINGS: LazyView = Lazy("sojourn.cli.views.status:print_settings")
