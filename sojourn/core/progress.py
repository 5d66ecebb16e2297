"""The `detail` of each `progress` stage, as typed dictionaries. The OpenAPI document publishes them.

Every key is optional: a stage has several moments (an approval is asked, then answered), and clients ignore unknown
keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypedDict

from sojourn.core.messages import Json


class MemoryDetail(TypedDict, total=False):
    """A block of context that the runtime receives."""

    kind: str
    title: str
    origin: str
    reason: str
    tokens: int


class PrepareDetail(TypedDict, total=False):
    """The context of a turn is complete, one source failed, or the runtime is starting."""

    blocks: Sequence[MemoryDetail]
    tokens: int
    left_out: Sequence[str]
    seconds: float
    source: str
    problem: str
    runtime: str
    url: str
    agent: str


class QueuedDetail(TypedDict, total=False):
    """The turn waits for its model or agent, or another request waits for this turn (`queued`)."""

    runtime: str
    because: str
    reason: str
    attempt: int
    of: int
    seconds: float
    queued: str
    by: str


class RunningDetail(TypedDict, total=False):
    """The runtime is at work, or a person steered it; `heard` is false when the runtime never took the text."""

    runtime: str
    model: str
    run_id: str
    version: str
    status: str
    line: str
    steer: str
    by: str
    heard: bool


class ThinkingDetail(TypedDict, total=False):
    """A piece of the model's reasoning."""

    text: str


class ToolDetail(TypedDict, total=False):
    """A tool call begins or ends, or prints a `line`."""

    call_id: str
    tool: str
    preview: str
    status: Literal["started", "completed", "failed"]
    duration: float
    error: str
    facts: Mapping[str, Json]
    line: str


class TaskEntry(TypedDict, total=False):
    """One task of a plan."""

    id: str
    title: str
    needs: Sequence[str]
    state: str
    why: str


class TaskDetail(TypedDict, total=False):
    """The plan and the state of its tasks."""

    tasks: Sequence[TaskEntry]
    ready: Sequence[str]
    done: int
    of: int
    parallel: bool
    because: str


class TemplateDetail(TypedDict, total=False):
    """A template that the runtime receives."""

    name: str
    task_type: str
    because: str
    examples: int
    tokens: int
    left_out: Sequence[str]
    mapped: Sequence[Json]


class ApprovalDetail(TypedDict, total=False):
    """The turn asks a person, or the person has answered. `detail` is redacted; `sha256` is of the exact text."""

    status: Literal["asked", "answered"]
    question: str
    text: str
    tool: str
    detail: Json
    sha256: str
    choices: Sequence[str]
    dangerous: bool
    scope: Literal["sandbox", "network", "outside"]
    seconds: float
    choice: str
    by: str
    why: str


_CompactionBase = TypedDict("_CompactionBase", {"from": int, "to": int}, total=False)
_HandoffBase = TypedDict("_HandoffBase", {"from": str, "to": str}, total=False)


class CompactionDetail(_CompactionBase, total=False):
    """Older messages are being summarised; `from` and `to` are the numbers of the first and the last one."""

    status: Literal["started", "completed", "kept"]
    messages: int
    tokens: int
    left: int
    summary: int


class HandoffDetail(_HandoffBase, total=False):
    """Another surface took over."""

    by: str


DETAILS: Mapping[str, type] = MappingProxyType(
    {
        "prepare": PrepareDetail,
        "queued": QueuedDetail,
        "running": RunningDetail,
        "thinking": ThinkingDetail,
        "tool": ToolDetail,
        "task": TaskDetail,
        "template": TemplateDetail,
        "memory": MemoryDetail,
        "approval": ApprovalDetail,
        "compaction": CompactionDetail,
        "handoff": HandoffDetail,
    }
)
