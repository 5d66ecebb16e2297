"""What opencode's generations have in common: rows of JSON, and a session made of them.

opencode changes its rows while it works, and a message is imported once. So the last answer of a session
that was touched a moment ago is left for the next import when it is not finished; a session that is quiet
is taken as it is, for nobody will finish it any more.

What nobody said has the role `system`: synthetic prompts, summaries, the instructions of commands, a
command the person ran in the shell with its output, and the reason why a request failed. A message keeps
its id in every generation, a tool's output is known as `<message>:<call>`, so a history that moves from
the tree to the database, or from 1.x to 2.x, is not imported twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from sojourn.core.messages import Message, ToolCall
from sojourn.importers.jsonl import as_object
from sojourn.importers.transcript_builder import Talk, as_json, content, mapping, nonempty, rest, seconds
from sojourn.importers.usage import Spending
from sojourn.ports.importer import Transcript

NAME = "opencode"
QUIET = 600.0  # seconds after which nobody is at work on a session any more
_PLACEHOLDERS = ("New session - ", "Child session - ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A message of either generation. `parts` only where they are rows of their own: (id, JSON)."""

    id: str
    data: str
    kind: str = ""
    created: Any = 0
    parts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session, whatever it was kept in; names as in the database."""

    id: str
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def updated(self) -> float:
        return seconds(self.values.get("time_updated"))

    def is_settled(self) -> bool:
        """Whether it has been quiet for a while. A clock that is ahead of ours says nothing."""
        return not 0 <= time.time() - self.updated < QUIET


class Gathering:
    """A session being read: its talk, what it cost, and what may still change."""

    def __init__(self, session: SessionRow) -> None:
        self.session = session
        self.talk = Talk(seconds(session.values.get("time_created")))
        self.spending = Spending()
        self.model = self.provider = ""

    def object_in(self, text: str, kind: str, own: str) -> dict[str, Any] | None:
        """The JSON of a row; one that cannot be read is named and kept as it stands."""
        found = as_object(text)
        if found is None:
            self.talk.warnings.append(f"{kind} {own} cannot be read; it is kept as it stands")
            self.talk.keep("unreadable", text)
        return found

    def is_left(self, row: Row, data: dict[str, Any], *, last: bool) -> bool:
        """Whether an answer is still being written, and so is left for the next import."""
        is_open = not mapping(data.get("time")).get("completed") and not data.get("error")
        if not (last and is_open) or self.session.is_settled():
            return False
        self.talk.warnings.append(f"message {row.id} is not finished; it comes with the next import")
        return True

    def spend(self, data: dict[str, Any], model: Any, provider: Any) -> None:
        """What an answer took. The models are noted even where nothing was counted."""
        self.model, self.provider = nonempty(model) or self.model, nonempty(provider) or self.provider
        tokens, cost = mapping(data.get("tokens")), data.get("cost")
        cache = mapping(tokens.get("cache"))
        if any(tokens.get(name) for name in ("input", "output")):
            self.spending.add(
                self.model,
                provider=self.provider,
                cost=float(cost) if isinstance(cost, int | float) else None,
                input_tokens=tokens.get("input"),
                output_tokens=tokens.get("output"),
                reasoning_tokens=tokens.get("reasoning"),
                cache_read_tokens=cache.get("read"),
                cache_write_tokens=cache.get("write"),
            )

    def answer(self, row: Row, data: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """An answer: thought and words with the calls behind them, then the outputs; again for each step."""
        extra, moment = rest(data, _ANSWER), said_at(data, row)
        failed = error_text(data.get("error"))
        finish = nonempty(data.get("finish")) or ("error" if failed else None)
        if not parts and failed:
            nobody = Message(role="system", content=failed, native_id=row.id, timestamp=moment, finish_reason=finish)
            self.talk.add(replace(nobody, extra=extra))
            return
        for step in _steps(parts):
            said = [part for part in step if part["type"] == "text"]
            thought = [part for part in step if part["type"] == "reasoning"]
            tools = [part for part in step if part["type"] == "tool"]
            self.talk.add(
                Message(
                    role="assistant",
                    native_id=row.id,
                    timestamp=moment,
                    extra=extra,
                    finish_reason=finish,
                    **_words(said),
                    reasoning="\n".join(filter(None, (nonempty(part.get("text")) for part in thought))) or None,
                    reasoning_details=as_json(thought) if any(part.get("metadata") for part in thought) else None,
                ),
                [_call(part) for part in tools],
            )
            extra = None
            for part in tools:
                self._output(row, part)

    def _output(self, row: Row, part: dict[str, Any]) -> None:
        state = mapping(part.get("state"))
        if state.get("status") not in ("completed", "error"):
            return  # it never answered
        times = mapping(state.get("time")) or mapping(part.get("time"))
        self.talk.add(
            Message(
                role="tool",
                native_id=f"{row.id}:{call_id(part)}",
                tool_call_id=call_id(part),
                timestamp=seconds(times.get("end") or times.get("completed")),
                **content(_result(state)),
                extra=rest(state | {"is_error": state["status"] == "error" or None}, _STATE),
            )
        )

    def transcript(self) -> Transcript:
        """The whole session, once everything was added."""
        values = self.session.values
        parent, origin = nonempty(values.get("parent_id")), nonempty(values.get("fork_session_id"))
        title = nonempty(values.get("title")) or ""
        self._revert(mapping(_json(values.get("revert"))))
        model = mapping(_json(values.get("model")))
        known = ("version", "slug", "agent", "project_id", "fork_boundary", "workspace_id")
        fields = {
            "source": "subagent" if parent else NAME,
            "parent_session_id": parent or origin,
            "title": None if title.startswith(_PLACEHOLDERS) else title or None,
            "cwd": nonempty(values.get("directory")),
            "git_repo_root": nonempty(values.get("worktree")),
            "model": self.model or nonempty(model.get("id")),
            "billing_provider": self.provider or None,
            "started_at": seconds(values.get("time_created")),
            "archived": int(bool(values.get("time_archived"))),
            "extra": as_json({name: values[name] for name in known if values.get(name)}),
            **self.spending.fields(),
        }
        return Transcript(
            native_id=self.session.id,
            fields=fields,
            messages=self.talk.messages,
            records=self.talk.records,
            warnings=tuple(self.talk.warnings),
        )

    def _revert(self, revert: dict[str, Any]) -> None:
        """What the person took back is still there until they go on."""
        own = nonempty(revert.get("messageID"))
        if own is None:
            return
        ids = [(message.native_id or "").partition(":")[0].partition("#")[0] for message in self.talk.messages]
        if own in ids:
            first, last = ids.index(own), len(ids) - ids[::-1].index(own)
            self.talk.undone(last if revert.get("partID") else first)


_ANSWER = (
    "role",
    "time",
    "tokens",
    "cost",
    "content",
    "finish",
    "modelID",
    "providerID",
    "model",
    "path",
    "parentID",
    "id",
    "sessionID",
    "snapshot",
)
_STATE = ("status", "input", "output", "content", "time", "attachments")


def _steps(parts: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Words after a call belong to the next step: the model had seen the output by then."""
    step: list[dict[str, Any]] = []
    for is_tool, group in groupby(parts, lambda part: part["type"] == "tool"):
        if step and not is_tool:
            yield step
            step = []
        step += group
    if step:
        yield step


def _words(said: list[dict[str, Any]]) -> dict[str, Any]:
    spoken = [{"type": "text", "text": text} for part in said if (text := nonempty(part.get("text")))]
    return content(spoken)


def call_id(part: dict[str, Any]) -> str:
    """First generation: `callID`; second: `id`."""
    return str(part.get("callID") or part.get("id") or "")


def _call(part: dict[str, Any]) -> ToolCall:
    given = mapping(part.get("state")).get("input")
    arguments = given if isinstance(given, str) else as_json({} if given is None else given)
    return ToolCall(id=call_id(part), name=str(part.get("tool") or part.get("name") or "unknown"), arguments=arguments)


def _result(state: dict[str, Any]) -> list[Any]:
    """What a tool answered: text, with files where there are some; the second generation may have data instead."""
    output, shown = nonempty(state.get("output")), [*_list(state.get("content")), *_list(state.get("attachments"))]
    if output:
        shown.insert(0, {"type": "text", "text": output})
    if shown:
        return shown
    if state.get("status") == "error":
        return [{"type": "text", "text": error_text(state.get("error"))}]
    data = state.get("structured")
    return [{"type": "text", "text": nonempty(mapping(data).get("content")) or (as_json(data) if data else "")}]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def error_text(error: Any) -> str:
    """Why something failed, in one line."""
    if isinstance(error, str):
        return error
    told = mapping(error)
    return str(told.get("message") or mapping(told.get("data")).get("message") or told.get("name") or "") or (
        as_json(told) if told else ""
    )


def said_at(data: dict[str, Any], row: Row) -> float:
    return seconds(mapping(data.get("time")).get("created")) or seconds(row.created)


def _json(value: Any) -> Any:
    return as_object(value) if isinstance(value, str) else value
