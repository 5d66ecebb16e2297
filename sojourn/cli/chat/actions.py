"""What the slash commands do."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.table import Table
from rich.text import Text

from sojourn.cli.chat.slash import Slash
from sojourn.cli.chat.talk import Talk
from sojourn.cli.formatting import format_age as ago
from sojourn.cli.formatting import one_line, printable
from sojourn.cli.formatting import pluralize as many
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.sessions import Session, clean_title
from sojourn.ports.store import Listing

_SHOWN = 15
_A_MOMENT = 5.0  # seconds: the last words of an answer are read before its turn has ended
_PATIENCE = 60.0


class Actions:
    """The commands of a chat. `program` are the words that start the same `sojourn` in the same home."""

    def __init__(self, program: Sequence[str]) -> None:
        self._program = list(program)
        made = (
            Slash(name="help", about="These commands.", run=self.help),
            Slash(name="new", about="Begin a new session.", run=self.new),
            Slash(
                name="sessions",
                takes="[words]",
                about="The newest sessions, or those with these words.",
                run=self.sessions,
            ),
            Slash(
                name="resume",
                takes="<session>",
                about="Go on with a session, by title or id; take the wheel.",
                run=self.resume,
            ),
            Slash(name="title", takes="[words]", about="Show or set the title.", run=self.title),
            Slash(name="model", takes="[name]", about="Show the models, or use one from now on.", run=self.model),
            Slash(
                name="runtime",
                takes="[name]",
                about="Show what can think here, or use it from now on.",
                run=self.runtime,
            ),
            Slash(
                name="template",
                takes="[name|none|again]",
                about="Show templates; use one or none; run without.",
                run=self.template,
            ),
            Slash(
                name="memory", takes="[list|add|edit|delete …]", about="What is remembered about you.", run=self.memory
            ),
            Slash(name="skills", takes="[list|view …]", about="The skills there are.", run=self.skills),
            Slash(name="usage", about="Tokens and cost of this chat.", run=self.usage),
            Slash(name="undo", about="Take back the last request and what followed.", run=self.undo),
            Slash(name="stop", about="Stop the running turn (Ctrl-C does too).", run=self.stop),
            Slash(name="take", about="Take the wheel from another surface.", run=self.take),
            Slash(name="status", about="Which session this is and who drives it.", run=self.status),
            Slash(
                name="attach",
                takes="<file|session>",
                about="Attach a file, or join a session to watch it.",
                run=self.attach,
            ),
            Slash(
                name="handoff",
                takes="<platform[:chat]>",
                about="Move this session to a chat network, and leave.",
                run=self.handoff,
            ),
            Slash(name="sethome", about="Let hand-offs land in a chat.", run=self.only_in_chats, gateway_only=True),
            Slash(name="whoami", about="Who you are to Sojourn.", run=self.only_in_chats, gateway_only=True),
            Slash(
                name="export",
                takes="[file]",
                about="Write the session as Markdown (or JSONL, by the name).",
                run=self.export,
                cli_only=True,
            ),
            Slash(name="quit", about="Leave. A running turn goes on without you.", run=self.quit, cli_only=True),
        )
        self.by_name = {one.name: one for one in made}

    async def help(self, talk: Talk, rest: str) -> None:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for one in (one for one in self.by_name.values() if not one.gateway_only):
            table.add_row(Text(f"/{one.name} {one.takes}".rstrip(), style="cyan"), one.about)
        table.add_row(Text("Alt-Enter", style="cyan"), "A new line. Enter sends, Ctrl-C stops the turn, Ctrl-D leaves.")
        talk.paper.write(table)

    async def new(self, talk: Talk, rest: str) -> None:
        talk.leave()
        talk.tell("A new session begins with your next words.")

    async def sessions(self, talk: Talk, rest: str) -> None:
        found = await talk.service.find(Listing(principal=talk.by.principal, text=rest, limit=_SHOWN))
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for one in found:
            here = "●" if talk.session is not None and one.id == talk.session.id else " "
            name = one_line(one.title or one.preview or "(empty)", 60)
            table.add_row(Text(here, style="green"), name, Text(one.id, style="dim"), ago(one.last_active, time.time()))
        talk.paper.write(table if found else Text("No sessions yet.", style="dim"))

    async def resume(self, talk: Talk, rest: str) -> None:
        if not rest:
            raise BadInput("Which session?", hint="/resume and a title or id; /sessions lists them.")
        await talk.resume(rest)

    async def title(self, talk: Talk, rest: str) -> None:
        session = await _current(talk)
        if not rest:
            talk.tell(session.title or "This session has no title yet.")
            return
        talk.session = await talk.service.change(session, replace(session, title=clean_title(rest)))
        talk.tell(f"This session is called {talk.session.title} now.")

    async def model(self, talk: Talk, rest: str) -> None:
        if rest:
            talk.model = "" if rest == "default" else rest
            talk.tell(f"From now on: {talk.model or 'the default model'}.")
            return
        for one in await talk.service.runtimes():
            if one.ok and one.models:
                talk.paper.write(Text.assemble((one.name, "bold"), f"  {', '.join(one.models[:20])}"))
        talk.tell(f"In use: {talk.model or 'the default'}. /model NAME changes it, /model default goes back.")

    async def runtime(self, talk: Talk, rest: str) -> None:
        known = await talk.service.runtimes()
        if rest:
            if rest not in {one.name for one in known}:
                raise NotFound(f'There is no runtime "{rest}".', hint=f"There are: {', '.join(o.name for o in known)}.")
            talk.runtime = rest
            talk.tell(f"From now on {rest} answers. The transcript stays.")
            return
        for one in known:
            sign = ("✓ ", "green") if one.ok else ("– ", "dim")
            default = "  (default)" if one.default else ""
            talk.paper.write(Text.assemble(sign, (one.name, "bold"), f"  {one.detail}{default}"))
            if not one.ok and one.hint:
                talk.paper.write(Text(f"    {one.hint}", style="dim"))

    async def template(self, talk: Talk, rest: str) -> None:
        if rest == "again":
            await talk.again_without_template()
        elif rest:
            talk.template = "" if rest == "auto" else rest
            talk.tell(f"Template: {rest}. /template auto lets it be chosen again.")
        else:
            await self._program_says(talk, "templates", "list")

    async def memory(self, talk: Talk, rest: str) -> None:
        await self._program_says(talk, "memory", *(_words(rest) or ["list"]))

    async def skills(self, talk: Talk, rest: str) -> None:
        await self._program_says(talk, "skills", *(_words(rest) or ["list"]))

    async def usage(self, talk: Talk, rest: str) -> None:
        used = talk.show.usage
        cost = f"${used['cost_usd']:.4f}" if "cost_usd" in used else "cost not known"
        said, heard = int(used.get("input_tokens", 0)), int(used.get("output_tokens", 0))
        talk.tell(f"In this chat: {said:,} tokens in, {heard:,} out, {cost}.")

    async def undo(self, talk: Talk, rest: str) -> None:
        session = await _current(talk)
        hidden = await talk.service.undo(session.id, talk.by)
        talk.tell(f"Took back {many(hidden, 'message')}." if hidden else "There is nothing to take back.")

    async def stop(self, talk: Talk, rest: str) -> None:
        talk.tell("Stopping." if await talk.stop() else "Nothing is running.")

    async def take(self, talk: Talk, rest: str) -> None:
        session = await _current(talk)
        talk.session = await talk.service.take(session.id, talk.by)
        talk.tell("You have the wheel.")

    async def status(self, talk: Talk, rest: str) -> None:
        if talk.session is None:
            talk.tell("No session yet; it begins with your first words.")
            return
        session = await _current(talk)
        turn = await talk.service.running(session.id)
        talk.tell(f"{session.title or '(no title)'} · {session.id} · {many(session.message_count, 'message')}")
        talk.tell(f"driven from {session.driver or 'nowhere'}; {f'turn {turn} runs' if turn else 'no turn runs'}")

    async def attach(self, talk: Talk, rest: str) -> None:
        if not rest:
            raise BadInput("Attach what?", hint="/attach and the path of a file, or a session to watch.")
        path = Path(rest).expanduser()
        path = path if path.is_absolute() else Path(talk.cwd or ".") / path
        if path.is_file():
            kept = await talk.attach(path)
            talk.tell(f"{kept.name} goes with your next words ({kept.media_type}, {kept.size:,} bytes).")
            return
        await talk.watch_only(rest)

    async def handoff(self, talk: Talk, rest: str) -> None:
        """Shows how it goes. When it has arrived, this chat ends as with /quit; else the session is intact here."""
        if not rest:
            raise BadInput("Hand it to whom?", hint="/handoff and a platform: local, telegram:42 …")
        if not await talk.is_idle_within(_A_MOMENT):
            raise BadInput("A turn is running.", hint="Wait for it or stop it (Ctrl-C), then hand it over.")
        session, to = await talk.begin(), rest.replace(" ", ":", 1)
        lines = self._program_line_by_line(talk, "handoff", session.id, "--to", to)
        if await lines == 0:
            talk.wants_to_leave = True

    async def only_in_chats(self, talk: Talk, rest: str) -> None:
        raise BadInput("This works in chats only.", hint="Write it in the chat network.")

    async def _program_line_by_line(self, talk: Talk, *words: str) -> int:
        """Another command of ours; each line is shown as it comes. Gives what it ended with."""
        process = await asyncio.create_subprocess_exec(
            *self._program,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=talk.cwd or None,
        )
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                talk.paper.write(Text(printable(line.decode("utf-8", "replace").rstrip())))
            return await process.wait()
        finally:
            if process.returncode is None:  # whoever waits may go; the hand-off goes on
                process.terminate()
                await process.wait()

    async def export(self, talk: Talk, rest: str) -> None:
        session = await _current(talk)
        target = rest or f"{session.id}.md"
        form = "jsonl" if target.endswith(".jsonl") else "markdown"
        await self._program_says(talk, "sessions", "export", session.id, "--format", form, "--output", target)

    async def quit(self, talk: Talk, rest: str) -> None:
        talk.wants_to_leave = True

    async def _program_says(self, talk: Talk, *words: str) -> None:
        """Another command of ours, as if it were typed in a shell; what it prints is shown here."""
        process = await asyncio.create_subprocess_exec(
            *self._program,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=talk.cwd or None,
        )
        try:
            async with asyncio.timeout(_PATIENCE):
                said, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            raise BadInput(f"`sojourn {' '.join(words)}` took too long.", hint="Try it in a shell.") from None
        talk.paper.write(Text(printable(said.decode("utf-8", "replace").rstrip())))


def program(home: str) -> list[str]:
    return [sys.executable, "-m", "sojourn", "--home", home, "--no-color"]


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise BadInput(f"{rest} cannot be read: {error}.", hint="Close every quote.") from error


async def _current(talk: Talk) -> Session:
    """The session as it is now; others may have changed it."""
    if talk.session is None:
        raise BadInput("There is no session yet.", hint="It begins with your first words.")
    talk.session = await talk.service.get(talk.session.id, principal=talk.by.principal)
    return talk.session
