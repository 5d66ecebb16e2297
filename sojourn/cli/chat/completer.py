"""ChatCompleter: completes commands, their arguments, and files after `@`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from sojourn.chat_commands import list_commands
from sojourn.cli.chat.file_mentions import find_open_mention
from sojourn.user_commands import UserCommands

_MAX_FILES = 100  # offered at once


class ChatCompleter(Completer):
    """Completes what stands before the cursor."""

    def __init__(self, folder: str = "", user_commands: UserCommands | None = None) -> None:
        self._user_commands = user_commands
        self.titles: list[str] = []
        self.runtimes: list[str] = []
        self._folder = Path(folder or ".")

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if (mention := find_open_mention(text)) is not None:
            yield from self._complete_file(mention)
        elif text.startswith("/") and "\n" not in text:
            yield from self._complete_command(text)

    def _complete_command(self, text: str) -> Iterable[Completion]:
        name, space, rest = text[1:].partition(" ")
        if not space:
            for one in list_commands("terminal"):
                if one.name.startswith(name):
                    yield Completion(one.name, -len(name), display=f"/{one.name}", display_meta=one.help)
            for own in self._user_commands.list_usable() if self._user_commands is not None else ():
                if own.name.startswith(name):
                    yield Completion(own.name, -len(name), display=f"/{own.name}", display_meta=own.help)
            return
        options = {"resume": self.titles, "runtime": self.runtimes, "attach": self.titles}.get(name, [])
        for option in options:
            if option.lower().startswith(rest.lower()):
                yield Completion(option, -len(rest))

    def _complete_file(self, mention: str) -> Iterable[Completion]:
        head, slash, start = mention.rpartition("/")
        folder = self._folder / Path(f"{head}{slash}" or ".").expanduser()
        try:
            found = sorted(os.scandir(folder), key=lambda one: (not one.is_dir(), one.name.lower()))
        except OSError:
            return
        shown = [one for one in found if one.name.lower().startswith(start.lower())]
        for one in [one for one in shown if start.startswith(".") or not one.name.startswith(".")][:_MAX_FILES]:
            yield Completion(one.name + ("/" if one.is_dir() else ""), -len(start), display=one.name)
