"""The template model: task types, example calls, templates with their JSON form, and names that are safe file names."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json

_NAME_CHARACTERS = 100
_NAME = re.compile(r"\w(?:[\w .+-]*[\w+-])?")
_RESERVED_NAMES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
LAST_TIME = 250_000_000_000  # seconds since 1970, in the year 9892: what comes later has no date


class TaskType(Enum):
    """What a session was mostly about, by the tools it used."""

    CODE = "code"
    FILE = "file"
    RESEARCH = "research"
    TERMINAL = "terminal"
    MIXED = "mixed"


def task_type(word: TaskType | str) -> TaskType:
    try:
        return word if isinstance(word, TaskType) else TaskType(word.strip().lower())
    except (ValueError, AttributeError) as error:
        known = ", ".join(one.value for one in TaskType)
        raise BadInput(f"{word!r} is not a task type.", hint=f"Task types are: {known}.") from error


@dataclass(slots=True)
class ToolCallExample:
    """One call that worked and what came back. Not frozen: a result may be filled in later."""

    tool_name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    result: str = ""
    success: bool = True

    def to_dict(self) -> dict[str, Json]:
        return {
            "tool_name": self.tool_name,
            "arguments": dict(self.arguments),
            "result": self.result,
            "success": self.success,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Json]) -> ToolCallExample:
        name, arguments, result = data.get("tool_name"), data.get("arguments"), data.get("result")
        if not isinstance(name, str) or not name:
            raise BadInput("An example has no tool_name.", hint="Each example names its tool.")
        return cls(
            tool_name=name,
            arguments=_arguments(arguments),
            result=result if isinstance(result, str) else _to_text(result),
            success=data.get("success", True) is not False,
        )


@dataclass(slots=True)
class SessionTemplate:
    """Proven calls for one type of task. Not frozen: `usage_count` follows what the library counts."""

    name: str
    task_type: TaskType
    examples: list[ToolCallExample] = field(default_factory=list)
    description: str = ""
    created_at: float = 0.0  # seconds since 1970; 0 means now
    usage_count: int = 0
    source_session_id: str | None = None

    def __post_init__(self) -> None:
        self.task_type = task_type(self.task_type)
        self.created_at = self.created_at or time.time()
        self.description = self.description or default_description(len(self.examples))

    def to_dict(self) -> dict[str, Json]:
        """The JSON form; these keys and no others."""
        return {
            "name": self.name,
            "task_type": self.task_type.value,
            "examples": [one.to_dict() for one in self.examples],
            "description": self.description,
            "created_at": self.created_at,
            "usage_count": self.usage_count,
            "source_session_id": self.source_session_id,
        }

    @classmethod
    def from_dict(cls, data: Any) -> SessionTemplate:
        """Reads the JSON form. Keys that are not known are passed over; BadInput says what cannot be read."""
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            raise BadInput("This is not a template: it has no name.", hint="A JSON object with `name` is expected.")
        examples, used, made = data.get("examples", []), data.get("usage_count", 0), data.get("created_at", 0.0)
        if not isinstance(examples, list) or not all(isinstance(one, Mapping) for one in examples):
            raise BadInput("`examples` is not a list of objects.", hint="Each example is an object with tool_name.")
        if not isinstance(used, int) or not isinstance(made, int | float):
            raise BadInput("`usage_count` and `created_at` must be numbers.", hint="Correct the file, or delete it.")
        if not abs(made) <= LAST_TIME:
            raise BadInput("`created_at` is not a time.", hint="It is counted in seconds since 1970.")
        source = data.get("source_session_id")
        return cls(
            name=data["name"],
            task_type=task_type(data.get("task_type", "mixed")),
            examples=[ToolCallExample.from_dict(one) for one in examples],
            description=str(data.get("description") or ""),
            created_at=float(made),
            usage_count=used,
            source_session_id=source if isinstance(source, str) else None,
        )


def _arguments(given: Json) -> Mapping[str, Json]:
    """The arguments as an object; text that is none becomes an empty one."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, Mapping) else {}


def _to_text(result: Json) -> str:
    return "" if result is None else json.dumps(result, ensure_ascii=False)


def default_description(examples: int) -> str:
    return f"Template with {examples} examples"


def check_name(raw: str) -> str:
    """The name, if a file can be called so. Nothing is repaired in silence."""
    name = str(raw)
    if len(name) > _NAME_CHARACTERS or len(name.encode("utf-8", "replace")) > 240:
        raise BadInput(f"The name has {len(name)} characters.", hint=f"Use at most {_NAME_CHARACTERS}.")
    if not _NAME.fullmatch(name) or ".." in name or name.partition(".")[0].lower() in _RESERVED_NAMES:
        raise BadInput(
            f"{raw!r} cannot be the name of a template.",
            hint="Use letters, digits, spaces and . _ - +, beginning with a letter or digit.",
        )
    return name


def check_file_name(raw: str) -> str:
    """The name, if a file of the folder may have it: one made by another program is reached too, nothing outside is."""
    name = str(raw)
    try:
        is_plain = name[:1] not in ("", ".") and Path(name).name == name and not {"\\", "\0"} & set(name)
        is_short = len(os.fsencode(name)) <= 250
    except UnicodeEncodeError:
        is_plain = is_short = False
    return name if is_plain and is_short else check_name(name)


def default_name(task_type: TaskType, session: str, now: float | None = None) -> str:
    """`<type>_<the last 8 of the session's id>_<unix time>`: the first 8 of our ids are a date."""
    tail = re.sub(r"[^\w-]", "", session)[-8:] or "session"
    return f"{task_type.value}_{tail}_{int(time.time() if now is None else now)}"


def find_free_name(name: str, taken: Iterable[str]) -> str:
    """The name, followed by a number if it is taken."""
    used, candidate, number = set(taken), name, 2
    while candidate in used:
        candidate, number = f"{name}_{number}", number + 1
    return candidate
