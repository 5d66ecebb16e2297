"""The tool `patch`: changes a part of a file, or several files at once; all of them or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from sojourn.core.errors import BadInput, Conflict
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings, PluginContext
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.files import FileLocks, describe_change, read_text, refuse_redaction_marks, require_unchanged
from sojourn.tools.path_policy import ask_about_writing, require_writable
from sojourn.tools.safe_open import ResolvedPath, remove_file_at, write_file_at
from sojourn.tools.unified_diff import apply_hunks, parse_diff, replace_text


@dataclass(frozen=True, slots=True)
class _Draft:
    """One file before and after the change; None: it does not exist."""

    place: ResolvedPath
    before: bytes | None
    after: str | None


def patch_tool(app: PluginContext) -> Tool:
    changing = app.shared(FileLocks)

    def drafts(at: Workspace, arguments: Mapping[str, Json]) -> list[_Draft]:
        path, old, diff = (arguments.get(name) or "" for name in ("path", "old", "diff"))
        if bool(old) == bool(diff):
            raise BadInput("Give either `old` and `new`, or `diff`.", hint="Not both, and not none.")
        if diff:
            return _draft_diff(app, at, diff, path)
        place = require_writable(at, path, app.settings)
        text, raw = _read_existing(place)
        after = replace_text(text, old, arguments.get("new") or "", everywhere=bool(arguments.get("all")))
        return [_Draft(place, raw, after)]

    def asks(at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        made = drafts(at, arguments)
        shown = "\n".join(describe_change(_decode(one.before), one.after or "", one.place.shown) for one in made)
        questions = [ask_about_writing(at, str(one.place.path), app.settings, shown) for one in made]
        worst = max(questions, key=lambda one: one.dangerous)
        names = ", ".join(one.place.shown for one in made)
        return worst if worst.dangerous else replace(worst, text=f"Change {names}?")

    @tool(effect="writes", asks=asks, origins=())
    async def patch(
        at: Workspace, path: str = "", old: str = "", new: str = "", diff: str = "", all: bool = False
    ) -> ToolResult:
        """Changes a text file inside the workspace: replaces `old` by `new`, or applies a unified diff, which may
        change, make and delete several files. If any part does not fit, nothing is changed.

        path: the file, from the workspace; with a diff it may be left out
        old: the exact text to replace, with enough lines around it to be there only once
        new: what takes its place
        diff: a unified diff with ---, +++ and @@ lines
        all: replace every place where `old` is
        """
        arguments = {"path": path, "old": old, "new": new, "diff": diff, "all": all}
        made = await asyncio.to_thread(drafts, at, arguments)
        async with AsyncExitStack() as held:
            for one in sorted(made, key=lambda one: str(one.place.path)):
                await held.enter_async_context(changing.lock(one.place))
            await asyncio.to_thread(_apply_drafts, made)
        names = [one.place.shown for one in made]
        sizes = sum(len(one.after or "") for one in made)
        facts = {"path": str(made[0].place.path), "paths": [str(one.place.path) for one in made], "bytes": sizes}
        return ToolResult(text=f"Changed {', '.join(names)}.", facts=facts)

    return patch


def _draft_diff(app: HasSettings, at: Workspace, diff: str, path: str) -> list[_Draft]:
    changes = parse_diff(diff)
    if path and len(changes) > 1:
        raise BadInput("The diff changes several files.", hint="Leave `path` out.")
    made: dict[ResolvedPath, _Draft] = {}
    for change in changes:
        name = path or change.target or change.source
        place = require_writable(at, name, app.settings)
        if place in made:
            raise BadInput(f"The diff changes {place.shown} twice.", hint="Put all its hunks under one heading.")
        if not change.source and change.target and not place.path.exists():
            made[place] = _Draft(place, None, apply_hunks("", change.hunks))
            continue
        if change.source and change.target and change.source != change.target and not path:
            raise BadInput("Renaming by diff is not possible.", hint="Change the file, then rename it with a command.")
        text, raw = _read_existing(place)
        after = apply_hunks(text, change.hunks)
        if not change.target and after:
            raise BadInput(f"The diff deletes {place.shown}, but not all its lines.", hint="Read it again.")
        made[place] = _Draft(place, raw, after if change.target else None)
    return list(made.values())


def _read_existing(place: ResolvedPath) -> tuple[str, bytes]:
    try:
        return read_text(place)
    except FileNotFoundError as error:
        raise BadInput(f"There is no file {place.shown}.", hint="To make it, use write_file.") from error


def _apply_drafts(made: list[_Draft]) -> None:
    """Writes all files. Checks everything first; restores what was written if a later file fails."""
    for one in made:
        if one.before is not None:
            require_unchanged(one.place, one.before)
        elif one.place.path.exists():
            raise Conflict(f"{one.place.shown} was made meanwhile.", hint="Read it, then try again.")
        refuse_redaction_marks(one.place, one.after or "")
    done: list[_Draft] = []
    try:
        for one in made:
            _replace_file(one.place, None if one.after is None else one.after.encode("utf-8"))
            done.append(one)
    except BaseException:
        for one in reversed(done):
            _replace_file(one.place, one.before)
        raise


def _replace_file(place: ResolvedPath, data: bytes | None) -> None:
    if data is None:
        remove_file_at(place)
    else:
        write_file_at(place, data)


def _decode(raw: bytes | None) -> str:
    return raw.decode("utf-8", "replace") if raw else ""
