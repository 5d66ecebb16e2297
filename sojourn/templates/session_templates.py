"""SessionTemplates: templates for plain Python, without a server and without `await`."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from sojourn.app import build
from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.app import AppContext
from sojourn.ports.history import History
from sojourn.templates import tool_names
from sojourn.templates.create import chosen, session_in, template_of
from sojourn.templates.extract import MAX_EXAMPLES, examples, read, task_type_of
from sojourn.templates.factory import has_history, history_of, library_of
from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.inject import inject
from sojourn.templates.library import Library, Unreadable
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample, task_type
from sojourn.templates.tool_calls import Conversation, json_of

T = TypeVar("T")


class SessionTemplates:
    """The templates of a folder, made from the sessions of a home.

    Without arguments: the folder and the store the program is set up with. `template_dir` alone: the sessions are
    those of the home it lies in, or, where that is none, the program's. `home` names another one, ours or Hermes'; it
    is only read.
    """

    def __init__(
        self, template_dir: Path | str | None = None, *, home: Path | str | None = None, history: History | None = None
    ) -> None:
        self._folder = Path(template_dir).expanduser() if template_dir is not None else None
        self._home = Path(home).expanduser() if home is not None else None
        self._given = history
        self._line = _Line()
        weakref.finalize(self, self._line.close)  # for those who forget to
        self.unreadable: Sequence[Unreadable] = ()  # what the last listing could not read

    @cached_property
    def _kit(self) -> AppContext:
        return build()

    @cached_property
    def _library(self) -> Library:
        return FolderLibrary(self._folder) if self._folder is not None else library_of(self._kit)

    @cached_property
    def _history(self) -> History:
        if self._given is not None:
            return self._given
        if self._home is not None:
            return self._kit.open_history(self._home)
        if self._folder is not None and has_history(self._folder.parent):
            return self._kit.open_history(self._folder.parent)
        return history_of(self._kit)

    def _talk(self, session_id: str) -> Conversation:
        return read(self._history, session_in(self._history, session_id))

    def classify_task_type(self, calls: str | Iterable[Any], turns: int | None = None) -> TaskType:
        """What a session is about: by its id, or by its tool calls in any shape. `turns=30` looks at the first 30."""
        if isinstance(calls, str):
            return task_type_of(self._talk(calls), turns=turns)
        return tool_names.classify(_names(calls, turns))

    def extract_from_session(self, session_id: str, max_examples: int = MAX_EXAMPLES) -> list[ToolCallExample]:
        """The first calls of a session that worked."""
        return examples(self._talk(session_id), max_examples)

    def create_template(
        self,
        session_id: str,
        name: str | None = None,
        task_type: TaskType | str | None = None,
        max_examples: int = MAX_EXAMPLES,
    ) -> SessionTemplate:
        """Makes a template of what worked in a session and keeps it. NotFound when nothing did."""
        session = session_in(self._history, session_id)
        taken = [] if name is not None else [one.name for one in self.list_templates()]
        kept = template_of(
            read(self._history, session), session, name=name, kind=task_type, most=max_examples, taken=taken
        )
        self._line.wait(self._library.save(kept))
        return kept.template

    def get_template(self, task_type: TaskType | str) -> SessionTemplate | None:
        """The template for a type of task: the less used, among equals the better proven."""
        found = chosen(self._line.wait(self._library.all()).kept, task_type)
        return found.template if found else None

    def inject_into_messages(
        self, template: SessionTemplate, messages: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """The messages with the template's examples after the leading system messages; this counts as a use."""
        made = inject(template, messages)
        if template.examples:
            try:
                template.usage_count = self._line.wait(self._library.count_use(template.name))
            except (NotFound, BadInput):
                template.usage_count += 1  # one that was never kept, or cannot be, counts for itself
        return made

    def list_templates(self, task_type: TaskType | str | None = None) -> list[SessionTemplate]:
        """All templates, newest first; `unreadable` then says what could not be read."""
        meant = None if task_type is None else _meant(task_type)
        shelf = self._line.wait(self._library.all())
        self.unreadable = shelf.unreadable
        return [one.template for one in shelf.kept if meant is None or one.template.task_type is meant]

    def delete_template(self, name: str) -> bool:
        """Whether there was such a template."""
        return self._line.wait(self._library.delete(name))

    def close(self) -> None:
        """Lets go of files and connections."""
        if "_history" in self.__dict__:
            self._history.close()
        if "_kit" in self.__dict__:
            self._line.wait(self._kit.close())
        self._line.close()


_meant = task_type


def _names(calls: Iterable[Any], turns: int | None) -> list[str]:
    """Tool names out of whatever holds them: names, examples, calls of both shapes, whole messages."""
    found: list[str] = []
    turn = 0
    for one in calls:
        if isinstance(one, Mapping) and one.get("role") == "user":
            turn += 1
        if turns is None or turn <= turns:
            found += _named(one)
    return found


def _named(one: Any) -> list[str]:
    if isinstance(one, str):
        return [one]
    if isinstance(one, ToolCallExample):
        return [one.tool_name]
    if not isinstance(one, Mapping):
        return [one.name] if isinstance(getattr(one, "name", None), str) else []
    if asked := one.get("tool_calls"):
        return [name for call in _listed(asked) for name in _named(call)]
    inner = one.get("function")
    name = one.get("name") or one.get("tool_name") or (inner.get("name") if isinstance(inner, Mapping) else None)
    return [name] if isinstance(name, str) and name and "role" not in one else []


def _listed(asked: Any) -> list[Any]:
    """Tool calls as messages hold them, or as JSON text, which is how they are stored."""
    try:
        found = json_of(asked) if isinstance(asked, str | bytes) else asked
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


class _Line:
    """A thread with an event loop: what is asked here may wait, also where another loop is running."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
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
