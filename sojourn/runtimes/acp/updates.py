"""Maps an agent's updates to events: text, thoughts, tools, plans, and an observation of the turn."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Json, assistant
from sojourn.jsonrpc import Params, as_object, list_objects
from sojourn.ports.runtime import Observation, RuntimeOutput
from sojourn.runtimes.reported_calls import to_call_messages
from sojourn.text.ansi import ControlStripper, strip_control

UNANSWERED = "sojourn/unanswered"  # our own update: nobody answered the agent's question in time
_PLAN_STATES = {"pending": "waiting", "in_progress": "running", "completed": "done"}
_MAX_RESULT_CHARS = 4000


class UpdateMapper:
    """Maps the updates of one prompt. `text` is exactly the text that was shown. Tools are shown as progress while they
    run; a call becomes messages of the transcript when it ends.

    holds_first: hold the first piece of text until more comes, because it may be an error instead of an answer
    """

    def __init__(self, *, holds_first: bool = False) -> None:
        self.text = ""
        self._unsaved = ""  # shown since the last message
        self.held: str | None = None
        self.tools: dict[str, dict[str, Json]] = {}
        self.context: dict[str, Json] = {}  # usage of its context window, if reported
        self._holds = holds_first
        self._plain, self._thought = ControlStripper(), ControlStripper()
        self._after_tool = False
        self._began = time.monotonic()

    def map_update(self, update: Params) -> Iterator[RuntimeOutput]:
        """Yields the events of an update; nothing for an unknown kind."""
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            yield from self._add_text(_content_text(update.get("content")))
        elif kind == "agent_thought_chunk":
            yield from self.release()
            if thought := self._thought.feed(_content_text(update.get("content"))):
                yield Progress("thinking", {"text": thought})
        elif kind in ("tool_call", "tool_call_update"):
            yield from self.release()
            yield from self._map_tool(update)
        elif kind == "plan":
            yield Progress("task", {"tasks": _map_plan(update.get("entries")), "parallel": False, "because": ""})
        elif kind == "usage_update":
            self.context = {name: update[name] for name in ("size", "used") if isinstance(update.get(name), int)}
        elif kind == UNANSWERED:
            detail = {name: update.get(name) for name in ("question", "choice", "why")}
            yield Progress("approval", {"status": "answered", **detail})

    def _add_text(self, text: str) -> Iterator[RuntimeOutput]:
        if self._holds and self.held is None:
            self.held, self._holds = text, False
            return
        yield from self.release()
        yield from self._emit(self._plain.feed(text))

    def release(self) -> Iterator[RuntimeOutput]:
        """Yields the text that was held: more came, so it is not an error."""
        self._holds = False
        if self.held is not None:
            text, self.held = self.held, None
            yield from self._emit(self._plain.feed(text))

    def finish(self) -> Iterator[RuntimeOutput]:
        yield from self.release()
        yield from self._emit(self._plain.end())
        for tool in self.tools.values():
            if "status" not in tool:  # some agents never report the end of a tool
                tool.update(status="completed", duration=self._seconds_since(tool), told=False)
                yield Progress("tool", self._to_detail(tool))
                yield from to_call_messages([tool])  # without the last text, which is the answer

    def _emit(self, piece: str) -> Iterator[RuntimeOutput]:
        if not self.text:
            piece = piece.lstrip("\n")
        elif self._after_tool and piece.strip() and not (self.text + piece[:1]).endswith("\n"):
            piece = f"\n\n{piece}"
        if piece:
            self._after_tool = self._after_tool and not piece.strip()
            self.text += piece
            self._unsaved += piece
            yield Chunk(piece)

    def _map_tool(self, update: Params) -> Iterator[RuntimeOutput]:
        self._after_tool = True
        name = str(update.get("toolCallId") or f"tool-{len(self.tools) + 1}")
        tool = self.tools.get(name)
        if tool is None:
            tool = self.tools[name] = {
                "call_id": name,
                "tool": _tool_name(update),
                "preview": "",
                "began": time.monotonic(),
            }
            self._fill(tool, update)
            yield Progress("tool", {**self._to_detail(tool), "status": "started"})
        else:
            self._fill(tool, update)
        status = update.get("status")
        if status in ("completed", "failed") and "status" not in tool:
            tool.update(status=status, duration=self._seconds_since(tool))
            if status == "failed":
                tool["error"] = str(tool.get("result") or "The agent reports that it failed.")[:500]
            yield Progress("tool", self._to_detail(tool))
            text, self._unsaved = self._unsaved.strip("\n"), ""
            yield from to_call_messages([tool], text)

    def _fill(self, tool: dict[str, Json], update: Params) -> None:
        if update.get("title"):
            tool["preview"] = strip_control(str(update["title"]))
        if given := as_object(update.get("rawInput")):
            tool["arguments"] = given
            if command := given.get("command"):  # says more than its title, which may be "Terminal"
                words = command if isinstance(command, list) else [command]
                tool["preview"] = strip_control(" ".join(map(str, words)))
        if update.get("sessionUpdate") == "tool_call_update" and (result := _tool_result_text(update)):
            tool["result"] = result[:_MAX_RESULT_CHARS]

    def _seconds_since(self, tool: dict[str, Json]) -> float:
        return round(time.monotonic() - float(tool["began"]), 3)

    def _to_detail(self, tool: dict[str, Json]) -> dict[str, Json]:
        return {name: value for name, value in tool.items() if name not in ("began", "arguments", "result")}

    def collect_outcome(self, finish_reason: str, facts: Params) -> Iterator[RuntimeOutput]:
        """Yields what is saved of the turn: an observation, and the text that was shown last, as a message."""
        tools = [{name: value for name, value in tool.items() if name != "began"} for tool in self.tools.values()]
        seconds = round(time.monotonic() - self._began, 3)
        ended = {"ended": finish_reason, "seconds": seconds, "tools": tools, "context": self.context}
        yield Observation("prompt", {**facts, **ended})
        if self._unsaved.strip():
            yield assistant(self._unsaved.lstrip("\n"), finish_reason=finish_reason)


def _content_text(content: Json) -> str:
    """Returns the text of a content block; names a block of another type."""
    if not isinstance(content, dict):
        return ""
    if content.get("type") == "text":
        return str(content.get("text") or "")
    if content.get("type") == "resource_link":
        return f"[{content.get('title') or content.get('name') or 'a file'}: {content.get('uri') or ''}]"
    return f"[{content.get('type') or 'something'}]"


def _tool_name(update: Params) -> str:
    """The agent's own name of a tool, if it tells it; else the kind, which the protocol knows."""
    for extension in as_object(update.get("_meta")).values():
        if name := as_object(extension).get("toolName"):
            return strip_control(str(name))
    return str(update.get("kind") or "other")


def _tool_result_text(update: Params) -> str:
    parts = [_content_text(one.get("content")) for one in list_objects(update.get("content"))]
    text, raw = "\n".join(filter(None, parts)), update.get("rawOutput")
    if not text and raw:
        text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return strip_control(text)


def _map_plan(entries: Json) -> list[Json]:
    return [
        {
            "id": f"plan-{number}",
            "title": strip_control(str(step.get("content") or "")),
            "needs": [],
            "state": _PLAN_STATES.get(str(step.get("status")), "waiting"),
            "why": "",
        }
        for number, step in enumerate(list_objects(entries), 1)
    ]
