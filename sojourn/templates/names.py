"""Names of templates. A name becomes a file name, so it has to be a safe one everywhere."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.templates.model import TaskType

MOST = 100  # characters
_NAME = re.compile(r"\w(?:[\w .+-]*[\w+-])?")
_TAKEN = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})


def check_name(raw: str) -> str:
    """The name, if a file can be called so. Nothing is repaired in silence."""
    name = str(raw)
    if len(name) > MOST or len(name.encode("utf-8", "replace")) > 240:
        raise BadInput(f"The name has {len(name)} characters.", hint=f"Use at most {MOST}.")
    if not _NAME.fullmatch(name) or ".." in name or name.partition(".")[0].lower() in _TAKEN:
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
