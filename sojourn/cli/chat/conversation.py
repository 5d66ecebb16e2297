"""One conversation at a terminal: which session it is in, what is said next and how, and what comes back."""

from __future__ import annotations

import asyncio
import mimetypes
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

from rich.console import RenderableType
from rich.text import Text

from sojourn.cli.chat.event_lines import EventRenderer
from sojourn.cli.formatting import one_line
from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, CannotSteer, NotFound, SojournError
from sojourn.core.messages import Message
from sojourn.core.sessions import Session
from sojourn.ports.service import Caller, Service, Turn, TurnRequest
from sojourn.ports.store import Listing
from sojourn.ports.tool import Reply
from sojourn.service.chat_commands import take_session
from sojourn.text.transcript import SpokenText, fold_messages

_RECAP_MESSAGES = 6  # messages of a resumed session that are shown
MAX_FILE_BYTES = 20_000_000


class Output(Protocol):
    """Where lines go."""

    def write(self, line: RenderableType) -> None: ...
    def refresh(self) -> None:
        """What is below the lines looks different now."""
        ...


class ChatSession:
    """Opens its session with the first words, so that looking around leaves nothing behind."""

    def __init__(self, service: Service, by: Caller, paper: Output, *, cwd: str = "") -> None:
        self.service, self.by, self.output, self.cwd = service, by, paper, cwd
        self.session: Session | None = None
        self.renderer = EventRenderer()
        self.runtime = self.model = self.template = ""
        self.attachments: list[Attachment] = []
        self.wants_to_leave = self.is_watching = False
        self.last_request: TurnRequest | None = None
        self._watching: asyncio.Task[None] | None = None

    # which session
    async def ensure_session(self) -> Session:
        """The session, made now if there is none yet."""
        if self.session is None:
            opened = await self.service.open(self.by, model=self.model or None, runtime=self.runtime, cwd=self.cwd)
            self._follow(opened)
        assert self.session is not None
        return self.session

    async def resume(self, words: str) -> None:
        """Goes on with a session; from now on this surface drives."""
        found = await self.service.resolve(words, principal=self.by.principal)
        taken = await take_session(self.service, found, self.by)
        if taken is not found:
            self.print_note(f"{found.driver} drove this session; you have the wheel now.")
        await self.enter(taken)

    async def enter(self, found: Session, *, watch_only: bool = False, recap: bool = True) -> None:
        """Leaves the session so far and goes on in this one, or only shows it; `recap` prints its last messages."""
        if recap and not watch_only:
            await self._print_recent(found)
        if self.session is None or self.session.id != found.id:
            self.leave()
            self._follow(found)
        self.session, self.is_watching = found, watch_only
        if not watch_only and (turn := await self.service.running(found.id)) is not None:
            self.print_note(f"Turn {turn} is running; you are watching it.")

    async def _print_recent(self, found: Session) -> None:
        recent = [one for one in await self.service.messages(found.id) if isinstance(one.item, Message)]
        self.output.write(Text.assemble(("● ", "green"), (one_line(found.title or found.id), "bold"), f"  {found.id}"))
        for piece in fold_messages(recent[-_RECAP_MESSAGES:]):
            if isinstance(piece, SpokenText) and piece.message.role in ("user", "assistant"):
                sign = "◦" if piece.is_notice else "❯" if piece.message.role == "user" else "●"
                self.output.write(Text(f"{sign} {one_line(piece.text, 300)}", style="dim"))

    async def resume_latest(self) -> None:
        found = await self.service.find(Listing(principal=self.by.principal, limit=1))
        if not found:
            raise NotFound("There is no session to go on with.", hint="Just start: `sojourn chat`.")
        await self.resume(found[0].id)

    def leave(self) -> None:
        """Lets go of the session; whatever runs there goes on."""
        if self._watching is not None:
            self._watching.cancel()
        self.session, self._watching, self.renderer, self.is_watching = None, None, EventRenderer(), False

    def _follow(self, session: Session) -> None:
        self.session = session
        self._watching = asyncio.create_task(self._watch(session))

    async def _watch(self, session: Session) -> None:
        try:
            async with aclosing(self.service.watch(session.id, after=session.last_seq)) as log:
                async for recorded in log:
                    for line in self.renderer.render(recorded):
                        self.output.write(line)
                    self.output.refresh()
        except SojournError as error:
            self.print_error(error)

    # talking
    async def say(self, text: str) -> Turn:
        """Says it; the answer comes by itself. What is said while a turn runs reaches that turn."""
        return await self._send(await self.ensure_session(), self._request(text))

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
        self, session: Session, said: TurnRequest, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        self.renderer.typed_here.append(
            said.text.strip()
        )  # first: the watcher may be quicker than the answer to this call
        try:
            turn = await self.service.say(session.id, said, self.by, when_busy=when_busy)
        except SojournError:
            self.renderer.typed_here.remove(said.text.strip())
            raise
        self.attachments.clear()
        self.last_request = said
        return turn

    async def steer(self, text: str) -> None:
        """Words to the running turn; where it does not listen, they are the next request."""
        if self.session is None:
            return
        try:
            await self.service.steer(self.session.id, text, self.by)
        except CannotSteer:
            await self._send(self.session, self._request(text), when_busy="wait")

    async def stop(self) -> bool:
        return self.session is not None and await self.service.stop(self.session.id, self.by)

    async def answer(self, choice: str, why: str = "") -> None:
        question = self.renderer.question
        if self.session is not None and question is not None:
            self.renderer.question = None
            reply = Reply(choice=choice, by=self.by.name or self.by.surface, why=why)
            with suppress(NotFound):  # it was answered elsewhere meanwhile
                await self.service.answer(self.session.id, str(question.get("question")), reply, self.by)

    async def rerun_without_template(self) -> None:
        """The last request once more, from the start, with no template."""
        if self.session is None or self.last_request is None:
            raise BadInput("There is nothing to run again.", hint="Say something first.")
        said = replace(self.last_request, template="none")
        await self.stop()
        while await self.service.running(self.session.id) is not None:  # noqa: ASYNC110  the port has no event for it
            await asyncio.sleep(0.05)
        await self.service.undo(self.session.id, self.by)
        await self._send(self.session, said)

    async def attach(self, path: Path) -> Attachment:
        """A file that goes with the next words."""
        kept = await attach_file(self.service, await self.ensure_session(), path)
        self.attachments.append(kept)
        return kept

    # words of our own
    def print_note(self, words: str) -> None:
        self.output.write(Text(f"◦ {words}", style="dim"))

    def print_error(self, error: SojournError) -> None:
        self.output.write(Text.assemble(("✗ ", "red"), (str(error), "red"), (f"   ({error.code})", "dim")))
        if error.hint:
            self.output.write(Text(f"  {error.hint}"))

    @property
    def is_busy(self) -> bool:
        return self.renderer.status is not None


async def attach_file(service: Service, session: Session, path: Path) -> Attachment:
    """Keeps a file with a session."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path} is larger than 20 MB.", hint="Attach a smaller file, or name its path.")
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from error
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return await service.attach(session.id, data, media_type=kind, name=path.name)
