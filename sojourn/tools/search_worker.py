"""Worker of search_files: walks a folder for names or lines (`python -m sojourn.tools.search_worker`).

It is a process of its own because a regular expression can take for ever and blocks its process; this one can be ended.
Its argument is a JSON object, its output one JSON text per line: what it found, then `{"seen": …, "stopped": …}`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from sojourn.core.errors import BadInput
from sojourn.tools.safe_open import ResolvedPath, binary_kind, open_file
from sojourn.tools.sensitive_paths import SECRET, find_reason

MAX_FILE_BYTES = 4 << 20  # larger files are skipped
MAX_ENTRIES = 200_000
MAX_LINE_CHARS = 300  # of a line that are shown
MAX_IGNORE_LINES = 2000
ALWAYS_IGNORED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache"}
)


@dataclass(slots=True)
class SearchRun:
    """Limits and counters of one search, and why it stopped early."""

    limit: int
    until: float
    found: int = 0
    seen: int = 0
    stopped: str = ""

    def may_continue(self) -> bool:
        if self.found >= self.limit:
            self.stopped = f"the limit of {self.limit} results is reached"
        elif self.seen >= MAX_ENTRIES:
            self.stopped = f"{MAX_ENTRIES} files were looked at"
        elif time.monotonic() > self.until:
            self.stopped = "the time is up"
        return not self.stopped


def compile_regex(pattern: str) -> re.Pattern[str]:
    """Compiles a regular expression. BadInput."""
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadInput(
            f"{pattern[:200]!r} is not a regular expression: {error}.",
            hint="Put a \\ before ( ) [ ] { } . * + ? ^ $ | to mean the character.",
        ) from error


def compile_glob(pattern: str) -> GitIgnoreSpec:
    """Compiles a glob for paths, as in a .gitignore: one without a slash matches at any depth. BadInput."""
    try:
        return GitIgnoreSpec.from_lines([pattern])
    except ValueError as error:
        raise BadInput(f"{pattern[:200]!r} is not a glob: {error}.", hint="Examples: *.py, src/**/test_*.py") from error


def check_pattern(pattern: str, by: str) -> None:
    """Raises BadInput if the pattern of a search by name or by content is malformed."""
    _ = compile_glob(pattern) if by == "name" else compile_regex(pattern)


def format_line(name: str, number: int | str, line: str) -> str:
    """Renders a result as `path:number: line`, truncated."""
    text = line.strip()
    return f"{name}:{number}: {text[:MAX_LINE_CHARS]}{'…' if len(text) > MAX_LINE_CHARS else ''}"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The .gitignore files that apply in a folder, the root's first."""

    levels: tuple[tuple[str, GitIgnoreSpec], ...] = ()  # (folder from the root, its patterns)

    def enter(self, folder: Path, name: str) -> IgnoreRules:
        """Adds the folder's own .gitignore. `name` is the folder from the root, "" for the root."""
        try:
            text = (folder / ".gitignore").read_text("utf-8", "replace")
        except OSError:
            return self
        return IgnoreRules((*self.levels, (name, parse_gitignore(text.splitlines()[:MAX_IGNORE_LINES]))))

    def hides(self, path: str, *, is_folder: bool) -> bool:
        """True when git ignores this path (from the root)."""
        for base, spec in reversed(self.levels):
            below = path.removeprefix(base + "/") if base else path
            found = spec.check_file(below + "/" * is_folder).include
            if found is not None:
                return found
        return False


def parse_gitignore(lines: Iterable[str]) -> GitIgnoreSpec:
    """Parses the patterns of a .gitignore; lines that git rejects are skipped."""
    valid: list[GitIgnoreSpecPattern] = []
    for line in lines:
        with suppress(ValueError):
            valid += GitIgnoreSpec.from_lines([line]).patterns
    return GitIgnoreSpec(valid)


def _walk(run: SearchRun, folder: Path, name: str, ignored: IgnoreRules) -> Iterator[tuple[str, Path]]:
    """Yields every file below, by its path from the root; links are not followed."""
    ignored = ignored.enter(folder, name)
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError:
        return
    for one in entries:
        run.seen += 1
        inner = f"{name}/{one.name}" if name else one.name
        is_folder = one.is_dir(follow_symlinks=False)
        if (is_folder and one.name in ALWAYS_IGNORED) or ignored.hides(inner, is_folder=is_folder):
            continue
        if not run.may_continue():
            return
        if is_folder:
            yield from _walk(run, Path(one.path), inner, ignored)
        elif one.is_file(follow_symlinks=False):
            yield inner, Path(one.path)


def search_names(run: SearchRun, place: ResolvedPath, wanted: GitIgnoreSpec) -> Iterator[str]:
    """Yields the files whose path matches."""
    for name, _ in _walk(run, place.path, "", IgnoreRules()):
        if wanted.match_file(name):
            run.found += 1
            yield name


def search_lines(
    run: SearchRun, place: ResolvedPath, wanted: re.Pattern[str], names: GitIgnoreSpec | None
) -> Iterator[str]:
    """Yields the lines that match. Skips files that hold secrets: read_file asks before it shows those."""
    for name, path in _walk(run, place.path, "", IgnoreRules()):
        if (names and not names.match_file(name)) or find_reason(SECRET, str(path)):
            continue
        for number, line in enumerate(_read_lines(ResolvedPath(path, place.root, place.inside)), 1):
            if wanted.search(line):
                run.found += 1
                yield format_line(name, number, line)
                if not run.may_continue():
                    return


def _read_lines(place: ResolvedPath) -> list[str]:
    try:
        with os.fdopen(open_file(place), "rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except (OSError, BadInput):
        return []
    if len(raw) > MAX_FILE_BYTES or binary_kind(raw):
        return []
    return [line[:10_000] for line in raw.decode("utf-8", "replace").splitlines()]


def main() -> None:
    """Runs the search in `sys.argv[1]`."""
    request = json.loads(sys.argv[1])
    place = ResolvedPath(Path(request["folder"]), Path(request["root"]), request["inside"])
    run = SearchRun(request["limit"], time.monotonic() + request["seconds"])
    if request["by"] == "name":
        lines = search_names(run, place, compile_glob(request["pattern"]))
    else:
        lines = search_lines(
            run, place, compile_regex(request["pattern"]), compile_glob(request["only"]) if request["only"] else None
        )
    for line in lines:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps({"seen": run.seen, "stopped": run.stopped}) + "\n")


if __name__ == "__main__":
    main()
