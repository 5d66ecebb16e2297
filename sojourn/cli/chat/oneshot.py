"""One request and its answer, without a prompt: for `-q`, pipes and scripts."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from sojourn.core.errors import error_from_code
from sojourn.core.events import Chunk, Done, Failed, Progress
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import Recorded, Session
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.ports.tool import Reply
from sojourn.text.formatting import format_duration, one_line, printable


@dataclass(slots=True)
class OneShotResult:
    """The answer of a turn, its tool calls and how it ended."""

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


async def ask(service: Service, session: Session, request: TurnRequest, by: Caller, *, quiet: bool) -> OneShotResult:
    """Sends a request and follows its turn. Text goes to standard output as it arrives, tools to standard error."""
    turn = await service.say(session.id, request, by, when_busy="wait")
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
    """Adds an event to the outcome and prints it; True if it ends the turn."""
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
        seconds = f" {format_duration(float(took))}" if isinstance(took, int | float) else ""
        sign = "✗" if detail["status"] == "failed" else "✓"
        words = one_line(f"{detail.get('tool')} {detail.get('preview') or ''}", 120)
        click.echo(click.style(f"▸ {words} {sign}{seconds}", dim=True), err=True)


@contextmanager
def _stop_on_interrupt(service: Service, session: Session, by: Caller) -> Iterator[None]:
    """Makes Ctrl-C stop the turn; the caller still waits for its end."""
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
    """Raises the error of a failed turn; exits with 130 after a stopped one."""
    if outcome.failed is not None:
        raise error_from_code(outcome.failed.code, outcome.failed.message, hint=outcome.failed.hint)
    if outcome.done is not None and outcome.done.status == "cancelled":
        raise click.exceptions.Exit(130)
