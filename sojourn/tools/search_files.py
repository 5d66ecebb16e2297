"""The tool `search_files`: finds files by name or content, with ripgrep where it is installed."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.ports.app import PluginContext
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.files import ReadApprovals
from sojourn.tools.lazy_parts import CHECK_PATTERN, FORMAT_LINE, IGNORED_FOLDERS
from sojourn.tools.safe_open import ResolvedPath
from sojourn.tools.sensitive_paths import SECRET, find_reason
from sojourn.tools.terminal import start_command

MAX_RESULTS = 1000  # lines or names
_RIPGREP_OPTIONS = shlex.split(
    "--no-config --color=never --no-heading --with-filename --line-number --hidden --no-require-git --max-filesize=4M"
    " --sort=path"
)


@dataclass(frozen=True, slots=True)
class _Search:
    pattern: str
    by: str
    only: str
    limit: int
    seconds: float


def search_files_tool(app: PluginContext) -> Tool:
    reading = app.shared(ReadApprovals)

    @tool(asks=reading.ask, origins=())
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
        CHECK_PATTERN.load()(pattern, by)
        search = _Search(pattern, by, only, min(max(1, limit), MAX_RESULTS), at.seconds * 0.8)
        program = shutil.which("rg", path=app.settings.for_children.get("PATH", "")) if by == "content" else None
        result = await _search_with_ripgrep(program, search, place, app.settings) if program else None
        return result or await _search_in_worker(search, place, app.settings)

    return search_files


async def _run_and_capture(
    argv: Sequence[str], place: ResolvedPath, settings: Settings, seconds: float
) -> tuple[bool, int, str]:
    environment = {"PATH": os.defpath, **settings.for_children}
    child = await start_command(argv, cwd=place.path, environment=environment)
    try:
        done = await child.wait(seconds)
    finally:
        await child.end()
    return done, child.process.returncode or 0, child.output.text()


async def _search_in_worker(search: _Search, place: ResolvedPath, settings: Settings) -> ToolResult:
    request = asdict(search) | {"folder": str(place.path), "root": str(place.root), "inside": place.inside}
    argv = [sys.executable, "-I", "-m", "sojourn.tools.search_worker", json.dumps(request)]
    done, code, text = await _run_and_capture(argv, place, settings, search.seconds + 2)
    if done and code:
        raise BadInput(f"The search failed: {text.strip()[-300:]}", hint="Try a simpler pattern.")
    lines = [json.loads(line) for line in text.splitlines() if line.endswith(("}", '"'))]
    found = [line for line in lines if isinstance(line, str)]
    end = next((line for line in lines if isinstance(line, dict)), None)
    stopped = end["stopped"] if end else "the pattern takes too long; try a simpler one"
    return _to_result(found, stopped, place, search, looked_at=end["seen"] if end else None)


async def _search_with_ripgrep(
    program: str, search: _Search, place: ResolvedPath, settings: Settings
) -> ToolResult | None:
    """Searches with ripgrep; None when it does not understand the pattern."""
    argv = [
        program,
        *_RIPGREP_OPTIONS,
        f"--max-count={search.limit + 1}",
        *([f"--glob={search.only}"] if search.only else []),
        *(f"--glob=!{name}" for name in sorted(IGNORED_FOLDERS.load())),
        f"--regexp={search.pattern}",
        "./",
    ]
    done, code, text = await _run_and_capture(argv, place, settings, search.seconds)
    if code not in (0, 1) and done:
        return None
    found = [shown for line in text.splitlines() if (shown := _to_line(line, place))]
    stopped = "" if done else "the time is up"
    if len(found) > search.limit:
        stopped = f"the limit of {search.limit} results is reached"
    return _to_result(found[: search.limit], stopped, place, search)


def _to_line(line: str, place: ResolvedPath) -> str:
    name, _, rest = line.removeprefix("./").partition(":")
    number, _, text = rest.partition(":")
    if find_reason(SECRET, str(place.path / name)):
        return ""
    return FORMAT_LINE.load()(name, number, text)


def _to_result(found: list[str], stopped: str, place: ResolvedPath, search: _Search, **facts: Json) -> ToolResult:
    text = "\n".join(found) or f"Nothing fits {search.pattern[:200]!r} in {place.path.name}/."
    if stopped:
        text += f"\n[there may be more: {stopped}]"
    return ToolResult(text=text, facts={"path": str(place.path), "found": len(found), "complete": not stopped, **facts})
