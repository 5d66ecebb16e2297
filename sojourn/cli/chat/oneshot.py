"""One question, one answer: for `-q`, for pipes and for scripts."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from sojourn.cli.formatting import format_duration as lasted
from sojourn.cli.formatting import one_line, printable
from sojourn.core.errors import error_from_code
from sojourn.core.events import Chunk, Done, Failed, Progress
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import Recorded, Session
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.ports.tool import Reply


@dataclass(slots=True)
class OneShotResult:
    """How it went."""

    session: Session
    turn: str
    text: str = ""
    done: Done | None = None
    failed: Failed | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "session_id": self.session.id,
            "turn_id": self.turn,
            "status": self.done.status if self.done else None,
            "text": self.text,
            "usage": dict(self.done.usage) if self.done else {},
            "tools": self.tools,
            "error": {"code": self.failed.code, "message": self.failed.message, "hint": self.failed.hint}
            if self.failed
            else None,
        }


async def ask(service: Service, session: Session, said: TurnRequest, by: Caller, *, quiet: bool) -> OneShotResult:
    """Says it and follows to the end. Words go to standard output as they come, tools to standard error."""
    turn = await service.say(session.id, said, by, when_busy="wait")
    outcome = OneShotResult(session, turn.id)
    with _stop_on_interrupt(service, session, by):
        async with aclosing(service.watch(session.id, after=turn.after)) as log:
            async for recorded in log:
                if recorded.turn == turn.id and await _handle_event(service, recorded, outcome, by, quiet=quiet):
                    break
    return outcome


async def _handle_event(
    service: Service, recorded: Recorded, outcome: OneShotResult, by: Caller, *, quiet: bool
) -> bool:
    """Whether that was the end."""
    item = recorded.item
    match item:
        case Chunk():
            outcome.text += item.text
            if not quiet:
                click.echo(printable(item.text), nl=False)
                sys.stdout.flush()
        case Message(role="assistant"):
            if not outcome.text.strip() and (words := text_of(item)):
                outcome.text = words
                if not quiet:
                    click.echo(printable(words), nl=False)
        case Progress(stage="tool") if item.detail.get("status") in ("completed", "failed"):
            _handle_tool(item, outcome, quiet=quiet)
        case Progress(stage="approval") if item.detail.get("status") == "asked":
            reply = Reply(choice="deny", by=by.surface, why="nobody is there to answer")
            await service.answer(outcome.session.id, str(item.detail.get("question")), reply, by)
        case Failed():
            outcome.failed = item
        case Done():
            outcome.done = item
            if not quiet and not outcome.text.endswith("\n") and outcome.text:
                click.echo()
            return True
    return False


def _handle_tool(item: Progress, outcome: OneShotResult, *, quiet: bool) -> None:
    detail = dict(item.detail)
    outcome.tools.append(detail)
    if not quiet:
        took = detail.get("duration", detail.get("seconds"))
        seconds = f" {lasted(float(took))}" if isinstance(took, int | float) else ""
        sign = "✗" if detail["status"] == "failed" else "✓"
        words = one_line(f"{detail.get('tool')} {detail.get('preview') or ''}", 120)
        click.echo(click.style(f"▸ {words} {sign}{seconds}", dim=True), err=True)


@contextmanager
def _stop_on_interrupt(service: Service, session: Session, by: Caller) -> Iterator[None]:
    """Ctrl-C stops the turn; the end of it is still awaited."""
    loop, waiting = asyncio.get_running_loop(), set[asyncio.Task[bool]]()

    def stop() -> None:
        waiting.add(loop.create_task(service.stop(session.id, by)))

    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, RuntimeError):  # Windows, or not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def raise_for_outcome(outcome: OneShotResult) -> None:
    """A failed turn is a failed command; a stopped one ends as Ctrl-C does."""
    if outcome.failed is not None:
        raise error_from_code(outcome.failed.code, outcome.failed.message, hint=outcome.failed.hint)
    if outcome.done is not None and outcome.done.status == "cancelled":
        raise click.exceptions.Exit(130)
