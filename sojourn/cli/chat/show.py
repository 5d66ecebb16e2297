"""What happens in a session, as lines on a screen. Knows nothing of who is asking or how it is drawn below."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from sojourn.cli.chat.blocks import Blocks
from sojourn.cli.formatting import format_duration as lasted
from sojourn.cli.formatting import one_line, printable
from sojourn.cli.formatting import pluralize as many
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import Message, is_internal, text_of
from sojourn.core.sessions import Recorded

_TOLD = 160


@dataclass(slots=True)
class Doing:
    """What a turn is doing right now, for the line below the answer."""

    turn: str = ""
    runtime: str = ""
    model: str = ""
    since: float = 0.0
    words: str = ""
    tools: dict[str, str] = field(default_factory=dict)  # running calls, by id

    @property
    def line(self) -> str:
        running = ", ".join(self.tools.values())
        return one_line(running or self.words or "working", 100)


class Show:
    """Turns the log of a session into lines. `own` words were typed here: they are on the screen already."""

    def __init__(self) -> None:
        self.own: list[str] = []
        self.doing: Doing | None = None
        self.question: Mapping[str, Any] | None = None
        self.usage: dict[str, float] = {}
        self._blocks = Blocks()
        self._chunked = False

    @property
    def tail(self) -> str:
        return printable(self._blocks.tail)

    def lines(self, recorded: Recorded) -> Iterator[RenderableType]:
        """The lines this adds for good."""
        item = recorded.item
        match item:
            case Metadata():
                self.doing = Doing(recorded.turn or "", item.runtime, item.model, time.monotonic())
                self._chunked = False
            case Chunk():
                self._chunked = True
                yield from map(_markdown, self._blocks.add(printable(item.text)))
            case Message():
                yield from self._message(item)
            case Progress():
                yield from self._progress(item)
            case Failed():
                yield from self._rest()
                yield Text.assemble(("✗ ", "red"), (printable(item.message), "red"), (f"   ({item.code})", "dim"))
                if item.hint:
                    yield Text(f"  {printable(item.hint)}")
            case Done():
                yield from self._rest()
                yield from self._done(item)

    def _rest(self) -> Iterator[RenderableType]:
        yield from map(_markdown, self._blocks.flush())

    def _message(self, message: Message) -> Iterator[RenderableType]:
        if is_internal(message):
            yield _aside(text_of(message).strip())
        elif message.role == "user":
            words = text_of(message).strip()
            if words in self.own:
                self.own.remove(words)
            else:
                yield Text.assemble(("\n❯ ", "cyan"), (printable(words), "cyan"))
        elif message.role == "assistant":
            yield from self._rest()
            if not self._chunked and (said := printable(text_of(message).strip())):
                yield _markdown(said)
            self._chunked = False

    def _done(self, done: Done) -> Iterator[RenderableType]:
        took = lasted(time.monotonic() - self.doing.since) if self.doing else ""
        self.doing = self.question = None
        for key in ("input_tokens", "output_tokens", "cost_usd"):
            value = done.usage.get(key)
            if isinstance(value, int | float):
                self.usage[key] = self.usage.get(key, 0) + value
        if done.status != "completed":
            yield Text(f"─ {done.status} after {took}" if took else f"─ {done.status}", style="yellow")

    # what is going on besides the answer
    def _progress(self, progress: Progress) -> Iterator[RenderableType]:
        detail = progress.detail
        if self.doing is None and progress.stage != "handoff":
            return
        match progress.stage:
            case "tool":
                yield from self._tool(detail)
            case "approval":
                yield from self._approval(detail)
            case "thinking":
                self._now("thinking")
            case "template" if detail.get("name"):
                yield _aside(_used(detail))
            case "memory" if detail.get("title"):
                yield _aside(f"remembered {detail['title']}: {detail.get('reason', '')}")
            case "prepare" if detail.get("problem"):
                yield _aside(f"went on without {detail.get('source')}: {detail['problem']}")
            case "task":
                yield from self._tasks(detail)
            case "compaction" if "messages" in detail:
                yield _aside(f"summarised {many(int(detail['messages']), 'older message')} to make room")
            case "queued":
                self._now(f"waiting: {detail.get('because') or 'another turn runs'}")
            case "running" if detail.get("steer"):
                yield _aside(f"heard meanwhile: {detail['steer']}")
            case "handoff":
                yield _aside(f"{detail.get('to')} drives this session now (before: {detail.get('from')})")
            case _:
                self._now({"prepare": "preparing", "running": "working"}.get(progress.stage, progress.stage))

    def _now(self, words: str) -> None:
        if self.doing is not None:
            self.doing.words = words

    def _tool(self, detail: Mapping[str, Any]) -> Iterator[RenderableType]:
        assert self.doing is not None
        if "line" in detail:
            self._now(str(detail["line"]))
            return
        call, name = str(detail.get("call_id") or detail.get("tool")), str(detail.get("tool", "tool"))
        about = f"{name} {detail.get('preview') or ''}".strip()
        if detail.get("status") not in ("completed", "failed"):
            yield from self._rest()
            self.doing.tools[call] = about
            return
        about = self.doing.tools.pop(call, about)
        failed = detail.get("status") == "failed" or detail.get("error")
        line = Text.assemble(("▸ ", "magenta"), (one_line(about, _TOLD), "dim"))
        line.append(" ✗" if failed else " ✓", style="red" if failed else "green")
        seconds = detail.get("duration", detail.get("seconds"))
        if isinstance(seconds, int | float):
            line.append(f" {lasted(float(seconds))}", style="dim")
        if failed and isinstance(detail.get("error"), str):
            line.append(f"  {one_line(str(detail['error']), _TOLD)}", style="red")
        yield line

    def _approval(self, detail: Mapping[str, Any]) -> Iterator[RenderableType]:
        if detail.get("status") != "asked":
            self.question = None
            yield _aside(
                f"{detail.get('choice')}, said {detail.get('by') or 'nobody'} {detail.get('why') or ''}".rstrip()
            )
            return
        yield from self._rest()
        self.question = detail
        sign = ("⚠ ", "bold red") if detail.get("dangerous") else ("? ", "bold yellow")
        yield Text.assemble(sign, (printable(str(detail.get("text", ""))), "bold"))
        if detail.get("detail"):
            yield Padding(Text(printable(str(detail["detail"])), style="dim"), (0, 0, 0, 2), expand=False)

    def _tasks(self, detail: Mapping[str, Any]) -> Iterator[RenderableType]:
        tasks = [one for one in detail.get("tasks") or () if isinstance(one, Mapping)]
        signs = {"done": "✓", "running": "▸", "failed": "✗", "skipped": "–"}
        self._now("  ".join(f"{signs.get(str(one.get('state')), '·')} {one.get('title')}" for one in tasks))
        if tasks and all(one.get("state") == "waiting" for one in tasks):
            how = "at once where they can" if detail.get("parallel") else "one after the other"
            yield _aside(f"{many(len(tasks), 'task')}, {how}: {'; '.join(str(one.get('title')) for one in tasks)}")


def _markdown(text: str) -> RenderableType:
    return Padding(Markdown(text, code_theme="ansi_dark"), (0, 0, 1, 0))


def _used(detail: Mapping[str, Any]) -> str:
    """A template that is before this conversation, why, and what of it is different here."""
    words = f"used template {detail['name']} because {detail.get('because') or detail.get('reason')}"
    changed = [*detail.get("mapped", ()), *(f"without {one}" for one in detail.get("left_out", ()))]
    return f"{words} ({'; '.join(map(str, changed))})" if changed else words


def _aside(words: str) -> RenderableType:
    return Text(f"◦ {one_line(words, 300)}", style="dim")
