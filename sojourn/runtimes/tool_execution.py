"""Tool execution: runs the tool calls of one answer in parallel, with progress events for each."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Json, Message, ToolCall, tool_result
from sojourn.core.progress import ToolDetail
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.text.ansi import strip_control
from sojourn.text.redaction import redact

STOPPED = "Stopped before it gave a result; whether it was carried out is not known."
MAX_AT_ONCE = 8  # calls
_MAX_PREVIEW_CHARS = 80
_MAX_ERROR_CHARS = 300


async def run_tool_calls(
    calls: Sequence[ToolCall], tools: Sequence[Tool], workspace: Workspace, *, at_once: int = MAX_AT_ONCE
) -> AsyncGenerator[Progress | Message, None]:
    """Runs the calls, `at_once` of them in parallel; the others wait their turn.

    When it is cancelled, calls without a result get one that says so.
    """
    by_name = {tool.name: tool for tool in tools}
    waiting = deque(calls)
    tasks: dict[asyncio.Task[tuple[ToolResult, float]], ToolCall] = {}
    try:
        while tasks or waiting:
            while waiting and len(tasks) < at_once:
                call = waiting.popleft()
                tasks[asyncio.create_task(_run_timed(call, by_name, workspace), name=call.name)] = call
                yield Progress("tool", {**_describe_call(call), "status": "started"})
            over, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in over:
                call = tasks.pop(task)
                result, seconds = _result_of(task)
                yield tool_result(call, result.text)
                yield _to_ended_progress(call, result, seconds)
    except asyncio.CancelledError:
        await cancel_tasks(tasks)
        for call in (*tasks.values(), *waiting):
            yield tool_result(call, STOPPED)
        raise
    finally:
        await cancel_tasks(tasks)


async def _run_timed(call: ToolCall, tools: Mapping[str, Tool], workspace: Workspace) -> tuple[ToolResult, float]:
    began = time.monotonic()
    return await _run_call(call, tools, workspace), time.monotonic() - began


async def _run_call(call: ToolCall, tools: Mapping[str, Tool], workspace: Workspace) -> ToolResult:
    tool = tools.get(call.name)
    if tool is None:
        names = ", ".join(tools) or "none"
        return ToolResult(text=f"There is no tool {call.name}. Available tools: {names}.", ok=False)
    arguments = parse_arguments(call)
    if arguments is None:
        return ToolResult(
            text=f"The arguments are not a JSON object: {call.arguments[:200]}. Call {call.name} again.", ok=False
        )
    try:
        return await tool.run(workspace, arguments)
    except SojournError as error:
        return ToolResult(text=f"{error} {error.hint}".strip(), ok=False)


def _result_of(task: asyncio.Task[tuple[ToolResult, float]]) -> tuple[ToolResult, float]:
    """Returns a tool's result. One that raised or was cancelled from elsewhere has failed; the turn goes on."""
    if task.cancelled():
        return ToolResult(text=STOPPED, ok=False), 0.0
    if (error := task.exception()) is not None:
        return ToolResult(text=f"{task.get_name()} broke: {type(error).__name__}: {error}.", ok=False), 0.0
    return task.result()


def parse_arguments(call: ToolCall) -> Mapping[str, Json] | None:
    """Parses the arguments of a call; None when they are not a JSON object."""
    try:
        found = json.loads(call.arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def render_preview(call: ToolCall) -> str:
    """Renders a call on one line: the beginning of its first argument."""
    arguments = parse_arguments(call)
    first: Json = call.arguments
    if arguments is not None:
        first = next((value for value in arguments.values() if value not in (None, "", [])), "")
    text = first if isinstance(first, str) else json.dumps(first, ensure_ascii=False)
    line = " ".join(redact(strip_control(text)).split())  # before it is cut: half a secret is not recognised
    return line if len(line) <= _MAX_PREVIEW_CHARS else line[: _MAX_PREVIEW_CHARS - 1] + "…"


def _describe_call(call: ToolCall) -> ToolDetail:
    return {"call_id": call.id, "tool": call.name, "preview": render_preview(call)}


def _to_ended_progress(call: ToolCall, result: ToolResult, seconds: float) -> Progress:
    detail = _describe_call(call)
    own = (result.facts or {}).get("duration")  # without the time in which a person was asked
    detail["status"] = "completed" if result.ok else "failed"
    detail["duration"] = own if isinstance(own, float) else round(seconds, 3)
    if not result.ok:
        detail["error"] = strip_control(result.text)[:_MAX_ERROR_CHARS] or "It failed and gave no reason."
    if result.facts:
        detail["facts"] = dict(result.facts)
    return Progress("tool", detail)
