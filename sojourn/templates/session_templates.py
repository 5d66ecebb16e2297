"""SessionTemplates: the synchronous Python interface to templates, without a server and without `await`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import weakref
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from sojourn.app import build
from sojourn.core.errors import BadInput, NotFound, SojournError
from sojourn.ports.app import AppContext
from sojourn.ports.history import History
from sojourn.templates import tool_names
from sojourn.templates.create import make_template, resolve_session
from sojourn.templates.extract import MAX_EXAMPLES, read_conversation, select_examples, task_type_of
from sojourn.templates.factory import has_history, history_of, library_of
from sojourn.templates.file_library import FOLDER, FolderLibrary
from sojourn.templates.inject import inject
from sojourn.templates.library import Library, LibraryContents, Unreadable, sort_newest_first
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.relevance import choose_template
from sojourn.templates.tool_calls import ToolConversation, json_of

T = TypeVar("T")

DEFAULT_TEMPLATE_DIR = Path(os.environ.get("SOJOURN_HOME") or "~/.sojourn").expanduser() / FOLDER


class SessionTemplates:
    """The templates of a folder, made from the sessions of a home.

    Without arguments: the folder and the store the program is set up with, and beside them, read-only, the templates
    in the home of Hermes. `template_dir` alone: the sessions are those of the home it lies in, or, where that is none,
    the program's. `home` names another one, ours or Hermes'; it is only read.
    """

    DEFAULT_TEMPLATE_DIR: ClassVar[Path] = DEFAULT_TEMPLATE_DIR

    def __init__(
        self, template_dir: Path | str | None = None, *, home: Path | str | None = None, history: History | None = None
    ) -> None:
        self._folder = Path(template_dir).expanduser() if template_dir is not None else None
        self._home = Path(home).expanduser() if home is not None else None
        self._given = history
        self._loop = _LoopThread()
        weakref.finalize(self, self._loop.close)  # for callers that forget to
        self.unreadable: Sequence[Unreadable] = ()  # what the last listing could not read

    @property
    def template_dir(self) -> Path:
        """The folder new templates are written to."""
        folder: Path = self._folder or self._app.settings.home / FOLDER
        return folder

    @property
    def templates(self) -> dict[str, SessionTemplate]:
        """All templates by name, as they are now."""
        return {one.name: one for one in self.list_templates()}

    @cached_property
    def _app(self) -> AppContext:
        return build()

    @cached_property
    def _library(self) -> Library:
        return FolderLibrary(self._folder) if self._folder is not None else library_of(self._app)

    @cached_property
    def _history(self) -> History:
        if self._given is not None:
            return self._given
        if self._home is not None:
            return self._app.open_history(self._home)
        if self._folder is not None and has_history(self._folder.parent):
            return self._app.open_history(self._folder.parent)
        return history_of(self._app)

    def _read_session(self, session_id: str) -> ToolConversation:
        return read_conversation(self._history, resolve_session(self._history, session_id))

    def _read_all(self) -> LibraryContents:
        own = self._loop.run(self._library.all())
        if self._folder is not None:
            return own
        hermes = self._loop.run(FolderLibrary(_hermes_template_dir()).all())
        names = {one.template.name for one in own.stored}
        more = [one for one in hermes.stored if one.template.name not in names]
        return LibraryContents(sort_newest_first([*own.stored, *more]), (*own.unreadable, *hermes.unreadable))

    def classify_task_type(self, calls: str | Iterable[Any], turns: int | None = None) -> TaskType:
        """What a session is about: by its id, or by its tool calls in any shape. `turns=30` looks at the first 30."""
        if isinstance(calls, str):
            return task_type_of(self._read_session(calls), turns=turns)
        return tool_names.classify(_tool_names(calls, turns))

    def extract_from_session(self, session_id: str, max_examples: int = MAX_EXAMPLES) -> list[ToolCallExample]:
        """The first calls of a session that worked; empty if there is no such session or no such call."""
        try:
            return select_examples(self._read_session(session_id), max_examples)
        except NotFound:
            return []

    def create_template(
        self,
        session_id: str,
        name: str | None = None,
        task_type: TaskType | str | None = None,
        max_examples: int = MAX_EXAMPLES,
    ) -> SessionTemplate | None:
        """Makes a template of what worked in a session and keeps it. None if there is no such session or call."""
        try:
            session = resolve_session(self._history, session_id)
            names = [] if name is not None else [one.name for one in self.list_templates()]
            stored = make_template(self._history, session, name=name, kind=task_type, most=max_examples, taken=names)
        except NotFound:
            return None
        self._loop.run(self._library.save(stored))
        return stored.template

    def get_template(self, task_type: TaskType | str) -> SessionTemplate | None:
        """The template for a type of task: the less used, among equals the better proven."""
        found = choose_template(self._read_all().stored, task_type)
        return found.template if found else None

    def inject_into_messages(self, template: SessionTemplate, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Inserts the template's examples after the leading system messages and counts a use.

        The list itself is changed, and returned.
        """
        messages[:] = inject(template, messages)
        if template.examples:
            try:
                template.usage_count = self._loop.run(self._library.count_use(template.name))
            except (NotFound, BadInput):
                template.usage_count += 1  # one that this library does not keep counts for itself
        return messages

    def list_templates(self, task_type: TaskType | str | None = None) -> list[SessionTemplate]:
        """All templates, newest first; `unreadable` then says what could not be read."""
        found = self._read_all()
        self.unreadable = found.unreadable
        return [one.template for one in found.of_type(task_type)]

    def delete_template(self, name: str) -> bool:
        """Deletes a template; False if there is none of that name."""
        return self._loop.run(self._library.delete(name))

    def close(self) -> None:
        """Closes files and connections."""
        if "_history" in self.__dict__:
            self._history.close()
        if "_app" in self.__dict__:
            self._loop.run(self._app.close())
        self._loop.close()


def _hermes_template_dir() -> Path:
    return Path(os.environ.get("HERMES_HOME") or "~/.hermes").expanduser() / FOLDER


def main(arguments: Sequence[str] | None = None) -> int:
    """Lists, creates and deletes templates from the command line; `sojourn templates` does more."""
    parser = argparse.ArgumentParser(prog="session_templates", description="List, create and delete templates.")
    commands = parser.add_subparsers(dest="command", required=True)
    kinds = [one.value for one in TaskType]
    commands.add_parser("list", help="the templates, newest first").add_argument("--type", choices=kinds)
    create = commands.add_parser("create", help="make a template of a session")
    create.add_argument("session_id")
    create.add_argument("--name")
    create.add_argument("--type", choices=kinds)
    create.add_argument("--max-examples", type=int, default=MAX_EXAMPLES)
    commands.add_parser("delete", help="delete a template").add_argument("name")
    given = parser.parse_args(arguments)
    templates = SessionTemplates()
    try:
        lines = _run_command(templates, given)
    except SojournError as error:
        lines = []
        sys.stderr.write(f"{error}\n")
    finally:
        templates.close()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0 if lines else 1


def _run_command(templates: SessionTemplates, given: argparse.Namespace) -> list[str]:
    """The lines to print; none if there was nothing to do."""
    if given.command == "delete":
        return [f"Deleted {given.name}."] if templates.delete_template(given.name) else []
    if given.command == "create":
        made = templates.create_template(given.session_id, given.name, given.type, given.max_examples)
        return [f"Created {made.name}: {made.description}."] if made else []
    found = templates.list_templates(given.type)
    lines = [
        f"{one.name}  {one.task_type.value}  {len(one.examples)} examples  {one.usage_count} uses" for one in found
    ]
    return lines or ["There are no templates."]


def _tool_names(calls: Iterable[Any], turns: int | None) -> list[str]:
    """Tool names out of whatever holds them: names, examples, calls of both shapes, whole messages."""
    found: list[str] = []
    turn = 0
    for one in calls:
        if isinstance(one, Mapping) and one.get("role") == "user":
            turn += 1
        if turns is None or turn <= turns:
            found += _names_in(one)
    return found


def _names_in(one: Any) -> list[str]:
    if isinstance(one, str):
        return [one]
    if isinstance(one, ToolCallExample):
        return [one.tool_name]
    if not isinstance(one, Mapping):
        return [one.name] if isinstance(getattr(one, "name", None), str) else []
    if calls := one.get("tool_calls"):
        return [name for call in _parse_calls(calls) for name in _names_in(call)]
    inner = one.get("function")
    name = one.get("name") or one.get("tool_name") or (inner.get("name") if isinstance(inner, Mapping) else None)
    return [name] if isinstance(name, str) and name and "role" not in one else []


def _parse_calls(calls: Any) -> list[Any]:
    """Tool calls as messages hold them, or as JSON text, which is how they are stored."""
    try:
        found = json_of(calls) if isinstance(calls, str | bytes) else calls
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


class _LoopThread:
    """A thread with an event loop: runs coroutines for a caller that may itself be inside another loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="session-templates", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        if self._loop is None or self._thread is None or self._thread is threading.current_thread():
            return
        asyncio.run_coroutine_threadsafe(self._loop.shutdown_default_executor(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None


if __name__ == "__main__":
    sys.exit(main())
