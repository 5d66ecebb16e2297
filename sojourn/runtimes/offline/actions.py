"""Actions: carries out an intent with tools. Everything an answer claims comes from a tool's result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from sojourn.runtimes.offline.intents import Intent, parse_intent, topic_words
from sojourn.runtimes.offline.turn_output import OfflineOutput, load_replies

_MAX_LINES = 60  # of a file or an output
_MAX_ITEMS = 10  # of a list
_MAX_EXCERPT_CHARS = 300
_MAX_QUERY_WORDS = 8
_LINE_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)
_PATH = re.compile(r"[~./\\]|\w\.\w")
_WINDOW = re.compile(r"\n\[lines \d+ to (\d+) of (?:more than )?(\d+)\..*\]\s*$")
_EXIT_LINE = re.compile(r"(?<!\s)\s*+^\[(?:exit code \d+|no output, exit code 0)\]\s*$", re.MULTILINE)
# An entry of `session_search` or `session_list`: a message of a past session, or the session itself.
_MENTION = re.compile(
    r'^- "(?P<title>.{0,300}?)", (?P<when>[^,\n]{1,40}), (?P<who>[^:\n]{1,120}): *(?P<text>.*)\n'
    r"  \[(?P<session>\S+)(?: number \d+)?.*\]$",
    re.MULTILINE,
)


class OfflineActions:
    """Carries out the intent of one turn."""

    def __init__(self, output: OfflineOutput) -> None:
        self._output = output
        self._handlers: Mapping[str, Callable[[Intent], Awaitable[None]]] = {
            "run": self._run_command,
            "read": self._read,
            "list": self._list_folder,
            "find": self._find_files,
            "search": self._search_text,
            "remember": self._remember,
            "facts": self._list_facts,
            "recall": self._recall,
            "recent": self._list_sessions,
            "session": self._show_session,
        }

    async def do(self, intent: Intent) -> bool:
        """Carries out the intent; False when it is of a kind without an action."""
        if handler := self._handlers.get(intent.kind):
            await handler(intent)
        return handler is not None

    # commands and files
    async def _run_command(self, intent: Intent) -> None:
        outcome = await self._output.call_tool("terminal", command=intent.text)
        facts = outcome.facts or {}
        if not outcome.ok and "exit_code" not in facts:
            return
        printed = _EXIT_LINE.sub("", outcome.text)
        if printed.strip():
            self._write_block(printed)
        else:
            self._output.reply("silent")
        self._output.reply("ended", command=intent.text.splitlines()[0][:80], code=facts.get("exit_code") or 0)

    async def _read(self, intent: Intent) -> None:
        name = re.sub(r"^(?:the|my|file)\s+", "", intent.text, flags=re.IGNORECASE)
        if _PATH.search(name) or (" " not in name and name == intent.text and not name.islower()):
            await self._show_file(name, intent.line)
        else:
            await self._find_files(Intent(kind="find", text=name), open_single=True)

    async def _show_file(self, path: str, line: int) -> None:
        outcome = await self._output.call_tool("read_file", path=path, offset=line, limit=_MAX_LINES)
        if not outcome.ok:
            return
        window = _WINDOW.search(outcome.text)
        self._write_block(_LINE_NUMBER.sub("", outcome.text[: window.start()] if window else outcome.text), title=path)
        if window and (remaining := int(window[2]) - int(window[1])) > 0:
            self._output.reply("cut", count=remaining, path=path, line=int(window[1]) + 1)

    async def _list_folder(self, intent: Intent) -> None:
        outcome = await self._output.call_tool("read_file", path=intent.where or ".")
        if outcome.ok:
            self._write_block(outcome.text)

    async def _find_files(self, intent: Intent, *, open_single: bool = False) -> None:
        pattern = intent.text if re.search(r"[*?\[]", intent.text) else f"*{_ignore_case(intent.text)}*"
        pattern = pattern if "/" in pattern else f"**/{pattern}"
        outcome = await self._output.call_tool("search_files", pattern=pattern, by="name", path=intent.where or ".")
        names = [line for line in outcome.text.splitlines() if line and not line.startswith("[")]
        if not outcome.ok:
            return
        if not (outcome.facts or {}).get("found", len(names)):
            self._output.reply("no_files", text=intent.text)
        elif len(names) == 1 and open_single:
            await self._show_file(names[0], 1)
        else:
            self._write_list("files", intent.text, [f"`{name}`" for name in names])

    async def _search_text(self, intent: Intent) -> None:
        pattern, path = re.escape(intent.text), intent.where or "."
        outcome = await self._output.call_tool("search_files", pattern=pattern, by="content", path=path)
        if not outcome.ok:
            return
        if matches := [line.split(":", 2) for line in outcome.text.splitlines() if re.match(r"[^\[].*?:\d+:", line)]:
            self._write_list("lines", intent.text, [f"`{one[0]}:{one[1]}` {one[2].strip()}" for one in matches])
        else:
            self._output.reply("no_lines", text=intent.text)

    # facts
    async def _remember(self, intent: Intent) -> None:
        if (await self._output.call_tool("memory", action="add", text=intent.text)).ok:
            self._output.reply("kept", text=intent.text)

    async def _list_facts(self, intent: Intent) -> None:
        outcome = await self._output.call_tool("memory", action="list")
        if outcome.ok:
            self._output.write("".join(f"- {line}\n" for line in outcome.text.splitlines()))

    # past sessions
    async def _recall(self, intent: Intent) -> None:
        words = topic_words(intent.text) or [intent.text.strip()]
        if mentions := await self.search_sessions(words):
            self.write_mentions("found", " ".join(words), mentions)
        elif self._output.has_tool("session_search"):
            self._output.reply("nothing_found", text=" ".join(words))

    async def search_sessions(self, words: Sequence[str], *, max_queries: int = 4) -> list[re.Match[str]]:
        """Searches past sessions for all the words, then without the shortest; messages come before tool output."""
        remaining, request = list(words)[:_MAX_QUERY_WORDS], " ".join(self._output.turn.said.split())
        own = self._output.turn.session.id
        for _ in range(min(max_queries, len(remaining))):
            outcome = await self._output.call_tool("session_search", query=" ".join(remaining), limit=_MAX_ITEMS + 5)
            found = [one for one in _MENTION.finditer(outcome.text) if one["session"] != own]
            mentions = [one for one in found if one["text"] != request and not is_search(one)]
            if mentions or not outcome.ok:
                return sorted(mentions, key=is_tool_output)[:_MAX_ITEMS]
            remaining.remove(min(remaining, key=len))
        return []

    async def _list_sessions(self, intent: Intent) -> None:
        outcome = await self._output.call_tool("session_list", limit=_MAX_ITEMS)
        if mentions := list(_MENTION.finditer(outcome.text)):
            self.write_mentions("recent", "", mentions)
        elif outcome.ok:
            self._output.reply("no_sessions")

    async def _show_session(self, intent: Intent) -> None:
        outcome = await self._output.call_tool("session_search", session=intent.text)
        if outcome.ok:
            self._output.write("".join(f"> {line}  \n" for line in outcome.text.splitlines()))

    def write_mentions(self, reply: str, text: str, mentions: Sequence[re.Match[str]]) -> None:
        self._output.reply(reply, text=text)
        for number, one in enumerate(mentions, 1):
            excerpt = one["text"] if len(one["text"]) <= _MAX_EXCERPT_CHARS else one["text"][:_MAX_EXCERPT_CHARS] + "…"
            heading = f"**{one['title']}**, {one['when']}, {one['who']}"
            self._output.write(f"\n{number}. {heading}: {excerpt}  \n   `{one['session']}`")
        self._output.write("\n\n")
        self._output.reply("show_session", session=mentions[0]["session"])

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


def is_tool_output(mention: re.Match[str]) -> bool:
    text = mention["text"]
    return mention["who"].startswith("tool") or bool(re.match(r"…?\W*[\w./-]*\W*[{\[]", text)) or '": ' in text


def is_search(mention: re.Match[str]) -> bool:
    """True for an earlier search or its answer: such a message says nothing about the subject itself."""
    if mention["who"].startswith("user"):
        return parse_intent(mention["text"]).kind in ("recall", "recent")
    replies = [text for name in ("nothing_found", "found", "recent") for text in load_replies()[name].values()]
    openings = ("session_search {", "session_list {", *(text.partition("{")[0] for text in replies))
    return "session_search" in mention["who"] or mention["text"].startswith(openings)


def _ignore_case(text: str) -> str:
    """Returns a glob that matches README for "readme"."""
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isascii() and char.isalpha() else char for char in text)
