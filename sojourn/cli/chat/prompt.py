"""The interactive chat: a prompt that reads lines, the answer above it, a status line below it."""

from __future__ import annotations

import asyncio
import base64
import io
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app_or_none
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, merge_formatted_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import StdoutProxy
from rich.console import Console, RenderableType
from rich.markdown import Markdown

from sojourn.asyncio_tasks import cancel_task
from sojourn.chat_commands import parse_command
from sojourn.cli.chat.completer import ChatCompleter
from sojourn.cli.chat.conversation import ChatSession
from sojourn.cli.chat.slash_commands import run_slash_command
from sojourn.cli.context import CommandContext
from sojourn.core.errors import SojournError
from sojourn.core.messages import Message, is_internal, text_of
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.ports.store import Listing
from sojourn.ports.tool import Covers
from sojourn.text.formatting import format_duration, one_line, printable
from sojourn.turn_support.permission_modes import MODES, parse_mode
from sojourn.user_commands import UserCommands

_ANSWER_KEYS = {"y": "once", "o": "once", "n": "deny", "d": "deny", "escape": "deny"}  # one key grants nothing lasting
_LASTING = {"session": "session (this tool, until it ends)", "always": "always (exactly this)"}  # typed as words
_MODES = {"plan": "plan mode", "accept-edits": "accepts edits"}  # in the status line
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_RESERVED_LINES = 6  # of the screen that the unfinished part of an answer leaves free


class TerminalOutput:
    """Prints above the prompt."""

    def __init__(self, *, no_color: bool) -> None:
        self._proxy = StdoutProxy(sleep_between_writes=0.0, raw=True)
        options: dict[str, Any] = {"color_system": None} if no_color else {}
        self.screen = Console(
            file=self._proxy,  # type: ignore[arg-type]
            force_terminal=True,
            highlight=False,
            markup=False,
            emoji=False,
            **options,
        )
        self.no_color = no_color

    def write(self, line: RenderableType) -> None:
        self.screen.print(line)

    def refresh(self) -> None:
        app = get_app_or_none()
        if app is not None:
            app.invalidate()

    def copy(self, text: str) -> None:
        """By the escape sequence OSC 52, which reaches the person's machine through ssh too."""
        encoded = base64.b64encode(text.encode()).decode()
        self._proxy.write(f"\x1b]52;c;{encoded}\x07")
        self._proxy.flush()

    def notify(self, text: str) -> None:
        """By the escape sequence OSC 9, which some terminals show, and the bell, which all ring."""
        self._proxy.write(f"\x1b]9;{one_line(printable(text), 200)}\x07\x07")
        self._proxy.flush()

    def close(self) -> None:
        self._proxy.close()


class ChatPrompt:
    """Reads lines until the person leaves."""

    def __init__(self, chat: ChatSession, output: TerminalOutput) -> None:
        self.chat, self.output = chat, output
        self.completer = ChatCompleter(chat.cwd, chat.user_commands)
        self._history = InMemoryHistory()
        self._tasks: set[asyncio.Task[None]] = set()
        self._confirmed: object = None  # the question to which a lasting yes was said once, and which
        self._prompt: PromptSession[str] = PromptSession(
            message=self._render_prompt,
            bottom_toolbar=self._render_toolbar,
            completer=self.completer,
            complete_while_typing=True,
            key_bindings=self._build_key_bindings(),
            history=self._history,
            multiline=True,
            prompt_continuation="  ",
            erase_when_done=True,
            reserve_space_for_menu=4,
            enable_suspend=True,  # Ctrl-Z, where the system knows it
            tempfile_suffix=".md",
        )

    async def run(self, first: str = "") -> None:
        """Reads lines until the person leaves; `first` is a line that they gave before."""
        await self._load_history()
        self._start_task(self._tick)
        if first:
            self.output.screen.print(f"❯ {first}", style="bold cyan")
            await self.handle_line(first)
        while not self.chat.wants_to_leave:
            words, self.chat.words_back = self.chat.words_back, ""
            try:
                line = (await self._prompt.prompt_async(default=words)).strip()
            except EOFError:
                break
            if line:
                self.output.screen.print(f"❯ {line}", style="bold cyan")
                await self.handle_line(line)

    async def _tick(self) -> None:
        """Redraws the spinner while a turn runs."""
        while True:
            await asyncio.sleep(0.125)
            if self.chat.is_busy:
                self.output.refresh()

    async def _answer_in_words(self, line: str, question: Mapping[str, Any]) -> bool:
        """Answers a question with whole words: a choice, or `always` and the name of the tool. `always` is said twice:
        the first time its scope is explained. False if the line is no answer."""
        tool = str(question.get("tool", ""))
        choice, _, named = line.lower().partition(" ")
        if choice not in question.get("choices", ()) or (named and (choice not in _LASTING or named != tool.lower())):
            return False
        covers: Covers | None = "tool" if named else None
        asked = (question.get("question"), choice, covers)
        if choice == "always" and self._confirmed != asked:
            self._confirmed = asked
            self.chat.print_note(_explain(tool, covers))
            return True
        await self.chat.answer(choice, covers)
        return True

    async def handle_line(self, line: str) -> None:
        """Answers a question, runs a slash command, steers the running turn, or sends a message."""
        question = self.chat.renderer.question
        try:
            if question is not None and await self._answer_in_words(line, question):
                return
            command = ("help", "") if line == "/" else parse_command(line)
            if command is not None:
                await run_slash_command(self.chat, *command)
            elif line.startswith("!") and line[1:].strip():
                await self.chat.run_shell(line[1:].strip())
            elif self.chat.is_busy:
                await self.chat.steer(line)
            else:
                await self.chat.say(line.removeprefix("/") if line.startswith("//") else line)
        except SojournError as error:
            self.chat.print_error(error)

    async def _load_history(self) -> None:
        """Fills the history of the up key with earlier messages of the session; no file is written."""
        if self.chat.session is not None:
            for one in await self.chat.service.messages(self.chat.session.id):
                if isinstance(one.item, Message) and one.item.role == "user" and not is_internal(one.item):
                    self._history.append_string(text_of(one.item))

    def _render_prompt(self) -> AnyFormattedText:
        parts: list[AnyFormattedText] = []
        if tail := self.chat.renderer.tail:
            parts.append(ANSI(self._render_tail(tail)))
        if question := self.chat.renderer.question:
            choices = question.get("choices", ())
            lasting = [_LASTING[one] for one in choices if one in _LASTING]
            yes, more = (
                "[y]es, once  " if "once" in choices else "",
                f"  or type {' or '.join(lasting)}" if lasting else "",
            )
            parts.append([("bold ansiyellow", f"{yes}[n]o{more}  ")])
        parts.append([("ansicyan bold", "❯ ")])
        return merge_formatted_text(parts)

    def _render_tail(self, tail: str) -> str:
        """Renders the unfinished end of the answer as Markdown."""
        room = max(3, self.output.screen.height - _RESERVED_LINES)
        buffer = io.StringIO()
        colors: dict[str, Any] = {"color_system": None} if self.output.no_color else {"color_system": "standard"}
        screen = Console(file=buffer, width=self.output.screen.width, force_terminal=True, **colors)
        screen.print(Markdown(tail, code_theme="ansi_dark"))
        return "\n".join(buffer.getvalue().splitlines()[-room:]) + "\n"

    def _render_toolbar(self) -> AnyFormattedText:
        chat, status = self.chat, self.chat.renderer.status
        mode = _MODES.get(chat.permissions, "")
        if status is not None:
            spin = _SPINNER[int(time.monotonic() * 8) % len(_SPINNER)]
            elapsed = format_duration(time.monotonic() - status.started_at)
            facts = [f"{spin} {status.text}", elapsed, mode, "Ctrl-C stops, Esc takes your words back"]
            return [("", " " + " · ".join(fact for fact in facts if fact))]
        used = chat.renderer.usage
        tokens = int(used.get("input_tokens", 0) + used.get("output_tokens", 0))
        cost = f"${used['cost_usd']:.4f}" if "cost_usd" in used else ""
        title = one_line(chat.session.title or chat.session.id, 40) if chat.session else "new session"
        left = chat.renderer.context_left
        room = "" if left is None else f"{left:.0%} of the context left"
        facts = [title, mode, chat.runtime, chat.model, f"{tokens:,} tokens" if tokens else "", room, cost, "/help"]
        return [("", " " + " · ".join(fact for fact in facts if fact))]

    def _build_key_bindings(self) -> KeyBindings:
        keys = KeyBindings()
        is_asked = Condition(lambda: self.chat.renderer.question is not None and not self._prompt.default_buffer.text)

        @keys.add("enter")
        @keys.add("c-j")  # Enter arrives as Ctrl-J when it is typed before the prompt is ready
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            if self.chat.is_busy:
                self._start_task(self.chat.stop)
            elif event.current_buffer.text:
                event.current_buffer.reset()
            else:
                self.chat.print_note("Press Ctrl-D or type /quit to leave.")

        @keys.add("escape", filter=Condition(lambda: self.chat.is_busy and self.chat.renderer.question is None))
        def _(event: KeyPressEvent) -> None:
            words = self.chat.last_request.text if self.chat.last_request else ""
            self._start_task(self.chat.stop)
            if words and not event.current_buffer.text:
                event.current_buffer.insert_text(words)

        @keys.add("s-tab", filter=~has_completions)
        def _(event: KeyPressEvent) -> None:
            modes = list(MODES)
            after = modes[(modes.index(parse_mode(self.chat.permissions)) + 1) % len(modes)]
            self._start_task(lambda: run_slash_command(self.chat, "permissions", after))

        @keys.add("c-x", "c-e")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.open_in_editor()

        @keys.add("c-x")
        def _(event: KeyPressEvent) -> None:
            self._start_task(self.chat.rerun_without_template)

        for key, choice in _ANSWER_KEYS.items():

            @keys.add(key, filter=is_asked, eager=True)
            def _(event: KeyPressEvent, choice: str = choice) -> None:
                self._start_task(lambda: self.chat.answer(choice))

        return keys

    def _start_task(self, work: Callable[[], Any]) -> None:
        """Starts work from a key binding and prints its errors."""

        async def run() -> None:
            try:
                await work()
            except SojournError as error:
                self.chat.print_error(error)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in list(self._tasks):
            await cancel_task(task)


def _explain(tool: str, covers: Covers | None) -> str:
    """What `always` allows, and how to confirm it."""
    if covers == "tool":
        what, again = f"every call of {tool} inside the sandbox", f"always {tool} again to confirm"
    else:
        what = f"exactly this, with {tool} inside the sandbox,"
        again = f"always again to confirm, always {tool} to allow every call of it there"
    return f"This allows {what} in every session from now on. Type {again}, or n."


async def run_chat(
    context: CommandContext,
    service: Service,
    by: Caller,
    request: TurnRequest,
    *,
    reference: str | None,
    latest: bool,
    files: tuple[Path, ...],
) -> None:
    """Runs the chat until the person leaves.

    request: runtime, model, template and folder of the messages; its text is the first of them, if it has one
    reference: the session to continue; `latest` continues the newest one
    files: go with the first message
    """
    output = TerminalOutput(no_color=context.no_color)
    own = UserCommands(context.settings.home, Path(request.cwd or "."))
    chat = ChatSession(service, by, output, cwd=request.cwd, user_commands=own)
    chat.runtime, chat.model, chat.template = request.runtime, request.model, request.template
    chat.notify_seconds = float(context.settings["terminal.notify_seconds"])
    prompt = ChatPrompt(chat, output)
    try:
        await _greet(chat, reference, latest=latest)
        foreign, is_allowed = own.list_foreign()
        if foreign and not is_allowed:
            chat.print_note("This folder brings chat commands, which are not used unless you allow them: /commands")
        for notice in await service.take_notices(by):
            chat.print_note(notice)
        for file in files:
            await chat.attach(file)
        prompt.completer.titles = [one.title for one in await service.find(Listing(limit=200)) if one.title]
        prompt.completer.runtimes = [one.name for one in await service.runtimes() if one.offered]
        await prompt.run(request.text)
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
        wanted, known = chat.runtime, await chat.service.runtimes()
        ready = [one for one in known if (one.name == wanted if wanted else one.default)]
        runtime = f"{ready[0].label}: {ready[0].detail}" if ready else "no runtime is ready yet"
        chat.print_note(f"{runtime}. /help lists the commands.")
        waits = [one for one in known if one.name == "native" and not (one.ok or wanted)]
        for one in waits[:1] or ready[:1]:  # why no model answers
            if words := " ".join(filter(None, (one.detail if one in waits else "", one.hint))):
                chat.print_note(words)


def _print_farewell(chat: ChatSession) -> None:
    if chat.session is not None:
        still = " The turn keeps running." if chat.is_busy else ""
        name = chat.session.title or chat.session.id
        chat.print_note(f"Saved as {name}.{still} Come back with: sojourn chat --session {chat.session.id}")
