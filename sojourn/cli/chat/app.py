"""The interactive chat: builds conversation and prompt, runs them, and closes them."""

from __future__ import annotations

from pathlib import Path

from sojourn.cli.chat.conversation import ChatSession
from sojourn.cli.chat.prompt import ChatPrompt, TerminalOutput
from sojourn.cli.context import CommandContext
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Listing


async def run_chat(
    context: CommandContext,
    service: Service,
    by: Caller,
    *,
    reference: str | None,
    latest: bool,
    runtime: str | None,
    model: str | None,
    template: str | None,
    files: tuple[Path, ...],
) -> None:
    """Runs the chat until the person leaves.

    reference: the session to continue; `latest` continues the newest one
    files: go with the first message
    """
    output = TerminalOutput(no_color=context.no_color)
    chat = ChatSession(service, by, output, cwd=str(Path.cwd()))
    chat.runtime, chat.model, chat.template = runtime or "", model or "", template or ""
    prompt = ChatPrompt(chat, output)
    try:
        await _greet(chat, reference, latest=latest)
        for file in files:
            await chat.attach(file)
        prompt.completer.titles = [one.title for one in await service.find(Listing(limit=200)) if one.title]
        prompt.completer.runtimes = [one.name for one in await service.runtimes()]
        await prompt.run()
        _print_farewell(chat)
    finally:
        await prompt.close()
        chat.leave()
        output.close()


async def _greet(chat: ChatSession, reference: str | None, *, latest: bool) -> None:
    if reference:
        await chat.resume(reference)
    elif latest:
        await chat.resume_latest()
    else:
        ready = [one for one in await chat.service.runtimes() if one.default]
        runtime = f"{ready[0].label}: {ready[0].detail}" if ready else "no runtime is ready yet"
        chat.print_note(f"{runtime}. /help lists the commands.")
        if ready and ready[0].hint:
            chat.print_note(ready[0].hint)


def _print_farewell(chat: ChatSession) -> None:
    if chat.session is not None:
        still = " The turn keeps running." if chat.is_busy else ""
        name = chat.session.title or chat.session.id
        chat.print_note(f"Saved as {name}.{still} Come back with: sojourn chat --session {chat.session.id}")
