"""Maps what a session's log holds to `session/update`: a turn as it runs, and a transcript as it is replayed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from sojourn.core.events import Chunk, Done, Progress
from sojourn.core.messages import Json, Message, text_of
from sojourn.core.sessions import Recorded
from sojourn.jsonrpc import Params
from sojourn.text.transcript import SpokenText, fold_messages, is_undone, summarize_call

_KINDS = {
    "read_file": "read",
    "send_file": "read",
    "search_files": "search",
    "search_sessions": "search",
    "web_search": "search",
    "write_file": "edit",
    "patch": "edit",
    "terminal": "execute",
    "execute_code": "execute",
    "web_fetch": "fetch",
    "todo": "think",
}
_ACP_KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch"}
_PLAN_STATES = {"done": "completed", "skipped": "completed", "running": "in_progress"}
_MAX_RESULT_CHARS = 20_000


def to_kind(tool: str) -> str:
    """The protocol's kind of a tool, which an editor shows as an icon."""
    return _KINDS.get(tool, tool if tool in _ACP_KINDS else "other")


def to_text_update(kind: str, text: str) -> Params:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def to_content(text: str) -> list[Json]:
    return [{"type": "content", "content": {"type": "text", "text": text}}]


class TurnUpdates:
    """Maps the events of one turn. `open_calls` are the tool calls that have not ended, with their tools."""

    def __init__(self) -> None:
        self.open_calls: dict[str, str] = {}
        self._chunked = False

    def map_event(self, recorded: Recorded) -> Iterator[Params]:
        match recorded.item:
            case Chunk(text=text):
                self._chunked = True
                yield to_text_update("agent_message_chunk", text)
            case Message(role="assistant") as message:
                if not self._chunked and (text := text_of(message)).strip():
                    yield to_text_update("agent_message_chunk", text)
                self._chunked = False
            case Progress(stage="thinking", detail=detail) if detail.get("text"):
                yield to_text_update("agent_thought_chunk", str(detail["text"]))
            case Progress(stage="tool", detail=detail) if "line" not in detail:
                yield from self._map_tool(dict(detail))
            case Progress(stage="task", detail=detail):
                yield {"sessionUpdate": "plan", "entries": _to_entries(detail.get("tasks"))}
            case Done(usage=usage):
                yield from self._end_calls()
                used, size = usage.get("context_tokens"), usage.get("context_window")
                if isinstance(used, int) and isinstance(size, int) and size > 0:
                    yield {"sessionUpdate": "usage_update", "used": used, "size": size}

    def _map_tool(self, detail: Params) -> Iterator[Params]:
        tool = str(detail.get("tool") or "tool")
        call, status = str(detail.get("call_id") or tool), detail.get("status")
        if status not in ("completed", "failed"):
            title = f"{tool} {detail.get('preview') or ''}".strip()
            if call not in self.open_calls:
                self.open_calls[call] = tool
                yield {
                    "sessionUpdate": "tool_call",
                    "toolCallId": call,
                    "title": title,
                    "kind": to_kind(tool),
                    "status": "in_progress",
                }
            return
        self.open_calls.pop(call, None)
        update: Params = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status}
        if isinstance(detail.get("error"), str):
            update["content"] = to_content(detail["error"])
        yield update

    def _end_calls(self) -> Iterator[Params]:
        for call in self.open_calls:
            yield {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "failed"}
        self.open_calls.clear()


def _to_entries(tasks: Json) -> list[Json]:
    found = [one for one in tasks if isinstance(one, dict)] if isinstance(tasks, list | tuple) else []
    return [
        {
            "content": str(one.get("title") or ""),
            "priority": "medium",
            "status": _PLAN_STATES.get(str(one.get("state")), "pending"),
        }
        for one in found
    ]


def replay(rows: Iterable[Recorded]) -> Iterator[Params]:
    """Yields a transcript as updates, without what was undone and without Sojourn's own notices."""
    live = (row for row in rows if isinstance(row.item, Message) and not is_undone(row.item))
    for number, piece in enumerate(fold_messages(live)):
        if isinstance(piece, SpokenText):
            if not piece.is_notice:
                yield from _replay_text(piece)
            continue
        call = piece.call.id or f"call-{piece.seq}-{number}"
        yield {
            "sessionUpdate": "tool_call",
            "toolCallId": call,
            "title": f"{piece.call.name} {summarize_call(piece.call)}".strip()[:500],
            "kind": to_kind(piece.call.name),
            "status": "in_progress",
            "rawInput": _decode(piece.call.arguments),
        }
        answered: Params = {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed"}
        yield answered | ({"content": to_content(piece.answer[:_MAX_RESULT_CHARS])} if piece.answer else {})


def _replay_text(piece: SpokenText) -> Iterator[Params]:
    message = piece.message
    if message.role == "assistant" and (thought := message.reasoning or message.reasoning_content):
        yield to_text_update("agent_thought_chunk", thought)
    kind = {"user": "user_message_chunk", "assistant": "agent_message_chunk"}.get(message.role)
    if kind and piece.text.strip():
        yield to_text_update(kind, piece.text)


def _decode(arguments: str) -> Json:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
