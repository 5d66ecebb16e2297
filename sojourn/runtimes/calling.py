"""Tool calls of one answer: all at once, each shown when it begins and when it ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence

from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Json, Message, ToolCall, tool_result
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.text.ansi import strip_control

STOPPED = "Stopped before it gave a result; whether it was carried out is not known."
_PREVIEW = 80


async def call_all(
    calls: Sequence[ToolCall], tools: Sequence[Tool], workspace: Workspace
) -> AsyncGenerator[Progress | Message, None]:
    """Runs the calls at once. When it is cancelled, calls without a result get one that says so."""
    by_name = {tool.name: tool for tool in tools}
    waiting = {call.id: call for call in calls}
    for call in calls:
        yield Progress("tool", {**_named(call), "status": "started"})
    tasks = {asyncio.create_task(_timed(call, by_name, workspace), name=call.name): call for call in calls}
    try:
        while tasks:
            over, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in over:
                call = tasks.pop(task)
                result, seconds = _outcome(task)
                del waiting[call.id]
                yield tool_result(call, result.text)
                yield _ended(call, result, seconds)
    except asyncio.CancelledError:
        await _stop(tasks)
        for call in waiting.values():
            yield tool_result(call, STOPPED)
        raise
    finally:
        await _stop(tasks)


async def _stop(tasks: Mapping[asyncio.Task[tuple[ToolResult, float]], ToolCall]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _timed(call: ToolCall, tools: Mapping[str, Tool], workspace: Workspace) -> tuple[ToolResult, float]:
    began = time.monotonic()
    return await _one(call, tools, workspace), time.monotonic() - began


async def _one(call: ToolCall, tools: Mapping[str, Tool], workspace: Workspace) -> ToolResult:
    tool = tools.get(call.name)
    if tool is None:
        return ToolResult(text=f"There is no tool {call.name}. There are: {', '.join(tools) or 'none'}.", ok=False)
    given = arguments_of(call)
    if given is None:
        return ToolResult(
            text=f"The arguments are not a JSON object: {call.arguments[:200]}. Call {call.name} again.", ok=False
        )
    try:
        return await tool.run(workspace, given)
    except SojournError as error:
        return ToolResult(text=f"{error} {error.hint}".strip(), ok=False)


def _outcome(task: asyncio.Task[tuple[ToolResult, float]]) -> tuple[ToolResult, float]:
    """What a tool gave. One that broke, or was cancelled from elsewhere, has failed; the turn goes on."""
    if task.cancelled():
        return ToolResult(text=STOPPED, ok=False), 0.0
    if (error := task.exception()) is not None:
        return ToolResult(text=f"{task.get_name()} broke: {type(error).__name__}: {error}.", ok=False), 0.0
    return task.result()


def arguments_of(call: ToolCall) -> Mapping[str, Json] | None:
    """The arguments as the tool wants them; None when they are not an object."""
    try:
        found = json.loads(call.arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def preview(call: ToolCall) -> str:
    """What a call is about, on one line: its first words."""
    given = arguments_of(call)
    first = next((value for value in (given or {}).values() if value not in (None, "", [])), "")
    text = (
        call.arguments if given is None else first if isinstance(first, str) else json.dumps(first, ensure_ascii=False)
    )
    line = " ".join(strip_control(text).split())
    return line if len(line) <= _PREVIEW else line[: _PREVIEW - 1] + "…"


def _named(call: ToolCall) -> dict[str, Json]:
    return {"call_id": call.id, "tool": call.name, "preview": preview(call)}


def _ended(call: ToolCall, result: ToolResult, seconds: float) -> Progress:
    shown: dict[str, Json] = {
        **_named(call),
        "status": "completed" if result.ok else "failed",
        "duration": round(seconds, 3),
    }
    if not result.ok:
        shown["error"] = strip_control(result.text)[:300] or "It failed without a word."
    if result.facts:
        shown["facts"] = dict(result.facts)
    return Progress("tool", shown)
