"""Library: stores templates by name, each with what is known about it.

Two implementations share one contract: files in a folder, and records in a shared store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from sojourn.core.errors import Conflict, NotFound
from sojourn.core.messages import Json
from sojourn.templates.model import SessionTemplate, TaskType, task_type

NoteKind = Literal["suggestion", "outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of a template besides its examples, and is no part of its JSON."""

    requests: tuple[str, ...] = ()  # what was asked where the examples come from: relevance is measured by it
    sessions: tuple[str, ...] = ()  # the sessions it is proven by
    shape: str = ""  # the sequence it stands for, if it was suggested

    @property
    def proven(self) -> int:
        return len(self.sessions)

    def to_dict(self) -> dict[str, Json]:
        return {"requests": list(self.requests), "sessions": list(self.sessions), "shape": self.shape}

    @classmethod
    def from_dict(cls, data: Any) -> About:
        found = data if isinstance(data, Mapping) else {}
        return cls(
            requests=_texts(found.get("requests")),
            sessions=_texts(found.get("sessions")),
            shape=str(found.get("shape") or ""),
        )


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """A template as the library has it."""

    template: SessionTemplate
    about: About = field(default_factory=About)

    def to_dict(self) -> dict[str, Json]:
        """The JSON form of the template, with what is known about it."""
        return {**self.template.to_dict(), "about": self.about.to_dict()}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A template that is there but cannot be read."""

    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class LibraryContents:
    """Everything in the library, newest first, and what could not be read."""

    stored: Sequence[StoredTemplate]
    unreadable: Sequence[Unreadable] = ()

    def of_type(self, kind: TaskType | str | None) -> list[StoredTemplate]:
        """The templates for one type of task; all of them for None."""
        meant = None if kind is None else task_type(kind)
        return [one for one in self.stored if meant in (None, one.template.task_type)]


Step = Callable[[StoredTemplate], StoredTemplate]


class Library(Protocol):
    """Templates by name; uses are counted exactly, also by several processes at once."""

    async def all(self) -> LibraryContents: ...
    async def get(self, name: str) -> StoredTemplate: ...  # NotFound; BadInput when it cannot be read
    async def save(self, stored: StoredTemplate, *, replace: bool = False) -> None: ...  # Conflict: the name is taken
    async def delete(self, name: str) -> bool: ...
    async def change(self, name: str, step: Step) -> StoredTemplate: ...  # in one transaction; may rename
    async def notes(self, kind: NoteKind) -> dict[str, Json]: ...
    async def read_note(self, kind: NoteKind, key: str) -> Json | None: ...
    async def note(self, kind: NoteKind, key: str, value: Json | None) -> None: ...  # None deletes it

    async def count_use(self, name: str) -> int:
        """Counts a use of a template, and returns the new count. NotFound."""
        return (await self.change(name, _add_use)).template.usage_count


def _add_use(stored: StoredTemplate) -> StoredTemplate:
    return replace(stored, template=replace(stored.template, usage_count=stored.template.usage_count + 1))


def to_not_found(name: str) -> NotFound:
    return NotFound(f'There is no template "{name}".', hint="`sojourn templates list` shows what there is.")


def to_conflict(name: str) -> Conflict:
    return Conflict(f'There is already a template "{name}".', hint="Choose another name, or delete that one first.")


def sort_newest_first(stored: Sequence[StoredTemplate]) -> list[StoredTemplate]:
    return sorted(stored, key=lambda one: (-one.template.created_at, one.template.name))
