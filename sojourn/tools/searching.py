"""search_files: by name, or by what is in them. ripgrep looks into files where it is installed; else we do."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.ports.kit import Kit
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace, tool
from sojourn.tools.commands import start_command
from sojourn.tools.files import Reading
from sojourn.tools.hunting import LINE, expression, glob
from sojourn.tools.ignoring import ALWAYS
from sojourn.tools.opening import Place
from sojourn.tools.sensitive import SECRET, why_special

MOST = 1000  # results of one search


@dataclass(frozen=True, slots=True)
class _Asked:
    pattern: str
    by: str
    only: str
    limit: int
    seconds: float


def search_files_tool(kit: Kit) -> Tool:
    reading = kit.shared(Reading)

    def asks(at: Workspace, given: Mapping[str, Json]) -> Question | None:
        return reading.ask(at, given.get("path") or ".")

    @tool(asks=asks)
    async def search_files(
        at: Workspace,
        pattern: str,
        by: Literal["content", "name"] = "content",
        path: str = ".",
        only: str = "",
        limit: int = 100,
    ) -> ToolResult:
        """Finds files by name, or lines in files. What .gitignore names is passed over.

        pattern: for content a regular expression; for name a glob such as *.py or src/**/test_*.py
        by: content or name
        path: the folder to look in, from the workspace
        only: for content: a glob of the files to look into, such as *.py
        limit: how many results at most
        """
        place = reading.place(at, path)
        if not place.path.is_dir():
            raise BadInput(f"{place.shown} is not a folder.", hint="To look into one file use read_file.")
        _ = glob(pattern) if by == "name" else expression(pattern)  # says what is wrong with it
        asked = _Asked(pattern, by, only, min(max(1, limit), MOST), at.seconds * 0.8)
        program = shutil.which("rg", path=kit.settings.for_children.get("PATH", "")) if by == "content" else None
        told = await _with_ripgrep(program, asked, place, kit.settings) if program else None
        return told or await _by_ourselves(asked, place, kit.settings)

    return search_files


async def _output(argv: Sequence[str], place: Place, settings: Settings, seconds: float) -> tuple[bool, int, str]:
    child = await start_command(argv, cwd=place.path, settings=settings)
    try:
        done = await child.wait(seconds)
    finally:
        await child.end()
    return done, child.process.returncode or 0, child.output.text()


async def _by_ourselves(asked: _Asked, place: Place, settings: Settings) -> ToolResult:
    wish = {
        "folder": str(place.path),
        "root": str(place.root),
        "inside": place.inside,
        "pattern": asked.pattern,
        "by": asked.by,
        "only": asked.only,
        "limit": asked.limit,
        "seconds": asked.seconds,
    }
    argv = [sys.executable, "-I", "-m", "sojourn.tools.hunting", json.dumps(wish)]
    done, code, text = await _output(argv, place, settings, asked.seconds + 2)
    if done and code:
        raise BadInput(f"The search failed: {text.strip()[-300:]}", hint="Try a simpler pattern.")
    lines = [json.loads(line) for line in text.splitlines() if line.endswith(("}", '"'))]
    found = [line for line in lines if isinstance(line, str)]
    end = next((line for line in lines if isinstance(line, dict)), None)
    stopped = end["stopped"] if end else "the pattern takes too long; try a simpler one"
    return _told(found, stopped, place, asked, looked_at=end["seen"] if end else None)


async def _with_ripgrep(program: str, asked: _Asked, place: Place, settings: Settings) -> ToolResult | None:
    """What ripgrep finds; None when it does not understand the pattern."""
    argv = [
        program,
        "--no-config",
        "--color=never",
        "--no-heading",
        "--with-filename",
        "--line-number",
        "--hidden",
        "--no-require-git",
        "--max-filesize=4M",
        f"--max-count={asked.limit + 1}",
        "--sort=path",
        *([f"--glob={asked.only}"] if asked.only else []),
        *(f"--glob=!{name}" for name in sorted(ALWAYS)),
        f"--regexp={asked.pattern}",
        "./",
    ]
    done, code, text = await _output(argv, place, settings, asked.seconds)
    if code not in (0, 1) and done:
        return None
    found = [shown for line in text.splitlines() if (shown := _shown(line, place))]
    stopped = "" if done else "the time is up"
    if len(found) > asked.limit:
        stopped = f"the limit of {asked.limit} results is reached"
    return _told(found[: asked.limit], stopped, place, asked)


def _shown(line: str, place: Place) -> str:
    name, _, rest = line.removeprefix("./").partition(":")
    number, _, text = rest.partition(":")
    if why_special(SECRET, str(place.path / name)):
        return ""
    text = text.strip()
    return f"{name}:{number}: {text[:LINE]}{'…' if len(text) > LINE else ''}"


def _told(found: list[str], stopped: str, place: Place, asked: _Asked, **facts: Json) -> ToolResult:
    text = "\n".join(found) or f"Nothing fits {asked.pattern[:200]!r} in {place.path.name}/."
    if stopped:
        text += f"\n[there may be more: {stopped}]"
    return ToolResult(text=text, facts={"path": str(place.path), "found": len(found), "complete": not stopped, **facts})
