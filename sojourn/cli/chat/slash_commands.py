"""Chat commands in the terminal: runs `sojourn.chat_commands`, applies what they change, and prints the answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from rich.table import Table
from rich.text import Text

from sojourn.chat_commands import ChatCommand, CommandCall, CommandResult, find_command, run_command
from sojourn.cli.chat.conversation import ChatSession
from sojourn.core.errors import BadInput
from sojourn.core.handoff import Handoff
from sojourn.text.formatting import one_line, printable
from sojourn.text.handoff_text import step_text, summary_text
from sojourn.user_commands import UserCommand, UserCommands

_KEYS = (
    ("Alt-Enter", "Starts a new line. Enter sends, Ctrl-C stops the turn, Esc takes your words back, Ctrl-D leaves."),
    ("Shift-Tab", "Goes to the next permission mode: plan, ask, accept-edits."),
    ("Ctrl-X Ctrl-E", "Opens your message in the editor that $EDITOR names."),
    ("@file", "Sends a file along. !command runs a command of yours; its output goes along with your next message."),
)
_SIGN_STYLES = {"●": "green", "✓": "green", "✗": "red"}


async def run_slash_command(chat: ChatSession, name: str, arguments: str) -> None:
    """Runs one command in a terminal conversation. Any SojournError."""
    if chat.user_commands is not None and (own := chat.user_commands.find(name)):
        await _say_user_command(chat, own, arguments)
        return
    command = find_command(name)
    if command.name == "commands" and chat.user_commands is not None:
        _show_user_commands(chat, chat.user_commands, arguments)
        return
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


async def _say_user_command(chat: ChatSession, command: UserCommand, arguments: str) -> None:
    """Says the message that a command stands for, to the running turn if there is one."""
    text = command.expand(arguments)
    chat.print_note(one_line(text, 300))
    if chat.is_busy:
        await chat.steer(text)
    else:
        await chat.say(text, typed=arguments if command.is_foreign else None)


def _show_user_commands(chat: ChatSession, commands: UserCommands, arguments: str) -> None:
    match arguments.split():
        case []:
            foreign, is_allowed = commands.list_foreign()
            rows = [_to_row(one, "yours") for one in commands.list_own()]
            rows += [_to_row(one, "of this folder" if is_allowed else "of this folder, not allowed") for one in foreign]
            _print_rows(chat, rows)
            if not rows:
                chat.print_note("There are none. `commands/review.md` in the home becomes /review.")
            elif foreign and not is_allowed:
                chat.print_note("/commands allow allows those of this folder, as they are now.")
        case ["show", name]:
            chat.output.write(Text(printable(commands.get(name.removeprefix("/")).body)))
        case ["allow"]:
            names = ", ".join(f"/{one.name}" for one in commands.allow())
            chat.print_note(f"Allowed in this folder, until one of them changes: {names}.")
        case ["forbid"]:
            commands.forbid()
            chat.print_note("The commands of this folder are not offered any more.")
        case _:
            raise BadInput("That is not how /commands works.", hint="/commands, show NAME, allow, or forbid.")


def _to_row(one: UserCommand, whose: str) -> tuple[str, ...]:
    return f"/{one.name} {one.arguments}".rstrip(), f"cannot be used: {one.problem}" if one.problem else one.help, whose


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
    if command.name == "undo":
        await chat.take_words_back()
    if result.retry:
        await chat.retry()
    if result.rerun:
        await chat.rerun_without_template()
    if result.handoff is not None:
        await _follow(chat, result.handoff)
    chat.wants_to_leave |= result.leave


def _print(chat: ChatSession, command: ChatCommand, result: CommandResult) -> None:
    rows = list(result.rows)
    if command.name == "help":
        own = chat.user_commands.list_usable() if chat.user_commands is not None else []
        rows += [*(_to_row(one, "")[:2] for one in own), *_KEYS]
    _print_rows(chat, rows)
    for line in result.lines:
        chat.print_note(printable(line))


def _print_rows(chat: ChatSession, rows: Sequence[tuple[str, ...]]) -> None:
    if rows:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for first, *rest in rows:
            table.add_row(Text(printable(first), style=_SIGN_STYLES.get(first, "cyan")), *map(printable, rest))
        chat.output.write(table)


async def _follow(chat: ChatSession, handoff: Handoff) -> None:
    """Prints each step. The chat ends when the session has arrived; otherwise it goes on here."""
    assert chat.session is not None
    async with aclosing(chat.service.follow_handoff(handoff)) as steps:
        async for handoff in steps:
            if text := step_text(handoff):
                chat.output.write(Text(f"… {text}"))
    session = await chat.service.get(chat.session.id, principal=chat.by.principal)
    chat.output.write(Text(printable(summary_text(handoff, session))))
    chat.wants_to_leave = handoff.state == "completed" and handoff.platform != "cli"


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
