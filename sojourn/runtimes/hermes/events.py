"""Maps the events of a run to text, progress, approval questions, and an observation; buffers the answer."""

from __future__ import annotations

import time
from collections.abc import Iterator

from sojourn.core.errors import RuntimeFailed
from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Json, assistant
from sojourn.ports.runtime import Observation, RuntimeOutput
from sojourn.runtimes.agent_errors import to_agent_error
from sojourn.runtimes.hermes.approvals import HermesApprovals
from sojourn.runtimes.hermes.run import Event, HermesRun
from sojourn.runtimes.reported_calls import to_call_messages
from sojourn.text.ansi import ControlStripper, strip_control

_NO_REPLY = "⚠️ No reply:"  # Hermes' text when its model gave no answer


class AnswerBuffer:
    """Joins the pieces of an answer. `text` is always exactly the text that was shown."""

    def __init__(self) -> None:
        self.text = ""
        self._since_tool = 0  # where the words after the last tool begin
        self._plain = ControlStripper()

    def add(self, delta: str) -> str:
        """Adds a piece and returns the text to show. Drops the blank line that would begin an answer."""
        return self._append(self._plain.feed(delta))

    def start_part(self) -> None:
        """Begins a new part, after a tool was used."""
        self._since_tool = len(self.text)

    @property
    def part(self) -> str:
        """The text since the last tool."""
        return self.text[self._since_tool :]

    def finish(self, output: str) -> str:
        """Returns what the final output has and was not shown. Hermes trims and joins pieces differently, so white
        space does not count as a difference."""
        rest = self._append(self._plain.end())
        whole = strip_control(output).strip()
        if not whole or _without_spaces(self.text).endswith(_without_spaces(whole)):
            return rest
        shown = _without_spaces(self.part)
        if shown and _without_spaces(whole).startswith(shown):
            missing = _skip_characters(whole, len(shown))
            return rest + self._append(missing.lstrip() if self.text[-1].isspace() else missing)
        return rest + self._append(f"\n\n{whole}")

    def _append(self, piece: str) -> str:
        shown = piece if self.text else piece.lstrip("\n")
        self.text += shown
        return shown


class EventMapper:
    """Maps the events of one run. Hermes reports neither arguments nor results of a tool and gives calls no id:
    they are shown as progress, and what it says of them becomes messages at the end, in front of the text."""

    def __init__(self, run: HermesRun, approvals: HermesApprovals) -> None:
        self.answer = AnswerBuffer()
        self.status = "completed"
        self.finish_reason = "stop"
        self.usage: dict[str, Json] = {}
        self._run, self._approvals = run, approvals
        self._tools: list[dict[str, Json]] = []
        self._began = time.monotonic()

    def map_event(self, event: Event) -> Iterator[RuntimeOutput]:
        """Yields the events to show. Ignores `reasoning.available`, which repeats the answer, and unknown events."""
        name = event.get("event")
        if name == "message.delta":
            if piece := self.answer.add(str(event.get("delta") or "")):
                yield Chunk(piece)
        elif name == "tool.started":
            yield self._start_tool(event)
        elif name == "tool.completed":
            yield self._complete_tool(event)
        elif name == "approval.request":
            self._approvals.on_request(event)
        elif name == "approval.responded":
            if progress := self._approvals.on_response(event):
                yield progress
        elif name == "run.status":
            yield self._to_running(event)
        elif name == "run.completed":
            yield from self._complete_run(event)
        elif name == "run.failed":
            raise to_agent_error("Hermes", str(event.get("error") or "no reason given"))
        elif name == "run.cancelled":
            self.status, self.finish_reason = "cancelled", "cancelled"

    def _start_tool(self, event: Event) -> Progress:
        self.answer.start_part()
        return Progress("tool", {**self._new_tool(event), "status": "started"})

    def _complete_tool(self, event: Event) -> Progress:
        self.answer.start_part()
        name, failed = strip_control(str(event.get("tool") or "")), bool(event.get("error"))
        waiting = (one for one in self._tools if one["tool"] == name and "status" not in one)
        tool = next(waiting, None) or self._new_tool(event)
        tool.update(status="failed" if failed else "completed", duration=event.get("duration") or 0.0)
        if failed:
            tool["error"] = "Hermes reports that it failed."
        return Progress("tool", dict(tool))

    def _new_tool(self, event: Event) -> dict[str, Json]:
        """Adds a tool call. Hermes gives no id: a result goes to the oldest open call of its name."""
        tool: dict[str, Json] = {
            "tool": strip_control(str(event.get("tool") or "")),
            "preview": strip_control(str(event.get("preview") or "")),
            "call_id": f"{self._run.id}:{len(self._tools) + 1}",
        }
        self._tools.append(tool)
        return tool

    def _to_running(self, event: Event) -> Progress:
        if event.get("status") == "waiting_for_approval":
            self._approvals.deny_lost_request()
        return Progress("running", {"runtime": "hermes", "status": event.get("status"), "line": "lost"})

    def _complete_run(self, event: Event) -> Iterator[RuntimeOutput]:
        if isinstance(used := event.get("usage"), dict) and any(used.values()):  # all 0: not counted
            self.usage = {key: count for key, count in used.items() if isinstance(count, int)}
        output = str(event.get("output") or "")
        if output.startswith(_NO_REPLY) and not self.answer.part:
            raise RuntimeFailed(
                f"Hermes has no answer. {strip_control(output)}", hint="Its model sent an empty answer; ask again."
            )
        if piece := self.answer.finish(output):
            yield Chunk(piece)
        if not self.answer.text.strip():
            raise RuntimeFailed("Hermes ended the run without an answer.", hint="Its log says why; ask again.")

    def collect_outcome(self, finish_reason: str) -> Iterator[RuntimeOutput]:
        """Yields what is saved of the run: an observation, the calls, and the text that was shown."""
        facts: dict[str, Json] = {
            "run_id": self._run.id,
            "ended": finish_reason,
            "seconds": round(time.monotonic() - self._began, 3),
            "tools": [dict(tool) for tool in self._tools],
            "approvals": [dict(one) for one in self._approvals.answers],
            "line_lost": self._run.lost,
        }
        yield Observation("run", facts)
        yield from to_call_messages(self._tools)
        if self.answer.text.strip():
            yield assistant(self.answer.text, finish_reason=finish_reason)


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def _skip_characters(text: str, count: int) -> str:
    """Returns the text after the first `count` characters that are not white space."""
    for at, char in enumerate(text):
        if not count:
            return text[at:]
        count -= not char.isspace()
    return ""
