"""What is done about a wish, with tools. Everything that is claimed comes out of one of them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sojourn.runtimes.offline.replies import say
from sojourn.runtimes.offline.sources import Hit, days, hits, queries, topic
from sojourn.runtimes.offline.stage import Outcome, Stage
from sojourn.runtimes.offline.sums import calculate
from sojourn.runtimes.offline.trail import Entry, Trail
from sojourn.runtimes.offline.wishes import Wish, wish

_LINES = 60  # of a file or an output that are shown at once
_ITEMS = 10  # of a list
_LOOKING = ("nothing_found", "found", "recent")
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_PATH = re.compile(r"[~./\\]|\w\.\w")


class Acting:
    """Carries out one wish. `trail` is where the last one ended, and afterwards where this one did."""

    def __init__(self, stage: Stage, trail: Trail, chinese: bool) -> None:
        self.stage, self.trail, self._zh = stage, trail, chinese
        self._known: dict[str, Callable[[Wish], Awaitable[None]]] = {
            "run": self._run,
            "read": self._read,
            "list": self._list,
            "find": self._find,
            "search": self._search,
            "write": self._write,
            "fetch": self._fetch,
            "remember": self._remember,
            "facts": self._facts,
            "forget": self._forget,
            "recall": self._recall,
            "recent": self._recent,
            "skills": self._skills,
            "sum": self._sum,
            "time": self._time,
            "which": self._which,
            "told": self._told,
        }

    def can(self, wish: Wish) -> bool:
        return wish.kind in self._known

    async def do(self, wish: Wish) -> None:
        before, self.trail = self.trail, Trail(last=wish)
        await self._known[wish.kind](wish)
        if not self.trail.entries and wish.kind in ("sum", "time", "told", "which", "remember"):
            self.trail = replace(before, last=wish)  # small talk in between does not lose the thread

    def say(self, name: str, **values: object) -> None:
        self.stage.say(say(name, self._zh, **values) + "\n")

    # following up
    async def again(self) -> None:
        if self.trail.last is None or not self.can(self.trail.last):
            self.say("nothing_before")
        else:
            await self.do(self.trail.last)

    async def more(self) -> None:
        if self.trail.path and self.trail.next_line:
            await self._show_file(self.trail.path, self.trail.next_line)
        else:
            self.say("no_more" if self.trail.last else "nothing_before")

    async def pick(self, number: int) -> None:
        entries = self.trail.entries
        if not entries:
            self.say("nothing_before")
        elif not -len(entries) <= number <= len(entries) or number == 0:
            self.say("no_such", count=len(entries))
        else:
            await self._open(entries[number - 1 if number > 0 else number])

    async def _open(self, entry: Entry) -> None:
        if entry.kind == "file":
            await self._show_file(entry.name, max(1, entry.number - 5) if entry.number else 1)
            return
        around = {"around": entry.number} if entry.number else {}
        got = await self.stage.use("session_search", session=entry.name, **around)
        if self._worked(got, "session_search"):
            self._quote(got.text)

    # files and commands
    async def _run(self, wish: Wish) -> None:
        got = await self.stage.use("terminal", command=wish.text)
        if got.missing:
            self.say("no_tool", tool="terminal")
            return
        code = got.facts.get("exit_code")
        if code is None and not got.ok:
            self.say("failed", why=got.text)
            return
        output = re.sub(r"\s*^\[(?:exit code \d+|no output, exit code 0)\]\s*$", "", got.text, flags=re.MULTILINE)
        if output.strip():
            self._fenced(output)
        else:
            self.say("silent")
        self.say("ended", command=wish.text.splitlines()[0][:80], code=0 if code is None else code)

    async def _which(self, wish: Wish) -> None:
        self.say("which")

    async def _read(self, wish: Wish) -> None:
        name = re.sub(r"^(?:the|my|file)\s+", "", wish.text, flags=re.IGNORECASE)
        if name.lower() in ("it", "that", "this") and self.trail.path:
            name = self.trail.path
        if _PATH.search(name) or (" " not in name and name == wish.text and not name.islower()):
            await self._show_file(name, 1)
        else:
            await self._find(Wish(kind="find", text=name), read_the_only=True)

    async def _show_file(self, path: str, first: int) -> None:
        got = await self.stage.use("read_file", path=path, offset=first, limit=_LINES)
        if not self._worked(got, "read_file"):
            return
        body, note, next_line = got.text, "", 0
        if found := re.search(r"\n\[lines \d+ to (\d+) of (?:more than )?(\d+)\..*\]\s*$", body):
            body, shown, total = body[: found.start()], int(found[1]), int(found[2])
            if shown < total:
                note, next_line = say("cut", self._zh, count=total - shown), shown + 1
        self.trail = replace(self.trail, path=path, next_line=next_line)
        self._fenced(_NUMBERED.sub("", body), title=path)
        if note:
            self.stage.say(note + "\n")

    async def _list(self, wish: Wish) -> None:
        folder = wish.where or "."
        got = await self.stage.use("read_file", path=folder)
        if self._worked(got, "read_file"):
            names = [line.split("  ")[0] for line in got.text.splitlines() if line and not line.startswith("[")]
            base = "" if folder == "." else folder.rstrip("/") + "/"
            self.trail = replace(
                self.trail, entries=tuple(Entry(kind="file", name=base + name.rstrip("/")) for name in names)
            )
            self._fenced(got.text)

    async def _find(self, wish: Wish, *, read_the_only: bool = False) -> None:
        pattern = wish.text if re.search(r"[*?\[]", wish.text) else f"*{_any_case(wish.text)}*"
        pattern = pattern if "/" in pattern else f"**/{pattern}"
        got = await self.stage.use("search_files", pattern=pattern, by="name", path=wish.where or ".")
        if not self._worked(got, "search_files"):
            return
        names = [line for line in got.text.splitlines() if line and not line.startswith("[")]
        if not got.facts.get("found", len(names)):
            self.say("no_files", text=wish.text)
        elif len(names) == 1 and read_the_only:
            await self._show_file(names[0], 1)
        else:
            self.trail = replace(self.trail, entries=tuple(Entry(kind="file", name=name) for name in names))
            self._listed("files", wish.text, [f"`{name}`" for name in names], "pick_file")

    async def _search(self, wish: Wish) -> None:
        got = await self.stage.use("search_files", pattern=re.escape(wish.text), by="content", path=wish.where or ".")
        if not self._worked(got, "search_files"):
            return
        lines = [line for line in got.text.splitlines() if re.match(r"[^\[].*?:\d+:", line)]
        if not lines:
            self.say("no_lines", text=wish.text)
            return
        places = [line.split(":", 2) for line in lines]
        self.trail = replace(
            self.trail, entries=tuple(Entry(kind="file", name=one[0], number=int(one[1])) for one in places)
        )
        shown = [f"`{one[0]}:{one[1]}` {one[2].strip()}" for one in places]
        self._listed("lines", wish.text, shown, "pick_file")

    async def _write(self, wish: Wish) -> None:
        got = await self.stage.use("write_file", path=wish.where, content=wish.text + "\n")
        if self._worked(got, "write_file"):
            self.stage.say(got.text + "\n")

    async def _fetch(self, wish: Wish) -> None:
        got = await self.stage.use("web_fetch", url=wish.text)
        if self._worked(got, "web_fetch"):
            self._fenced(got.text)

    async def _skills(self, wish: Wish) -> None:
        got = await self.stage.use("skills_list")
        if self._worked(got, "skills_list"):
            self.stage.say(got.text + "\n")

    # facts
    async def _remember(self, wish: Wish) -> None:
        got = await self.stage.use("memory", action="add", text=wish.text)
        if self._worked(got, "memory"):
            self.say("kept", text=wish.text)

    async def _facts(self, wish: Wish) -> None:
        got = await self.stage.use("memory", action="list")
        if self._worked(got, "memory"):
            self.stage.say("\n".join(f"- {line}" for line in got.text.splitlines()) + "\n")

    async def _forget(self, wish: Wish) -> None:
        got = await self.stage.use("memory", action="list")
        if not self._worked(got, "memory"):
            return
        wanted = [word.lower() for word in topic(wish.text)] or [wish.text.lower()]
        facts = [line.partition(": ") for line in got.text.splitlines()]
        found = [(id, text) for id, _, text in facts if text and all(word in text.lower() for word in wanted)]
        if len(found) == 1:
            gone = await self.stage.use("memory", action="delete", id=found[0][0])
            if self._worked(gone, "memory"):
                self.stage.say(gone.text + "\n")
        else:
            self.say("which_fact" if found else "no_fact", text=wish.text)
            self.stage.say("".join(f"- {text}\n" for _, text in found))

    async def _told(self, wish: Wish) -> None:
        self.say("told", text=wish.text)

    # past sessions
    async def _recall(self, wish: Wish) -> None:
        words = topic(wish.text) or [wish.text.strip()]
        if not self.stage.has("session_search"):
            self.say("no_tool", tool="session_search")
            return
        found = await self.look_up(words)
        if found:
            self.listed_hits("found", " ".join(words), found)
        else:
            self.say("nothing_found", text=" ".join(words))

    async def look_up(self, words: Sequence[str], *, tries: int = 4) -> list[Hit]:
        """Places in past sessions that hold the words; fewer of them when all together give nothing."""
        for query, _ in zip(queries(words), range(tries), strict=False):
            got = await self.stage.use("session_search", query=query, limit=_ITEMS + 5)
            if not got.ok:
                return []
            if found := [hit for hit in hits(got.text) if not self._is_noise(hit)]:
                return sorted(found, key=lambda hit: hit.is_work)[:_ITEMS]  # what was said, before what was done
        return []

    def _is_noise(self, hit: Hit) -> bool:
        return is_about_looking(hit) or hit.text == " ".join(self.stage.turn.said.split())

    async def _recent(self, wish: Wish) -> None:
        since, until = days(wish.where, datetime.now().astimezone())
        got = await self.stage.use("session_list", since=since, until=until, limit=_ITEMS)
        if not self._worked(got, "session_list"):
            return
        if found := hits(got.text):
            self.listed_hits("recent", "", found)
        else:
            self.say("no_sessions", when=f"{wish.where} " if wish.where and not self._zh else wish.where)

    def listed_hits(self, name: str, text: str, found: Sequence[Hit]) -> None:
        self.trail = replace(self.trail, entries=tuple(hit.entry for hit in found))
        lines = "\n".join(hit.line(at) for at, hit in enumerate(found, 1))
        self.stage.say(f"{say(name, self._zh, text=text)}\n\n{lines}\n\n{say('pick', self._zh)}\n")

    # small things
    async def _sum(self, wish: Wish) -> None:
        try:
            result = calculate(wish.text)
        except ZeroDivisionError:
            self.say("divided")
            return
        if result is None:
            self.say("not_understood")
        else:
            self.stage.say(f"{wish.text} = {result}\n")

    async def _time(self, wish: Wish) -> None:
        now = datetime.now().astimezone()
        date = f"{now:%Y}年{now.month}月{now.day}日" if self._zh else f"{now:%A}, {now.day} {now:%B %Y}"
        self.say("time", time=f"{now:%H:%M}", date=date)

    # showing
    def _worked(self, got: Outcome, tool: str) -> bool:
        if got.missing:
            self.say("no_tool", tool=tool)
        elif not got.ok:
            self.say("failed", why=got.text)
        return got.ok

    def _fenced(self, text: str, title: str = "") -> None:
        lines = text.rstrip("\n").splitlines()
        cut = lines[-_LINES:] if len(lines) > _LINES + 5 and not title else lines
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text))) if "```" in text else "```"
        head = f"**{title}**\n\n" if title else ""
        gone = f"[{len(lines) - len(cut)} …]\n" if len(cut) < len(lines) else ""
        self.stage.say(f"{head}{fence}\n{gone}" + "\n".join(cut) + f"\n{fence}\n")

    def _quote(self, text: str) -> None:
        self.stage.say("".join(f"> {line}  \n" for line in text.splitlines()))

    def _listed(self, name: str, text: str, lines: Sequence[str], pick: str) -> None:
        shown = "\n".join(f"{at}. {line}" for at, line in enumerate(lines[:_ITEMS], 1))
        more = f"\n… +{len(lines) - _ITEMS}" if len(lines) > _ITEMS else ""
        self.stage.say(f"{say(name, self._zh, text=text)}\n\n{shown}{more}\n\n{say(pick, self._zh)}\n")


def is_about_looking(hit: Hit) -> bool:
    """Whether somebody only looked for it there, too: such a place says nothing about the thing itself."""
    if hit.who.startswith("user"):
        return wish(hit.text).kind in ("recall", "recent")
    ours = any(
        hit.text.startswith(say(name, zh, text="\0").partition("\0")[0]) for name in _LOOKING for zh in (True, False)
    )
    return ours or "session_search" in hit.who or hit.text.startswith(("session_search {", "session_list {"))


def _any_case(text: str) -> str:
    """A glob that finds README by “readme”."""
    return "".join(f"[{char.lower()}{char.upper()}]" if char.isascii() and char.isalpha() else char for char in text)
