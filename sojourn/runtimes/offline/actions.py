"""Actions: carries out an intent with tools. Everything an answer claims comes from a tool's result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from sojourn.runtimes.offline.intents import Intent, parse_intent
from sojourn.runtimes.offline.search_results import SearchHit, parse_days, parse_hits, queries_for, topic_words
from sojourn.runtimes.offline.turn_output import ToolOutcome, TurnOutput, render_reply

_MAX_LINES = 60  # of a file or an output
_MAX_ITEMS = 10  # of a list
_LINE_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)
_PATH = re.compile(r"[~./\\]|\w\.\w")
_WINDOW = re.compile(r"\n\[lines \d+ to (\d+) of (?:more than )?(\d+)\..*\]\s*$")
_EXIT_LINE = re.compile(r"\s*^\[(?:exit code \d+|no output, exit code 0)\]\s*$", re.MULTILINE)


class OfflineActions:
    """Carries out the intent of one turn."""

    def __init__(self, output: TurnOutput) -> None:
        self._output = output
        self._handlers: Mapping[str, Callable[[Intent], Awaitable[None]]] = {
            "run": self._run_command,
            "read": self._read,
            "list": self._list_folder,
            "find": self._find_files,
            "search": self._search_text,
            "write": self._write_file,
            "remember": self._remember,
            "facts": self._list_facts,
            "forget": self._forget,
            "recall": self._recall,
            "recent": self._list_sessions,
            "session": self._show_session,
        }

    def can_do(self, intent: Intent) -> bool:
        return intent.kind in self._handlers

    async def do(self, intent: Intent) -> None:
        await self._handlers[intent.kind](intent)

    async def _call(self, tool: str, **arguments: str | int) -> ToolOutcome:
        """Calls a tool; writes the reply for one that is missing or failed."""
        outcome = await self._output.call_tool(tool, **arguments)
        if outcome.missing:
            self._output.reply("no_tool", tool=tool)
        elif not outcome.ok and "exit_code" not in outcome.facts:
            self._output.reply("failed", why=outcome.text)
        return outcome

    # commands and files
    async def _run_command(self, intent: Intent) -> None:
        outcome = await self._call("terminal", command=intent.text)
        if not outcome.ok and "exit_code" not in outcome.facts:
            return
        printed = _EXIT_LINE.sub("", outcome.text)
        if printed.strip():
            self._write_block(printed)
        else:
            self._output.reply("silent")
        code = outcome.facts.get("exit_code") or 0
        self._output.reply("ended", command=intent.text.splitlines()[0][:80], code=code)

    async def _read(self, intent: Intent) -> None:
        name = re.sub(r"^(?:the|my|file)\s+", "", intent.text, flags=re.IGNORECASE)
        if _PATH.search(name) or (" " not in name and name == intent.text and not name.islower()):
            await self._show_file(name, intent.line)
        else:
            await self._find_files(Intent(kind="find", text=name), open_single=True)

    async def _show_file(self, path: str, line: int) -> None:
        outcome = await self._call("read_file", path=path, offset=line, limit=_MAX_LINES)
        if not outcome.ok:
            return
        body, left, next_line = outcome.text, 0, 0
        if window := _WINDOW.search(body):
            body, next_line = body[: window.start()], int(window[1]) + 1
            left = int(window[2]) - int(window[1])
        self._write_block(_LINE_NUMBER.sub("", body), title=path)
        if left > 0:
            self._output.reply("cut", count=left, path=path, line=next_line)

    async def _list_folder(self, intent: Intent) -> None:
        outcome = await self._call("read_file", path=intent.where or ".")
        if outcome.ok:
            self._write_block(outcome.text)

    async def _find_files(self, intent: Intent, *, open_single: bool = False) -> None:
        pattern = intent.text if re.search(r"[*?\[]", intent.text) else f"*{_ignore_case(intent.text)}*"
        pattern = pattern if "/" in pattern else f"**/{pattern}"
        outcome = await self._call("search_files", pattern=pattern, by="name", path=intent.where or ".")
        if not outcome.ok:
            return
        names = [line for line in outcome.text.splitlines() if line and not line.startswith("[")]
        if not outcome.facts.get("found", len(names)):
            self._output.reply("no_files", text=intent.text)
        elif len(names) == 1 and open_single:
            await self._show_file(names[0], 1)
        else:
            self._write_list("files", intent.text, [f"`{name}`" for name in names])

    async def _search_text(self, intent: Intent) -> None:
        pattern, path = re.escape(intent.text), intent.where or "."
        outcome = await self._call("search_files", pattern=pattern, by="content", path=path)
        if not outcome.ok:
            return
        found = [line.split(":", 2) for line in outcome.text.splitlines() if re.match(r"[^\[].*?:\d+:", line)]
        if found:
            self._write_list("lines", intent.text, [f"`{one[0]}:{one[1]}` {one[2].strip()}" for one in found])
        else:
            self._output.reply("no_lines", text=intent.text)

    async def _write_file(self, intent: Intent) -> None:
        outcome = await self._call("write_file", path=intent.where, content=intent.text + "\n")
        if outcome.ok:
            self._output.write(outcome.text + "\n")

    # facts
    async def _remember(self, intent: Intent) -> None:
        if (await self._call("memory", action="add", text=intent.text)).ok:
            self._output.reply("kept", text=intent.text)

    async def _list_facts(self, intent: Intent) -> None:
        outcome = await self._call("memory", action="list")
        if outcome.ok:
            self._output.write("".join(f"- {line}\n" for line in outcome.text.splitlines()))

    async def _forget(self, intent: Intent) -> None:
        outcome = await self._call("memory", action="list")
        if not outcome.ok:
            return
        wanted = [word.lower() for word in topic_words(intent.text)] or [intent.text.lower()]
        facts = [line.partition(": ") for line in outcome.text.splitlines()]
        found = [(id, text) for id, _, text in facts if text and all(word in text.lower() for word in wanted)]
        if len(found) != 1:
            self._output.reply("which_fact" if found else "no_fact", text=intent.text)
            self._output.write("".join(f"- {text}\n" for _, text in found))
        elif (deleted := await self._call("memory", action="delete", id=found[0][0])).ok:
            self._output.write(deleted.text + "\n")

    # past sessions
    async def _recall(self, intent: Intent) -> None:
        words = topic_words(intent.text) or [intent.text.strip()]
        if not self._output.has_tool("session_search"):
            self._output.reply("no_tool", tool="session_search")
        elif found := await self.search_sessions(words):
            self.write_hits("found", " ".join(words), found)
        else:
            self._output.reply("nothing_found", text=" ".join(words))

    async def search_sessions(self, words: Sequence[str], *, max_queries: int = 4) -> list[SearchHit]:
        """Searches past sessions for all the words, then for fewer of them; messages come before tool output."""
        for query, _ in zip(queries_for(words), range(max_queries), strict=False):
            outcome = await self._output.call_tool("session_search", query=query, limit=_MAX_ITEMS + 5)
            if not outcome.ok:
                return []
            said = " ".join(self._output.turn.said.split())
            if found := [hit for hit in parse_hits(outcome.text) if not (is_search(hit) or hit.text == said)]:
                return sorted(found, key=lambda hit: hit.is_tool_output)[:_MAX_ITEMS]
        return []

    async def _list_sessions(self, intent: Intent) -> None:
        since, until = parse_days(intent.where, datetime.now().astimezone())
        outcome = await self._call("session_list", since=since, until=until, limit=_MAX_ITEMS)
        if not outcome.ok:
            return
        if found := parse_hits(outcome.text):
            self.write_hits("recent", "", found)
        else:
            self._output.reply("no_sessions", when=f"{intent.where} " if intent.where else "")

    async def _show_session(self, intent: Intent) -> None:
        outcome = await self._call("session_search", session=intent.text)
        if outcome.ok:
            self._output.write("".join(f"> {line}  \n" for line in outcome.text.splitlines()))

    def write_hits(self, reply: str, text: str, found: Sequence[SearchHit]) -> None:
        self._output.reply(reply, text=text)
        self._output.write("\n" + "".join(hit.render(number) + "\n" for number, hit in enumerate(found, 1)) + "\n")
        self._output.reply("show_session", session=found[0].session)

    # text
    def _write_block(self, text: str, title: str = "") -> None:
        """Writes a fenced block; of a long output without a title only its last lines."""
        lines = text.rstrip("\n").splitlines()
        shown = lines[-_MAX_LINES:] if len(lines) > _MAX_LINES + 5 and not title else lines
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text))) if "```" in text else "```"
        heading = f"**{title}**\n\n" if title else ""
        omitted = f"[{len(lines) - len(shown)} …]\n" if len(shown) < len(lines) else ""
        self._output.write(f"{heading}{fence}\n{omitted}" + "\n".join(shown) + f"\n{fence}\n")

    def _write_list(self, reply: str, text: str, lines: Sequence[str]) -> None:
        self._output.reply(reply, text=text)
        numbered = "".join(f"{number}. {line}\n" for number, line in enumerate(lines[:_MAX_ITEMS], 1))
        self._output.write(f"\n{numbered}" + (f"… +{len(lines) - _MAX_ITEMS}\n" if len(lines) > _MAX_ITEMS else ""))


def is_search(hit: SearchHit) -> bool:
    """True for an earlier search or its answer: such a message says nothing about the subject itself."""
    if hit.who.startswith("user"):
        return parse_intent(hit.text).kind in ("recall", "recent")
    openings = (
        render_reply(name, chinese, text="\0").partition("\0")[0]
        for name in ("nothing_found", "found", "recent")
        for chinese in (True, False)
    )
    return "session_search" in hit.who or hit.text.startswith(("session_search {", "session_list {", *openings))


def _ignore_case(text: str) -> str:
    """Returns a glob that matches README for "readme"."""
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isascii() and char.isalpha() else char for char in text)
