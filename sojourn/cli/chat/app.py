"""Puts a chat on the terminal together and takes it apart again."""

from __future__ import annotations

from pathlib import Path

from sojourn.cli.chat.conversation import ChatSession
from sojourn.cli.chat.prompt import ChatPrompt, TerminalOutput
from sojourn.cli.context import CommandContext
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Listing


async def run_chat(
    given: CommandContext,
    service: Service,
    by: Caller,
    *,
    words: str | None,
    latest: bool,
    runtime: str | None,
    model: str | None,
    template: str | None,
    files: tuple[Path, ...],
) -> None:
    """Until the person leaves."""
    paper = TerminalOutput(no_color=given.no_color)
    talk = ChatSession(service, by, paper, cwd=str(Path.cwd()))
    talk.runtime, talk.model, talk.template = runtime or "", model or "", template or ""
    terminal = ChatPrompt(talk, paper)
    try:
        await _greet(talk, words=words, latest=latest)
        for file in files:
            await talk.attach(file)
        terminal.words.titles = [one.title for one in await service.find(Listing(limit=200)) if one.title]
        terminal.words.runtimes = [one.name for one in await service.runtimes()]
        await terminal.run()
        _print_farewell(talk)
    finally:
        await terminal.close()
        talk.leave()
        paper.close()


async def _greet(talk: ChatSession, *, words: str | None, latest: bool) -> None:
    if words:
        await talk.resume(words)
    elif latest:
        await talk.resume_latest()
    else:
        ready = [one for one in await talk.service.runtimes() if one.default]
        said = f"{ready[0].label}: {ready[0].detail}" if ready else "nothing can think here yet"
        talk.print_note(f"{said}. /help shows what else there is.")
        if ready and ready[0].hint:
            talk.print_note(ready[0].hint)


def _print_farewell(talk: ChatSession) -> None:
    if talk.session is not None:
        still = " The turn goes on without you." if talk.is_busy else ""
        name = talk.session.title or talk.session.id
        talk.print_note(f"Kept as {name}.{still} Come back with: sojourn chat --session {talk.session.id}")
