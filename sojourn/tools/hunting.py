"""Looks through a tree for names or lines. Run as a process of its own (`python -m sojourn.tools.hunting`), because
a regular expression can take for ever and nothing else in a Python process runs meanwhile; this one can be ended.

Its argument is a JSON object, its output one JSON text per line: what it found, then `{"seen": …, "stopped": …}`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.tools.ignoring import ALWAYS, Ignored, translated
from sojourn.tools.opening import Place, binary_kind, open_file
from sojourn.tools.sensitive import SECRET, why_special

LARGEST = 4 << 20  # bytes of a file that is looked into
FILES = 200_000  # entries that are looked at
LINE = 300  # characters of a line that are shown


@dataclass(slots=True)
class Hunt:
    """One search: how far it may go, and why it stopped early."""

    limit: int
    until: float
    found: int = 0
    seen: int = 0
    stopped: str = ""

    def goes_on(self) -> bool:
        if self.found >= self.limit:
            self.stopped = f"the limit of {self.limit} results is reached"
        elif self.seen >= FILES:
            self.stopped = f"{FILES} files were looked at"
        elif time.monotonic() > self.until:
            self.stopped = "the time is up"
        return not self.stopped


def expression(pattern: str) -> re.Pattern[str]:
    """A regular expression. BadInput."""
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadInput(
            f"{pattern[:200]!r} is not a regular expression: {error}.",
            hint="Put a \\ before ( ) [ ] { } . * + ? ^ $ | to mean the character.",
        ) from error


def glob(pattern: str) -> re.Pattern[str]:
    """A glob for paths; one without a slash fits at any depth. BadInput."""
    short = re.sub(r"(\*\*/)+", "**/", pattern.removeprefix("./"))
    return expression(("" if "/" in pattern else "(?:.*/)?") + translated(short))


def _walk(hunt: Hunt, folder: Path, name: str, ignored: Ignored) -> Iterator[tuple[str, Path]]:
    """Every file below, by its path from the root; links are not followed."""
    ignored = ignored.inside(folder, name)
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError:
        return
    for one in entries:
        hunt.seen += 1
        inner = f"{name}/{one.name}" if name else one.name
        is_folder = one.is_dir(follow_symlinks=False)
        if (is_folder and one.name in ALWAYS) or ignored.hides(inner, is_folder=is_folder):
            continue
        if not hunt.goes_on():
            return
        if is_folder:
            yield from _walk(hunt, Path(one.path), inner, ignored)
        elif one.is_file(follow_symlinks=False):
            yield inner, Path(one.path)


def by_name(hunt: Hunt, place: Place, wanted: re.Pattern[str]) -> Iterator[str]:
    """The files whose path fits."""
    for name, _ in _walk(hunt, place.path, "", Ignored()):
        if wanted.fullmatch(name):
            hunt.found += 1
            yield name


def by_content(hunt: Hunt, place: Place, wanted: re.Pattern[str], names: re.Pattern[str] | None) -> Iterator[str]:
    """The lines that fit, as `path:number: line`. Files that hold secrets are for read_file, which asks."""
    for name, path in _walk(hunt, place.path, "", Ignored()):
        if (names and not names.fullmatch(name)) or why_special(SECRET, str(path)):
            continue
        for number, line in enumerate(_lines(Place(path, place.root, place.inside)), 1):
            if wanted.search(line):
                shown = line.strip()
                hunt.found += 1
                yield f"{name}:{number}: {shown[:LINE]}{'…' if len(shown) > LINE else ''}"
                if not hunt.goes_on():
                    return


def _lines(place: Place) -> list[str]:
    try:
        with os.fdopen(open_file(place), "rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, BadInput):
        return []
    if len(raw) > LARGEST or binary_kind(raw):
        return []
    return [line[:10_000] for line in raw.decode("utf-8", "replace").splitlines()]


def main() -> None:
    """Does what its argument says."""
    asked = json.loads(sys.argv[1])
    place = Place(Path(asked["folder"]), Path(asked["root"]), asked["inside"])
    hunt = Hunt(asked["limit"], time.monotonic() + asked["seconds"])
    if asked["by"] == "name":
        lines = by_name(hunt, place, glob(asked["pattern"]))
    else:
        lines = by_content(hunt, place, expression(asked["pattern"]), glob(asked["only"]) if asked["only"] else None)
    for line in lines:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps({"seen": hunt.seen, "stopped": hunt.stopped}) + "\n")


if __name__ == "__main__":
    main()
