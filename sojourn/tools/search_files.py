"""The tool `search_files`: finds files by name or content, with ripgrep where it is installed."""

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
from sojourn.ports.app import PluginContext
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.files import ReadApprovals
from sojourn.tools.run_command import start_command
from sojourn.tools.safe_open import Place
from sojourn.tools.search_worker import ALWAYS_IGNORED, MAX_LINE_CHARS, compile_glob, compile_regex
from sojourn.tools.sensitive_paths import SECRET, find_reason

MAX_RESULTS = 1000


@dataclass(frozen=True, slots=True)
class _Search:
    pattern: str
    by: str
    only: str
    limit: int
    seconds: float


def search_files_tool(kit: PluginContext) -> Tool:
    reading = kit.shared(ReadApprovals)

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
        _ = compile_glob(pattern) if by == "name" else compile_regex(pattern)  # says what is wrong with it
        search = _Search(pattern, by, only, min(max(1, limit), MAX_RESULTS), at.seconds * 0.8)
        program = shutil.which("rg", path=kit.settings.for_children.get("PATH", "")) if by == "content" else None
        result = await _search_with_ripgrep(program, search, place, kit.settings) if program else None
        return result or await _search_in_worker(search, place, kit.settings)

    return search_files


async def _output(argv: Sequence[str], place: Place, settings: Settings, seconds: float) -> tuple[bool, int, str]:
    child = await start_command(argv, cwd=place.path, settings=settings)
    try:
        done = await child.wait(seconds)
    finally:
        await child.end()
    return done, child.process.returncode or 0, child.output.text()


async def _search_in_worker(search: _Search, place: Place, settings: Settings) -> ToolResult:
    wish = {
        "folder": str(place.path),
        "root": str(place.root),
        "inside": place.inside,
        "pattern": search.pattern,
        "by": search.by,
        "only": search.only,
        "limit": search.limit,
        "seconds": search.seconds,
    }
    argv = [sys.executable, "-I", "-m", "sojourn.tools.search_worker", json.dumps(wish)]
    done, code, text = await _output(argv, place, settings, search.seconds + 2)
    if done and code:
        raise BadInput(f"The search failed: {text.strip()[-300:]}", hint="Try a simpler pattern.")
    lines = [json.loads(line) for line in text.splitlines() if line.endswith(("}", '"'))]
    found = [line for line in lines if isinstance(line, str)]
    end = next((line for line in lines if isinstance(line, dict)), None)
    stopped = end["stopped"] if end else "the pattern takes too long; try a simpler one"
    return _to_result(found, stopped, place, search, looked_at=end["seen"] if end else None)


async def _search_with_ripgrep(program: str, search: _Search, place: Place, settings: Settings) -> ToolResult | None:
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
        f"--max-count={search.limit + 1}",
        "--sort=path",
        *([f"--glob={search.only}"] if search.only else []),
        *(f"--glob=!{name}" for name in sorted(ALWAYS_IGNORED)),
        f"--regexp={search.pattern}",
        "./",
    ]
    done, code, text = await _output(argv, place, settings, search.seconds)
    if code not in (0, 1) and done:
        return None
    found = [shown for line in text.splitlines() if (shown := _to_line(line, place))]
    stopped = "" if done else "the time is up"
    if len(found) > search.limit:
        stopped = f"the limit of {search.limit} results is reached"
    return _to_result(found[: search.limit], stopped, place, search)


def _to_line(line: str, place: Place) -> str:
    name, _, rest = line.removeprefix("./").partition(":")
    number, _, text = rest.partition(":")
    if find_reason(SECRET, str(place.path / name)):
        return ""
    text = text.strip()
    return f"{name}:{number}: {text[:MAX_LINE_CHARS]}{'…' if len(text) > MAX_LINE_CHARS else ''}"


def _to_result(found: list[str], stopped: str, place: Place, search: _Search, **facts: Json) -> ToolResult:
    text = "\n".join(found) or f"Nothing fits {search.pattern[:200]!r} in {place.path.name}/."
    if stopped:
        text += f"\n[there may be more: {stopped}]"
    return ToolResult(text=text, facts={"path": str(place.path), "found": len(found), "complete": not stopped, **facts})
