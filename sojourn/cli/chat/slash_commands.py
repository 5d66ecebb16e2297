"""Chat commands in the terminal: runs `service.chat_commands`, applies what they change, and prints the answer."""

from __future__ import annotations

import os
from contextlib import aclosing
from pathlib import Path

from rich.table import Table
from rich.text import Text

from sojourn.chat_commands import ChatCommand, CommandCall, CommandResult, find_command, run_command
from sojourn.cli.chat.conversation import ChatSession
from sojourn.core.errors import BadInput
from sojourn.core.handoff import Handoff
from sojourn.text.formatting import printable
from sojourn.text.handoff_text import step_text, summary_text

_KEYS = (
    ("Alt-Enter", "Starts a new line. Enter sends, Ctrl-C stops the turn, Esc takes your words back, Ctrl-D leaves."),
    ("Shift-Tab", "Goes to the next permission mode: plan, ask, accept-edits."),
    ("Ctrl-X Ctrl-E", "Opens your message in the editor that $EDITOR names."),
    ("@file", "Sends a file along. !command runs a command of yours; its output goes along with your next message."),
)
_SIGN_STYLES = {"●": "green", "✓": "green", "✗": "red"}


async def run_slash_command(chat: ChatSession, name: str, arguments: str) -> None:
    """Runs one command in a terminal conversation. Any SojournError."""
    command = find_command(name)
    if command.name == "attach" and (path := _find_file(chat, arguments)):
        attached = await chat.attach(path)
        chat.print_note(
            f"{attached.name} will be sent with your next message ({attached.media_type}, {attached.size:,} bytes)."
        )
        return
    if command.name == "attach" and arguments.startswith(("/", "~", "./", "../")):
        raise BadInput(f"There is no file {arguments}.", hint="/attach takes a file, or the title or id of a session.")
    if command.opens_session and arguments:
        await chat.ensure_session()
    await _apply(chat, command, await run_command(command, _to_command_call(chat, arguments)))


def _to_command_call(chat: ChatSession, arguments: str) -> CommandCall:
    return CommandCall(
        service=chat.service,
        by=chat.by,
        surface="terminal",
        arguments=arguments,
        session=chat.session.id if chat.session else None,
        is_watching=chat.is_watching,
        model=chat.model,
        permissions=chat.permissions,
    )


async def _apply(chat: ChatSession, command: ChatCommand, result: CommandResult) -> None:
    if result.file_name:
        _write_file(Path(chat.cwd or ".") / Path(result.file_name).expanduser(), result.file)
    if result.change == "new":
        chat.leave()
    elif result.change and result.session is not None:
        await chat.enter(result.session, watch_only=result.change == "watch", recap=command.name == "resume")
    elif result.session is not None and not result.handoff:
        chat.session = result.session
    for name, value in result.choices.items():
        setattr(chat, name, value)
    _print(chat, command, result)
    if result.copy:
        chat.output.copy(result.copy)
    if result.retry:
        await chat.retry()
    if result.rerun:
        await chat.rerun_without_template()
    if result.handoff is not None:
        await _follow(chat, result.handoff)
    chat.wants_to_leave |= result.leave


def _print(chat: ChatSession, command: ChatCommand, result: CommandResult) -> None:
    rows = [*result.rows, *_KEYS] if command.name == "help" else result.rows
    if rows:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for first, *rest in rows:
            table.add_row(Text(printable(first), style=_SIGN_STYLES.get(first, "cyan")), *map(printable, rest))
        chat.output.write(table)
    for line in result.lines:
        chat.print_note(printable(line))


async def _follow(chat: ChatSession, handoff: Handoff) -> None:
    """Prints each step. The chat ends when the session has arrived; otherwise it goes on here."""
    assert chat.session is not None
    async with aclosing(chat.service.follow_handoff(handoff)) as steps:
        async for handoff in steps:
            if text := step_text(handoff):
                chat.output.write(Text(f"… {text}"))
    session = await chat.service.get(chat.session.id, principal=chat.by.principal)
    chat.output.write(Text(printable(summary_text(handoff, session))))
    chat.wants_to_leave = handoff.state == "completed"


def _find_file(chat: ChatSession, name: str) -> Path | None:
    path = Path(chat.cwd or ".") / Path(name).expanduser()
    return path if name and path.is_file() else None


def _write_file(path: Path, text: str) -> None:
    """Creates a file that only its owner can read. BadInput if it exists or cannot be written."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as error:
        raise BadInput(f"{path} already exists.", hint="Choose another name.") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", hint="Choose another place.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
