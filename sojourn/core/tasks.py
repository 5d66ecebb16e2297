"""The task graph of one request: what there is to do, in which order, and what can run now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TaskState = Literal["waiting", "running", "done", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to do. It can run when everything it `needs` is done."""

    id: str
    title: str
    needs: tuple[str, ...] = ()
    state: TaskState = "waiting"
    result: str = ""
    why: str = ""  # why it failed or was skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGraph:
    """Bounded: at most MOST tasks. `parallel` is the judgement whether working at once is worth it."""

    tasks: tuple[Task, ...] = ()
    parallel: bool = False
    because: str = ""  # the reason for that judgement
