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

from sojourn.core.errors import Interrupted, NotAllowed
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import Recorded, Session
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.text.codec import error_from_code
from sojourn.text.formatting import format_duration, one_line, printable


@dataclass(slots=True)
class OneShotResult:
    """The answer of a turn, its tool calls and how it ended."""

    session: Session
    turn: str
    runtime: str = ""
    text: str = ""
    done: Done | None = None
    failed: Failed | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # of a budget that is nearly used up
    refused: list[dict[str, str]] = field(default_factory=list)  # tool and reason of each call that was not allowed

    def to_json(self) -> dict[str, Any]:
        return {
            "session_id": self.session.id,
            "turn_id": self.turn,
            "runtime": self.runtime,
            "status": self.done.status if self.done else None,
            "text": self.text,
            "usage": dict(self.done.usage) if self.done else {},
            "tools": self.tools,
            "refused": self.refused,
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
                if recorded.turn == turn.id and _handle_event(recorded, outcome, quiet=quiet):
                    break
    return outcome


def _handle_event(recorded: Recorded, outcome: OneShotResult, *, quiet: bool) -> bool:
    """Adds an event to the outcome and prints it; True if it ends the turn."""
    item = recorded.item
    match item:
        case Metadata():
            outcome.runtime = item.runtime
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
        case Progress(stage="running") if item.detail.get("status") == "budget":
            outcome.warnings.append(str(item.detail.get("line")))
        case Progress(stage="approval") if item.detail.get("choice") == "deny":
            outcome.refused.append({name: str(item.detail.get(name) or "") for name in ("tool", "why")})
        case Failed():
            outcome.failed = item
        case Done():
            outcome.done = item
            if not quiet and not outcome.text.endswith("\n") and outcome.text:
                click.echo()
            for warning in outcome.warnings if not quiet else ():
                click.echo(f"! {printable(warning)}", err=True)
            return True
    return False


def _handle_tool(item: Progress, outcome: OneShotResult, *, quiet: bool) -> None:
    detail = dict(item.detail)
    outcome.tools.append(detail)
    facts, name = detail.get("facts"), str(detail.get("tool"))
    is_refused = isinstance(facts, dict) and facts.get("error") == NotAllowed.code
    if is_refused and name not in [one["tool"] for one in outcome.refused]:  # by the settings: nobody was asked
        outcome.refused.append({"tool": name, "why": str(detail.get("error") or "")})
    if not quiet:
        if sys.stdout.isatty() and outcome.text and not outcome.text.endswith("\n"):
            click.echo()  # a line of its own on the screen that both share
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
    """Raises the error of a failed turn, or one for refused tools; exits with 130 after a stopped one."""
    if outcome.failed is not None:
        raise error_from_code(outcome.failed.code, outcome.failed.message, hint=outcome.failed.hint)
    if outcome.done is not None and outcome.done.status == "cancelled":
        raise click.exceptions.Exit(130)
    if outcome.done is None or outcome.done.status != "completed":
        raise Interrupted("The turn did not come to its end.", hint="Ask again; the session has what was said.")
    if outcome.refused:
        raise refusal_of(outcome)


def refusal_of(outcome: OneShotResult) -> NotAllowed:
    """The error that names the tools that were not allowed."""
    first, names = outcome.refused[0], sorted({one["tool"] for one in outcome.refused})
    flags = " ".join(f"--allow {name}" for name in names)
    return NotAllowed(
        f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not allowed. {first['why']}",
        hint=f"{flags} allows beforehand what stays inside the sandbox; in `sojourn chat` you are asked.",
    )
