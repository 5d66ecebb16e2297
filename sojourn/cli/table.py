"""The command table: every command and every view by dotted name, loaded when it is used.

This file is read at each start, so it imports next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# name → where it is, and one line about it
COMMANDS = {
    "welcome": ("sojourn.cli.commands.welcome:welcome", "A first look: health, histories found, your sessions."),
    "chat": ("sojourn.cli.commands.chat:chat", "Talk to an agent."),
    "stop": ("sojourn.cli.commands.stopping:stop", "Stop the turn that runs in a session."),
    "sessions": ("sojourn.cli.commands.sessions:sessions", "List, read, search and look after sessions."),
    "import": ("sojourn.cli.commands.imports:imports", "Bring in the history of another agent."),
    "store": ("sojourn.cli.commands.store:store", "Figures, checks, copies and moves of the store."),
    "config": ("sojourn.cli.commands.config:config", "Every setting, its value and where it came from."),
    "doctor": ("sojourn.cli.commands.doctor:doctor", "Check that everything is in order."),
    "plugins": ("sojourn.cli.commands.plugins:plugins", "Who offers what."),
    "completion": ("sojourn.cli.commands.completion:completion", "Print the completion script for a shell."),
}

# what commands with a AppContext run in; loading it takes as long as loading click
RUN = "asyncio:run"

# what is drawn for people; rich is loaded with the first of these, and for --json with none
VIEWS = {
    "console": "sojourn.cli.views.console:make",
    "progress": "sojourn.cli.views.progress:bars",
    "sessions": "sojourn.cli.views.sessions:listing",
    "transcript": "sojourn.cli.views.transcript:transcript",
    "hits": "sojourn.cli.views.hits:hits",
    "found": "sojourn.cli.views.rescue:found",
    "reports": "sojourn.cli.views.rescue:reports",
    "stats": "sojourn.cli.views.store:stats",
    "verdict": "sojourn.cli.views.store:verdict",
    "moved": "sojourn.cli.views.store:moved",
    "settings": "sojourn.cli.views.settings:settings",
    "checks": "sojourn.cli.views.checks:checks",
    "plugins": "sojourn.cli.views.plugins:plugins",
    "greeting": "sojourn.cli.views.welcome:greeting",
    "next steps": "sojourn.cli.views.welcome:next_steps",
}


def load(dotted: str) -> Any:
    """What `package.module:name` stands for."""
    module, _, name = dotted.partition(":")
    return getattr(import_module(module), name)


def view(name: str) -> Any:
    return load(VIEWS[name])
