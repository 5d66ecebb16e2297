"""`sojourn chat`: talk to an agent; the session is everywhere."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from sojourn.chat_commands import require_template
from sojourn.cli.chat.file_upload import attach_file
from sojourn.cli.chat.oneshot import ask, raise_for_outcome
from sojourn.cli.command_table import RUN_CHAT
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import RUNTIME, SESSION, JsonCommand
from sojourn.core.errors import BadInput, SojournError
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.ports.store import Listing
from sojourn.server_file import is_serving, read_server_file
from sojourn.text.formatting import format_age, one_line

_PICKED_SESSIONS = 15


@click.command(cls=JsonCommand)
@click.argument("prompt", required=False)
@click.option("-q", "--question", metavar="TEXT", help="Ask this, print the answer, and leave.")
@click.option("-c", "--continue", "goes_on", is_flag=True, help="Go on with the newest session.")
@click.option("--session", type=SESSION, help="Go on with this session.")
@click.option("--resume", "picks", is_flag=True, help="Choose one of the newest sessions to go on with.")
@click.option("--runtime", type=RUNTIME, metavar="NAME", help="What thinks: native, offline, hermes, acp …")
@click.option("--model", metavar="NAME", help="Which model.")
@click.option("--template", metavar="NAME", help="Begin with this template; none for none.")
@click.option(
    "--file",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Attach a file; may be repeated.",
)
@click.option(
    "--allow",
    metavar="TOOL",
    multiple=True,
    help="With -q: allow this tool inside the sandbox without asking; may be repeated.",
)
@click.option("--server", metavar="URL", help="Talk to a server on another machine; SOJOURN_TOKEN is its token.")
@click.option("--in-process", is_flag=True, help="Run the turn in this process instead of in a server.")
@with_app
async def chat(
    context: CommandContext,
    app: AppContext,
    prompt: str | None,
    question: str | None,
    goes_on: bool,
    session: str | None,
    picks: bool,
    runtime: str | None,
    model: str | None,
    template: str | None,
    files: tuple[Path, ...],
    allow: tuple[str, ...],
    server: str | None,
    in_process: bool,
) -> None:
    """Talk to an agent. Needs no key: without one, a built-in runtime answers.

    PROMPT is your first message. What you pipe in is the question, or goes with it. A turn outlives the terminal: come
    back with `sojourn chat --continue`, from here or from anywhere else.
    """
    if goes_on and session:
        raise BadInput("--continue and --session both name a session.", hint="Use one of them.")
    piped = "" if sys.stdin.isatty() else sys.stdin.read().strip()
    first = prompt if prompt and context.is_interactive and not (question or piped) else ""
    text = "" if first else "\n\n".join(part for part in (prompt, question, piped) if part)
    if not text and not first and not context.is_interactive:
        raise BadInput(
            "There is no question, and no terminal to ask for one.", hint='Use -q "…", or pipe the question in.'
        )
    if allow and not text:
        raise BadInput("--allow is for a single question.", hint="Use it with -q; in a chat you are asked.")
    if allow:
        await _require_tools(app, allow)
    request = TurnRequest(
        text=text or first or "",
        runtime=runtime or "",
        model=model or "",
        template=template or "",
        cwd=str(Path.cwd()),
        attended=not text,
        allow=allow,
    )
    with _show_start(context, is_shown=not (in_process or server)):
        service = await app.connect(in_process=in_process, server=server or "")
    await require_template(service, request.template)
    by = Caller(surface="cli", holder=f"chat on {platform.node() or 'this machine'} (pid {os.getpid()})")
    try:
        if text:
            await _answer_once(
                context, service, by, request, await _choose_session(service, by, goes_on, session), files
            )
        else:
            session = await _pick_session(service) if picks and not session else session
            await RUN_CHAT.load()(context, service, by, request, reference=session, latest=goes_on, files=files)
    finally:
        if not in_process:
            await service.close()


@contextmanager
def _show_start(context: CommandContext, *, is_shown: bool) -> Iterator[None]:
    """A word on a terminal while the server is started, if none runs yet."""
    running = read_server_file(context.settings.home)
    if not is_shown or not context.is_interactive or (running is not None and is_serving(running)):
        yield
        return
    click.echo("Starting …", nl=False, err=True)
    try:
        yield
    finally:
        click.echo("\r          \r", nl=False, err=True)


async def _pick_session(service: Service) -> str | None:
    """Lists the newest sessions and asks for a number. None for a new session."""
    found = await service.find(Listing(limit=_PICKED_SESSIONS))
    for number, one in enumerate(found, 1):
        age = format_age(one.last_active, time.time())
        click.echo(f"{number:>3}  {one_line(one.title or one.preview or one.id, 60)}  ({age})")
    if not found:
        click.echo("There are no sessions yet.")
        return None
    chosen = click.prompt("Which one? (0: a new one)", type=click.IntRange(0, len(found)), default=1)
    return found[chosen - 1].id if chosen else None


async def _require_tools(app: AppContext, names: tuple[str, ...]) -> None:
    known = {tool.name for tool in await asyncio.to_thread(app.tools)}
    if unknown := sorted(set(names) - known):
        raise BadInput(f"There is no tool {', '.join(unknown)}.", hint=f"There are: {', '.join(sorted(known))}.")


async def _choose_session(service: Service, by: Caller, goes_on: bool, words: str | None) -> Session | None:
    if words:
        found = await service.resolve(words)
    elif goes_on and (newest := await service.find(Listing(limit=1))):
        found = newest[0]
    else:
        return None
    return await service.take_over(found.id, by) if found.driver not in (None, by.surface) else found


def _has_model(context: CommandContext) -> bool:
    """Whether the person has named a model; one that is found on this machine may come and go."""
    settings = context.settings
    return bool(settings["model.provider"] or settings["model.base_url"])


async def _answer_once(
    context: CommandContext,
    service: Service,
    by: Caller,
    request: TurnRequest,
    session: Session | None,
    files: tuple[Path, ...],
) -> None:
    for notice in () if context.json else await service.take_notices(by):
        click.echo(f"! {notice}", err=True)
    is_chosen = bool(session or request.runtime or context.settings["agent.runtime"])
    session = session or await service.open(by, model=request.model or None, runtime=request.runtime, cwd=request.cwd)
    attachments = tuple([await attach_file(service, session, file) for file in files])
    outcome = await ask(service, session, replace(request, attachments=attachments), by, quiet=context.json)
    if context.json:
        emit(outcome.to_json())
    elif outcome.runtime == "offline" and not is_chosen and _has_model(context):
        click.echo(
            "! The model that is set up did not answer; the built-in helper did. See `sojourn doctor`.", err=True
        )
    try:
        raise_for_outcome(outcome)
    except SojournError as error:
        if not context.json:
            raise
        raise click.exceptions.Exit(error.exit_code) from error
