"""Builds a session of opencode from rows of JSON, which all its storage formats have in common.

opencode updates rows while it works, but a message is imported once. So an unfinished last answer of a recently
updated session is left for the next import; in a session that has been idle for a while it is imported as it is.

Automatic messages have the role `system`: synthetic prompts, summaries, instructions of commands, shell commands of
the person with their output, and the errors of failed requests. A message has the same id in all formats, and a tool
result has `<message>:<call>`, so a history that opencode converts from one format to another is not imported twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sojourn.core.messages import ToolCall
from sojourn.importers.jsonl import parse_object
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    join_lines,
    to_content,
    to_extra,
    to_json,
    to_seconds,
    to_text_part,
)
from sojourn.ports.importer import Transcript

NAME = "opencode"
QUIET_SECONDS = 600.0  # a session without updates for so long is idle
_PLACEHOLDERS = ("New session - ", "Child session - ")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A message of any format. `parts` are (id, JSON) pairs, if parts are stored as separate rows."""

    id: str
    data: str
    kind: str = ""
    created: Any = 0
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session of any format, with the column names of the database."""

    id: str
    values: dict[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    problem: str = ""  # why it cannot be read

    @property
    def began(self) -> float:
        return to_seconds(self.values.get("time_created"))

    @property
    def updated(self) -> float:
        return to_seconds(self.values.get("time_updated"))

    def is_settled(self) -> bool:
        """Whether the session is idle. A time in the future counts as idle."""
        return not 0 <= time.time() - self.updated < QUIET_SECONDS


class SessionBuilder:
    """Builds the transcript of one session from its rows."""

    def __init__(self, session: SessionRow) -> None:
        self.session = session
        self.builder = TranscriptBuilder(session.began)
        self.model = self.provider = ""

    def parse_row(self, text: str, kind: str, own: str) -> dict[str, Any] | None:
        """The JSON object of a row; an invalid one is reported and stored unchanged."""
        found = parse_object(text)
        if found is None:
            self.builder.warnings.append(f"{kind} {own} cannot be read; it is stored unchanged")
            self.builder.add_record("unreadable", text)
        return found

    def is_unfinished(self, row: MessageRow, data: dict[str, Any], *, last: bool) -> bool:
        """Whether opencode is still writing an answer, so that it is left for the next import."""
        is_open = not as_mapping(data.get("time")).get("completed") and not data.get("error")
        if not (last and is_open) or self.session.is_settled():
            return False
        self.builder.warnings.append(f"message {row.id} is unfinished; the next import will read it")
        return True

    def add_usage(self, data: dict[str, Any], model: Any, provider: Any) -> None:
        """Adds the usage of an answer, and notes its model."""
        self.model, self.provider = as_text(model) or self.model, as_text(provider) or self.provider
        tokens, cost = as_mapping(data.get("tokens")), data.get("cost")
        cache = as_mapping(tokens.get("cache"))
        if any(tokens.get(name) for name in ("input", "output")):
            self.builder.usage.add(
                self.model,
                provider=self.provider,
                cost=float(cost) if isinstance(cost, int | float) else None,
                input_tokens=tokens.get("input"),
                output_tokens=tokens.get("output"),
                reasoning_tokens=tokens.get("reasoning"),
                cache_read_tokens=cache.get("read"),
                cache_write_tokens=cache.get("write"),
            )

    def add_answer(self, row: MessageRow, data: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """Adds an answer: for each step the reasoning and text with the tool calls, then the tool results."""
        extra, moment = to_extra(data, _ANSWER), get_created_at(data, row)
        failed = get_error_text(data.get("error"))
        finish = as_text(data.get("finish")) or ("error" if failed else None)
        if not parts and failed:
            self.builder.add("system", row.id, moment, content=failed, finish_reason=finish, extra=extra)
            return
        for step in _split_steps(parts):
            texts = [text for part in step if part["type"] == "text" and (text := as_text(part.get("text")))]
            reasoning = [part for part in step if part["type"] == "reasoning"]
            tools = [part for part in step if part["type"] == "tool"]
            self.builder.add(
                "assistant",
                row.id,
                moment,
                calls=[_to_tool_call(part) for part in tools],
                extra=extra,
                finish_reason=finish,
                **to_content([to_text_part(text) for text in texts]),
                reasoning=join_lines(part.get("text") for part in reasoning),
                reasoning_details=to_json(reasoning) if any(part.get("metadata") for part in reasoning) else None,
            )
            extra = None
            for part in tools:
                self._add_output(row, part)

    def _add_output(self, row: MessageRow, part: dict[str, Any]) -> None:
        state = as_mapping(part.get("state"))
        if state.get("status") not in ("completed", "error"):
            return  # the call has no result
        times = as_mapping(state.get("time")) or as_mapping(part.get("time"))
        self.builder.add(
            "tool",
            f"{row.id}:{get_call_id(part)}",
            to_seconds(times.get("end") or times.get("completed")),
            tool_call_id=get_call_id(part),
            **to_content(_to_output_parts(state)),
            extra=to_extra(state | {"is_error": state["status"] == "error" or None}, _STATE),
        )

    def build(self) -> Transcript:
        """Returns the transcript after all rows were added."""
        values = self.session.values
        parent, origin = as_text(values.get("parent_id")), as_text(values.get("fork_session_id"))
        title = as_text(values.get("title")) or ""
        self._apply_revert(as_mapping(_parse_json(values.get("revert"))))
        model = as_mapping(_parse_json(values.get("model")))
        known = ("version", "slug", "agent", "project_id", "fork_boundary", "workspace_id")
        fields = {
            "source": "subagent" if parent else NAME,
            "parent_session_id": parent or origin,
            "title": None if title.startswith(_PLACEHOLDERS) else title or None,
            "cwd": as_text(values.get("directory")),
            "git_repo_root": as_text(values.get("worktree")),
            "model": self.model or as_text(model.get("id")),
            "billing_provider": self.provider or None,
            "started_at": self.session.began,
            "archived": int(bool(values.get("time_archived"))),
            "extra": to_json({name: values[name] for name in known if values.get(name)}),
        }
        return self.builder.build(self.session.id, fields)

    def _apply_revert(self, revert: dict[str, Any]) -> None:
        """Marks messages as undone that the person reverted; opencode deletes them with the next prompt."""
        own = as_text(revert.get("messageID"))
        if own is None:
            return
        ids = [(message.native_id or "").partition(":")[0].partition("#")[0] for message in self.builder.messages]
        if own in ids:
            first, last = ids.index(own), len(ids) - ids[::-1].index(own)
            self.builder.mark_undone(last if revert.get("partID") else first)


_ANSWER = (
    *("role", "time", "tokens", "cost", "content", "finish", "modelID", "providerID", "model", "path"),
    *("parentID", "id", "sessionID", "snapshot"),
)
_STATE = ("status", "input", "output", "content", "time", "attachments")


def _split_steps(parts: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Splits an answer into steps: text after a call begins the next step, because the model has seen the result."""
    step: list[dict[str, Any]] = []
    for is_tool, group in groupby(parts, lambda part: part["type"] == "tool"):
        if step and not is_tool:
            yield step
            step = []
        step += group
    if step:
        yield step


def get_call_id(part: dict[str, Any]) -> str:
    """The id of a call: `callID` in 1.x, `id` in 2.x."""
    return str(part.get("callID") or part.get("id") or "")


def _to_tool_call(part: dict[str, Any]) -> ToolCall:
    given = as_mapping(part.get("state")).get("input")
    arguments = given if isinstance(given, str) else to_json({} if given is None else given)
    return ToolCall(
        id=get_call_id(part), name=str(part.get("tool") or part.get("name") or "unknown"), arguments=arguments
    )


def _to_output_parts(state: dict[str, Any]) -> list[Any]:
    """The result of a tool: text and files; 2.x may have structured data instead."""
    output, shown = as_text(state.get("output")), [*as_list(state.get("content")), *as_list(state.get("attachments"))]
    if output:
        shown.insert(0, to_text_part(output))
    if shown:
        return shown
    if state.get("status") == "error":
        return [to_text_part(get_error_text(state.get("error")))]
    data = state.get("structured")
    return [to_text_part(as_text(as_mapping(data).get("content")) or (to_json(data) if data else ""))]


def get_error_text(error: Any) -> str:
    """The message of an error, which may be a text or an object."""
    if isinstance(error, str):
        return error
    error = as_mapping(error)
    return str(error.get("message") or as_mapping(error.get("data")).get("message") or error.get("name") or "") or (
        to_json(error) if error else ""
    )


def get_created_at(data: dict[str, Any], row: MessageRow) -> float:
    return to_seconds(as_mapping(data.get("time")).get("created")) or to_seconds(row.created)


def _parse_json(value: Any) -> Any:
    return parse_object(value) if isinstance(value, str) else value
