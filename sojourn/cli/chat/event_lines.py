"""EventRenderer: turns the events of a session into lines on a screen."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from sojourn.core.errors import NotAllowed
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import Message, is_internal, text_of
from sojourn.core.sessions import Recorded, Session
from sojourn.text.exact import reveal
from sojourn.text.formatting import format_duration, one_line, pluralize, printable

_PREVIEW_CHARS = 160
_MAX_TITLES, _TITLE_CHARS = 3, 40  # memories that are named, and of each name
_ANSWERS = {
    "once": "allowed once",
    "session": "allowed until this session ends",
    "always": "allowed from now on",
    "deny": "not allowed",
}
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")


@dataclass(slots=True)
class TurnStatus:
    """The state of a running turn, for the status line."""

    turn: str = ""
    runtime: str = ""
    model: str = ""
    started_at: float = 0.0
    activity: str = ""
    tools: dict[str, str] = field(default_factory=dict)  # running calls, by id

    @property
    def text(self) -> str:
        running = ", ".join(self.tools.values())
        return one_line(running or self.activity or "working", 100)


class MarkdownStream:
    """Collects the chunks of an answer. A block ends at an empty line outside of fenced code."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, piece: str) -> list[str]:
        """Adds a chunk and returns the blocks that it finishes."""
        self._text += piece
        end = _find_end(self._text)
        done, self._text = self._text[:end], self._text[end:]
        return [done.strip("\n")] if done.strip() else []

    def flush(self) -> list[str]:
        """Returns the tail as a block and empties it."""
        rest, self._text = self._text.strip("\n"), ""
        return [rest] if rest.strip() else []

    @property
    def tail(self) -> str:
        return self._text.strip("\n")


def _find_end(text: str) -> int:
    """The position after the last finished block."""
    at, end, fence = 0, 0, ""
    for line in text.splitlines(keepends=True):
        at += len(line)
        if not line.endswith("\n"):
            break
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence, end = "", at
        elif mark:
            fence = mark[1]
        elif not line.strip():
            end = at
    return end


class EventRenderer:
    """Renders events. `typed_here` are messages that the prompt has printed already; `own_label` is who sits here."""

    def __init__(self, own_label: str = "") -> None:
        self.own_label = own_label
        self.typed_here: list[str] = []
        self.status: TurnStatus | None = None
        self.question: Mapping[str, Any] | None = None
        self.usage: dict[str, float] = {}
        self.context_left: float | None = None  # the share of the model's window, after the last turn
        self.shows_thinking = False
        self._runtime = ""  # of the turn before
        self._memories: list[str] = []  # titles of what the turn was given, until all of it is known
        self._named_memories: list[str] = []  # those of the turn before
        self._thought = ""  # the line of thinking that is not complete yet
        self._blocks = MarkdownStream()
        self._chunked = False

    def start_from(self, session: Session) -> None:
        """Takes over what a session has used so far, to which its next turns add."""
        used = {"input_tokens": session.input_tokens, "output_tokens": session.output_tokens}
        self.usage = {name: float(tokens) for name, tokens in used.items() if tokens}
        if session.estimated_cost_usd is not None:
            self.usage["cost_usd"] = session.estimated_cost_usd

    @property
    def tail(self) -> str:
        return printable(self._blocks.tail)

    def render(self, recorded: Recorded) -> Iterator[RenderableType]:
        """Yields the lines that an event adds."""
        item = recorded.item
        if self._thought and not (isinstance(item, Progress) and item.stage == "thinking"):
            yield from self._render_thinking("\n")
        if self._memories and not (isinstance(item, Progress) and item.stage == "memory"):
            yield from self._render_memories(recorded.session)
        match item:
            case Metadata():
                if self._runtime not in ("", item.runtime):
                    yield _render_note(f"{item.runtime} answers now, no longer {self._runtime}")
                self._runtime = item.runtime
                self.status = TurnStatus(recorded.turn or "", item.runtime, item.model, time.monotonic())
                self._chunked = False
            case Chunk():
                self._chunked = True
                yield from map(_render_markdown, self._blocks.add(printable(item.text)))
            case Message():
                yield from self._render_message(item)
            case Progress():
                yield from self._render_progress(item)
            case Failed():
                yield from self._flush()
                yield Text.assemble(("✗ ", "red"), (printable(item.message), "red"), (f"   ({item.code})", "dim"))
                if item.hint:
                    yield Text(f"  {printable(item.hint)}")
            case Done():
                yield from self._flush()
                yield from self._finish(item)

    def _flush(self) -> Iterator[RenderableType]:
        yield from map(_render_markdown, self._blocks.flush())

    def _render_message(self, message: Message) -> Iterator[RenderableType]:
        if is_internal(message):
            yield _render_note(text_of(message).strip())
        elif message.role == "user":
            words = text_of(message).strip()
            typed = next((one for one in self.typed_here if words == one or words.startswith(f"{one}\n")), None)
            if typed is not None:  # what follows it stands for files
                self.typed_here.remove(typed)
            else:
                yield Text.assemble(("\n❯ ", "cyan"), (printable(words), "cyan"))
        elif message.role == "assistant":
            yield from self._flush()
            if not self._chunked and (text := printable(text_of(message).strip())):
                yield _render_markdown(text)
            self._chunked = False

    def _finish(self, done: Done) -> Iterator[RenderableType]:
        took = format_duration(time.monotonic() - self.status.started_at) if self.status else ""
        self.status = self.question = None
        for key in ("input_tokens", "output_tokens", "cost_usd"):
            value = done.usage.get(key)
            if isinstance(value, int | float):
                self.usage[key] = self.usage.get(key, 0) + value
        used, window = done.usage.get("context_tokens"), done.usage.get("context_window")
        if isinstance(used, int | float) and isinstance(window, int | float) and window > 0 and used:
            self.context_left = max(0.0, 1 - used / window)
        if done.status != "completed":
            yield Text(f"─ {done.status} after {took}" if took else f"─ {done.status}", style="yellow")

    def _render_progress(self, progress: Progress) -> Iterator[RenderableType]:
        detail = progress.detail
        if self.status is None and progress.stage != "handoff":
            return
        match progress.stage:
            case "tool":
                yield from self._render_tool(detail)
            case "approval":
                yield from self._render_approval(detail)
            case "thinking":
                self._set_activity("thinking")
                if self.shows_thinking:
                    yield from self._render_thinking(printable(str(detail.get("text", ""))))
            case "template" if detail.get("name"):
                yield _render_note(_describe_template(detail))
            case "memory" if detail.get("title"):
                self._memories.append(str(detail["title"]))
            case "prepare" if detail.get("problem"):
                yield _render_note(f"continued without {detail.get('source')}: {detail['problem']}")
            case "task":
                yield from self._render_tasks(detail)
            case "compaction" if "messages" in detail:
                yield _render_note(f"summarised {pluralize(int(detail['messages']), 'older message')} to make room")
            case "queued":
                self._set_activity(_describe_wait(detail))
            case "running" if detail.get("steer") and detail.get("heard") is False:
                self.typed_here.append(str(detail["steer"]).strip())  # its message comes next
                yield _render_note(f"not answered yet, kept for your next message: {detail['steer']}")
            case "running" if detail.get("steer"):
                yield _render_note(f"added to the running turn: {detail['steer']}")
            case "running" if detail.get("status") == "budget":
                yield Text(f"! {printable(str(detail.get('line')))}", style="yellow")
            case "handoff":
                yield _render_note(f"{detail.get('to')} drives this session now (before: {detail.get('from')})")
            case _:
                self._set_activity({"prepare": "preparing", "running": "working"}.get(progress.stage, progress.stage))

    def _render_thinking(self, text: str) -> Iterator[RenderableType]:
        """Yields the lines that a piece of thinking completes."""
        *lines, self._thought = (self._thought + text).split("\n")
        for line in filter(str.strip, lines):
            yield Text(f"  {line}", style="dim italic")

    def _render_memories(self, session: str) -> Iterator[RenderableType]:
        """One line for everything, however much it is, and none if the turn before was given the same; the command says
        what each piece is and why it is there."""
        titles, self._memories = self._memories, []
        if titles == self._named_memories:
            return
        self._named_memories = titles
        more = f" and {len(titles) - _MAX_TITLES} more" if len(titles) > _MAX_TITLES else ""
        named = ", ".join(one_line(title, _TITLE_CHARS) for title in titles[:_MAX_TITLES])
        count = pluralize(len(titles), "memory", "memories")
        yield _render_note(f"used {count}: {named}{more} (`sojourn memory why {session}`)")

    def _set_activity(self, activity: str) -> None:
        if self.status is not None:
            self.status.activity = activity

    def _render_tool(self, detail: Mapping[str, Any]) -> Iterator[RenderableType]:
        assert self.status is not None
        if "line" in detail:
            self._set_activity(str(detail["line"]))
            return
        call, name = str(detail.get("call_id") or detail.get("tool")), str(detail.get("tool", "tool"))
        about = f"{name} {detail.get('preview') or ''}".strip()
        if detail.get("status") not in ("completed", "failed"):
            yield from self._flush()
            self.status.tools[call] = about
            return
        about = self.status.tools.pop(call, about)
        failed = detail.get("status") == "failed" or detail.get("error")
        line = Text.assemble(("▸ ", "magenta"), (one_line(about, _PREVIEW_CHARS), "dim"))
        line.append(" ✗" if failed else " ✓", style="red" if failed else "green")
        seconds = detail.get("duration", detail.get("seconds"))
        if isinstance(seconds, int | float):
            line.append(f" {format_duration(float(seconds))}", style="dim")
        if failed and isinstance(detail.get("error"), str):
            line.append(f"  {one_line(_describe_failure(detail), _PREVIEW_CHARS)}", style="red")
        yield line

    def _render_approval(self, detail: Mapping[str, Any]) -> Iterator[RenderableType]:
        if detail.get("status") != "asked":
            self.question = None
            yield _render_note(self._describe_answer(detail))
            return
        yield from self._flush()
        self.question = detail
        sign = ("⚠ ", "bold red") if detail.get("dangerous") else ("? ", "bold yellow")
        yield Text.assemble(sign, (printable(str(detail.get("text", ""))), "bold"))
        if detail.get("detail"):
            yield Padding(Text(reveal(str(detail["detail"])).expandtabs(4)), (0, 0, 0, 2), expand=False)

    def _describe_answer(self, detail: Mapping[str, Any]) -> str:
        """Whether it was allowed, by whom if it was somebody else, and why if somebody said."""
        choice = str(detail.get("choice"))
        by = f" by {detail['by']}" if detail.get("by") and detail["by"] != self.own_label else ""
        why = f": {detail['why']}" if detail.get("why") else ""
        return f"{_ANSWERS.get(choice, choice)}{by}{why}"

    def _render_tasks(self, detail: Mapping[str, Any]) -> Iterator[RenderableType]:
        tasks = [one for one in detail.get("tasks") or () if isinstance(one, Mapping)]
        signs = {"done": "✓", "running": "▸", "failed": "✗", "skipped": "–"}
        self._set_activity("  ".join(f"{signs.get(str(one.get('state')), '·')} {one.get('title')}" for one in tasks))
        if tasks and all(one.get("state") == "waiting" for one in tasks):
            how = "at once where they can" if detail.get("parallel") else "one after the other"
            yield _render_note(
                f"{pluralize(len(tasks), 'task')}, {how}: {'; '.join(str(one.get('title')) for one in tasks)}"
            )


def _render_markdown(text: str) -> RenderableType:
    return Padding(Markdown(text, code_theme="ansi_dark"), (0, 0, 1, 0))


def _describe_wait(detail: Mapping[str, Any]) -> str:
    """Why a turn waits: a model that is asked again, a busy agent, or another turn."""
    reason = detail.get("reason") or detail.get("because")
    attempt = f", attempt {detail['attempt']}" if detail.get("attempt") else ""
    return f"waiting: {reason or 'another turn runs'}{attempt}"


def _describe_failure(detail: Mapping[str, Any]) -> str:
    """The error of a tool. What follows a refusal is advice for the model."""
    error, facts = str(detail["error"]), detail.get("facts")
    is_refused = isinstance(facts, Mapping) and facts.get("error") == NotAllowed.code
    return error.partition(". ")[0].rstrip(".") + "." if is_refused else error


def _describe_template(detail: Mapping[str, Any]) -> str:
    """The template in use, the reason, and its differences here."""
    words = f"used template {detail['name']} because {detail.get('because') or detail.get('reason')}"
    changed = [*detail.get("mapped", ()), *(f"without {one}" for one in detail.get("left_out", ()))]
    return f"{words} ({'; '.join(map(str, changed))})" if changed else words


def _render_note(text: str) -> RenderableType:
    return Text(f"◦ {one_line(text, 300)}", style="dim")
