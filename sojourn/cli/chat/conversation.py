"""ChatSession: one conversation at a terminal. It opens sessions, sends requests and prints the events."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

from rich.console import RenderableType
from rich.text import Text

from sojourn.chat_command_table import run_plugin_command
from sojourn.chat_commands import take_session
from sojourn.cli.chat.event_lines import EventRenderer
from sojourn.cli.chat.file_mentions import find_mentioned_files
from sojourn.cli.chat.file_upload import attach_file
from sojourn.cli.chat.shell_command import ShellResult, run_shell_command
from sojourn.core.attachments import Attachment, attachments_of
from sojourn.core.errors import BadInput, CannotSteer, NotFound, SojournError
from sojourn.core.events import Done, Metadata, Progress
from sojourn.core.messages import Message, is_internal
from sojourn.core.sessions import Recorded, Session
from sojourn.ports.service import Caller, Service, Turn, TurnRequest
from sojourn.ports.store import Listing
from sojourn.ports.tool import Covers, Reply
from sojourn.text.exact import hash_text
from sojourn.text.formatting import format_duration, one_line, printable
from sojourn.text.transcript import SpokenText, fold_messages, is_undone, text_without_files
from sojourn.user_commands import UserCommands

_RECAP_MESSAGES = 6  # messages of a resumed session that are shown


class Output(Protocol):
    """The screen of a chat, as the conversation uses it."""

    def write(self, line: RenderableType) -> None:
        """Prints above the prompt."""
        ...

    def refresh(self) -> None:
        """Redraws the prompt and the status line."""
        ...

    def copy(self, text: str) -> None:
        """Puts a text into the clipboard of the person's machine, where the terminal allows it."""
        ...

    def notify(self, text: str) -> None:
        """Rings the bell and shows a notification, where the terminal can."""
        ...


class ChatSession:
    """A conversation. The first message creates its session, so an unused chat leaves none behind."""

    def __init__(
        self, service: Service, by: Caller, output: Output, *, cwd: str = "", user_commands: UserCommands | None = None
    ) -> None:
        self.user_commands = user_commands
        self.service, self.by, self.output, self.cwd = service, by, output, cwd
        self.session: Session | None = None
        self.renderer = EventRenderer(by.holder)
        self.runtime = self.model = self.template = ""
        self.permissions: str = "ask"
        self.thinking = "off"
        self.notify_seconds = 0.0  # how long a turn runs whose end is announced; 0: none
        self.attachments: list[Attachment] = []
        self.wants_to_leave = self.is_watching = False
        self.last_request: TurnRequest | None = None
        self.words_back = ""  # what stands at the prompt when it comes next
        self._shell: list[ShellResult] = []
        self._watching: asyncio.Task[None] | None = None

    async def ensure_session(self) -> Session:
        """Returns the session and creates it first if there is none."""
        if self.session is None:
            opened = await self.service.open(self.by, model=self.model or None, runtime=self.runtime, cwd=self.cwd)
            if self.permissions != "ask":
                await run_plugin_command(self.service, "permissions", self.permissions, opened.id, self.by)
            self._follow(opened)
        assert self.session is not None
        return self.session

    async def resume(self, reference: str) -> None:
        """Continues a session, which the terminal drives from now on."""
        found = await self.service.resolve(reference, principal=self.by.principal)
        taken = await take_session(self.service, found, self.by)
        if taken is not found:
            self.print_note(f"You have taken over this session from {found.driver}.")
        await self.enter(taken)

    async def enter(self, session: Session, *, watch_only: bool = False, recap: bool = True) -> None:
        """Switches to a session, or only watches it; `recap` prints its last messages."""
        turn = await self.service.running(session.id)
        after = None if turn is None else await self._find_turn_start(session)
        if recap and not watch_only:
            await self._print_recent(session, until=after)
        if turn is not None and not watch_only:
            self.print_note(f"Turn {turn} is running; you are watching it from its beginning.")
        if self.session is None or self.session.id != session.id:
            self.leave()
            self._follow(session, after=after)
            self.renderer.start_from(session)
            self.last_request = await self._find_last_request(session)
        self.session, self.is_watching = session, watch_only
        await self._read_permissions(session)

    async def _read_permissions(self, session: Session) -> None:
        """Another surface may have set the permission mode."""
        with suppress(SojournError):  # a server of before has none
            found = await run_plugin_command(self.service, "permissions", "", session.id, self.by)
            self.permissions = found.choices["permissions"]

    async def _read_title(self, session: Session) -> None:
        """The first request gives a session its title, and a model may find a better one."""
        found = await self.service.get(session.id, principal=self.by.principal)
        if self.session is not None and self.session.id == found.id:
            self.session = found

    async def _find_last_request(self, session: Session) -> TurnRequest | None:
        """What was asked last, here or elsewhere: for Esc, /retry and /undo."""
        found = await self.service.messages(session.id)
        asked = [one.item for one in found if isinstance(one.item, Message) and _is_request(one)]
        asked = [one for one in asked if not is_undone(one) and not is_internal(one)]
        return self._to_request(asked[-1]) if asked else None

    def _to_request(self, message: Message) -> TurnRequest:
        return replace(self._request(text_without_files(message)), attachments=attachments_of(message))

    async def take_words_back(self) -> None:
        """After an undo, what was asked last stands at the prompt again, to be changed."""
        before = self.last_request
        self.last_request = None if self.session is None else await self._find_last_request(self.session)
        if before is not None and (self.last_request is None or self.last_request.text != before.text):
            self.words_back = before.text

    async def _find_turn_start(self, session: Session) -> int:
        """The number before the running turn: before its metadata, which its request follows."""
        asked = [one for one in await self.service.messages(session.id) if _is_request(one)]
        return max(0, asked[-1].seq - 2) if asked else 0

    async def _print_recent(self, session: Session, *, until: int | None = None) -> None:
        """Prints the title and the last messages, up to a running turn, which is shown as it goes."""
        found = await self.service.messages(session.id)
        recent = [one for one in found if isinstance(one.item, Message) and (until is None or one.seq <= until)]
        self.output.write(
            Text.assemble(("● ", "green"), (one_line(session.title or session.id), "bold"), f"  {session.id}")
        )
        for piece in fold_messages(recent[-_RECAP_MESSAGES:]):
            if isinstance(piece, SpokenText) and piece.message.role in ("user", "assistant"):
                sign = "◦" if piece.is_notice else "❯" if piece.message.role == "user" else "●"
                self.output.write(Text(f"{sign} {one_line(piece.text, 300)}", style="dim"))

    async def resume_latest(self) -> None:
        found = await self.service.find(Listing(principal=self.by.principal, limit=1))
        if not found:
            raise NotFound("There is no session to continue.", hint="Start one with `sojourn chat`.")
        await self.resume(found[0].id)

    def leave(self) -> None:
        """Stops following the session; a running turn continues."""
        if self._watching is not None:
            self._watching.cancel()
        self.session, self._watching, self.is_watching, self.last_request = None, None, False, None
        self.renderer = EventRenderer(self.by.holder)
        self.permissions = "ask"

    def _follow(self, session: Session, *, after: int | None = None) -> None:
        self.session = session
        self._watching = asyncio.create_task(self._watch(session, session.last_seq if after is None else after))

    async def _watch(self, session: Session, after: int) -> None:
        try:
            async with aclosing(self.service.watch(session.id, after=after)) as log:
                async for recorded in log:
                    recorded = await self._with_exact_text(recorded)
                    if isinstance(recorded.item, Metadata):
                        await self._read_permissions(session)
                    if isinstance(recorded.item, Metadata | Done):
                        await self._read_title(session)
                    self._note_request(recorded)
                    self._notify(recorded)
                    self.renderer.shows_thinking = self.thinking == "on"
                    for line in self.renderer.render(recorded):
                        self.output.write(line)
                    self.output.refresh()
        except SojournError as error:
            self.print_error(error)

    def _note_request(self, recorded: Recorded) -> None:
        """Remembers what another surface asks; what was sent from here is known, with its template."""
        item, known = recorded.item, self.last_request
        if isinstance(item, Message) and _is_request(recorded) and not is_internal(item):
            asked = self._to_request(item)
            if known is None or known.text.strip() != asked.text.strip():
                self.last_request = asked

    def _notify(self, recorded: Recorded) -> None:
        """Announces the end of a long turn: the person may look at something else."""
        status = self.renderer.status
        if not isinstance(recorded.item, Done) or status is None or not self.notify_seconds:
            return
        seconds = time.monotonic() - status.started_at
        if seconds >= self.notify_seconds:
            name = self.session.title if self.session and self.session.title else "The turn"
            self.output.notify(f"{name}: {recorded.item.status} after {format_duration(seconds)}")

    async def _with_exact_text(self, recorded: Recorded) -> Recorded:
        """The event of an open question with the exact text instead of the redacted one. It is compared with the hash;
        what cannot be shown exactly can only be denied."""
        item = recorded.item
        if not isinstance(item, Progress) or item.stage != "approval" or item.detail.get("status") != "asked":
            return recorded
        try:
            found = await self.service.get_question(recorded.session, str(item.detail.get("question")), self.by)
        except NotFound:  # it is settled already
            return recorded
        if hash_text(found.exact) == item.detail.get("sha256"):
            return replace(recorded, item=replace(item, detail={**item.detail, "detail": found.exact}))
        text = f"{item.detail.get('text')} What would run could not be shown exactly: you can only say no."
        return replace(recorded, item=replace(item, detail={**item.detail, "text": text, "choices": ["deny"]}))

    async def say(self, text: str, *, typed: str | None = None) -> Turn:
        """Sends a message. The watcher prints the answer. Files are attached that the person `typed`, not others."""
        session = await self.ensure_session()
        for path in find_mentioned_files(text if typed is None else typed, self.cwd):
            await self.attach(path)
        shell, self._shell = self._shell, []
        said = "\n\n".join([*(one.render() for one in shell), text])
        return await self._send(session, self._request(said))

    async def run_shell(self, command: str) -> None:
        """Runs a command of the person's own and prints its output, which goes along with the next message."""
        result = await run_shell_command(command, self.cwd)
        self._shell.append(result)
        self.output.write(Text(printable(result.output.rstrip()) or "(no output)", style="dim"))
        if result.code:
            self.print_note(f"Exit code {result.code}.")
        self.print_note("The output goes along with your next message.")

    async def retry(self) -> None:
        """Takes the last request back and says it again."""
        if self.session is None or self.last_request is None:
            raise BadInput("There is nothing to ask again.", hint="Send a message first.")
        await self.service.undo(self.session.id, self.by)
        await self._send(self.session, self.last_request)

    def _request(self, text: str) -> TurnRequest:
        return TurnRequest(
            text=text,
            attachments=tuple(self.attachments),
            runtime=self.runtime,
            model=self.model,
            template=self.template,
            cwd=self.cwd,
        )

    async def _send(
        self, session: Session, request: TurnRequest, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        typed = request.text.strip()
        self.renderer.typed_here.append(typed)  # before the call: the watcher may see the message before it returns
        try:
            turn = await self.service.say(session.id, request, self.by, when_busy=when_busy)
        except SojournError:
            self.renderer.typed_here.remove(typed)
            raise
        self.attachments.clear()
        self.last_request = request
        return turn

    async def steer(self, text: str) -> None:
        """Sends text to the running turn; if its runtime cannot be steered, queues it as the next request."""
        if self.session is None:
            return
        try:
            await self.service.steer(self.session.id, text, self.by)
        except CannotSteer:
            await self._send(self.session, self._request(text), when_busy="wait")

    async def stop(self) -> bool:
        return self.session is not None and await self.service.stop(self.session.id, self.by)

    async def answer(self, choice: str, covers: Covers | None = None) -> None:
        question = self.renderer.question
        if self.session is not None and question is not None and choice in question.get("choices", ()):
            self.renderer.question = None
            reply = Reply(choice=choice, by=self.by.name or self.by.surface, covers=covers)
            with suppress(NotFound):  # another surface has answered it
                await self.service.answer(self.session.id, str(question.get("question")), reply, self.by)

    async def rerun_without_template(self) -> None:
        """Stops and undoes the last turn, then sends its request again without a template."""
        if self.session is None or self.last_request is None:
            raise BadInput("There is nothing to run again.", hint="Send a message first.")
        request = replace(self.last_request, template="none")
        await self.stop()
        while await self.service.running(self.session.id) is not None:  # noqa: ASYNC110  the port has no event for it
            await asyncio.sleep(0.05)
        await self.service.undo(self.session.id, self.by)
        await self._send(self.session, request)

    async def attach(self, path: Path) -> Attachment:
        """Uploads a file, which is sent with the next message."""
        attachment = await attach_file(self.service, await self.ensure_session(), path)
        self.attachments.append(attachment)
        return attachment

    def print_note(self, text: str) -> None:
        self.output.write(Text(f"◦ {text}", style="dim"))

    def print_error(self, error: SojournError) -> None:
        self.output.write(Text.assemble(("✗ ", "red"), (str(error), "red"), (f"   ({error.code})", "dim")))
        if error.hint:
            self.output.write(Text(f"  {error.hint}"))

    @property
    def is_busy(self) -> bool:
        return self.renderer.status is not None


def _is_request(recorded: Recorded) -> bool:
    """Whether a message began a turn: words said to a running one are marked."""
    item = recorded.item
    return isinstance(item, Message) and item.role == "user" and "steered" not in (item.extra or "")
