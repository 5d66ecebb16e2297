"""`sojourn chat`: talk to an agent; the session is everywhere."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import replace
from pathlib import Path

import click

from sojourn.cli.given import Given, emit, with_kit
from sojourn.cli.options import Command, SessionWords
from sojourn.cli.table import load
from sojourn.core.errors import BadInput
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.service import Said, Service, Speaker
from sojourn.ports.store import Listing


@click.command(cls=Command)
@click.option("-q", "--question", metavar="TEXT", help="Ask this, print the answer, and leave.")
@click.option("-c", "--continue", "goes_on", is_flag=True, help="Go on with the newest session.")
@click.option("--session", type=SessionWords(), help="Go on with this session.")
@click.option("--runtime", metavar="NAME", help="What thinks: native, offline, hermes, acp …")
@click.option("--model", metavar="NAME", help="Which model.")
@click.option("--template", metavar="NAME", help="Begin with this template; none for none.")
@click.option(
    "--file",
    "files",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Attach a file; may be repeated.",
)
@click.option("--in-process", is_flag=True, help="Run the turn in this process instead of in a server.")
@with_kit
async def chat(
    given: Given,
    kit: AppContext,
    question: str | None,
    goes_on: bool,
    session: str | None,
    runtime: str | None,
    model: str | None,
    template: str | None,
    files: tuple[Path, ...],
    in_process: bool,
) -> None:
    """Talk to an agent. Needs no key: without one, a built-in runtime answers.

    What you pipe in is the question, or goes with it. A turn outlives the terminal: come back with
    `sojourn chat --continue`, from here or from anywhere else.
    """
    if goes_on and session:
        raise BadInput("--continue and --session both name a session.", hint="Use one of them.")
    piped = "" if sys.stdin.isatty() else sys.stdin.read().strip()
    asked = "\n\n".join(words for words in (question, piped) if words)
    if not asked and not given.is_asking:
        raise BadInput("There is nothing to answer, and nobody to ask.", hint='Use -q "…", or pipe the question in.')
    service = await kit.connect(in_process=in_process)
    by = Speaker(surface="cli", holder=f"chat on {platform.node() or 'this machine'} (pid {os.getpid()})")
    try:
        if asked:
            said = Said(
                text=asked, runtime=runtime or "", model=model or "", template=template or "", cwd=str(Path.cwd())
            )
            await _once(given, service, by, said, await _which(service, by, goes_on, session), files)
        else:
            await load("sojourn.cli.chat.running:run")(
                given,
                service,
                by,
                words=session,
                latest=goes_on,
                runtime=runtime,
                model=model,
                template=template,
                files=files,
            )
    finally:
        if not in_process:
            await service.close()


async def _which(service: Service, by: Speaker, goes_on: bool, words: str | None) -> Session | None:
    if words:
        found = await service.resolve(words)
    elif goes_on and (newest := await service.find(Listing(limit=1))):
        found = newest[0]
    else:
        return None
    return await service.take(found.id, by) if found.driver not in (None, by.surface) else found


async def _once(
    given: Given, service: Service, by: Speaker, said: Said, session: Session | None, files: tuple[Path, ...]
) -> None:
    oneshot = load("sojourn.cli.chat.oneshot:ask")
    session = session or await service.open(by, model=said.model or None, runtime=said.runtime, cwd=said.cwd)
    attach = load("sojourn.cli.chat.talk:keep_file")
    kept = tuple([await attach(service, session, file) for file in files])
    outcome = await oneshot(service, session, replace(said, attachments=kept), by, quiet=given.json)
    if given.json:
        emit(outcome.as_json())
        if outcome.done is None or outcome.done.status != "completed":
            raise click.exceptions.Exit(1)
        return
    load("sojourn.cli.chat.oneshot:judge")(outcome)
