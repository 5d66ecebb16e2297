"""The tool `patch`: changes a part of a file, or several files at once; all of them or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings, PluginContext
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.file_checkpoints import FileCheckpoints
from sojourn.tools.file_drafts import FileLocks, apply_drafts, decode_text, describe_draft, read_before
from sojourn.tools.judged_call import judged_call
from sojourn.tools.path_policy import ask_about_writing, require_writable
from sojourn.tools.safe_open import FileDraft, ResolvedPath
from sojourn.tools.unified_diff import apply_hunks, parse_diff, replace_text


def patch_tool(app: PluginContext) -> Tool:
    changing, checkpoints = app.shared(FileLocks), app.shared(FileCheckpoints)

    def drafts(at: Workspace, arguments: Mapping[str, Json]) -> list[FileDraft]:
        path, old, diff = (arguments.get(name) or "" for name in ("path", "old", "diff"))
        if bool(old) == bool(diff):
            raise BadInput("Give either `old` and `new`, or `diff`.", hint="Not both, and not none.")
        if diff:
            return _draft_diff(app, at, diff, path)
        place = require_writable(at, path, app.settings)
        text, raw = _read_existing(place)
        after = replace_text(text, old, arguments.get("new") or "", everywhere=bool(arguments.get("all")))
        return [FileDraft(place, raw, after.encode())]

    def asks(at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        made = drafts(at, arguments)
        judged_call().drafts = tuple(made)
        shown = "\n".join(map(describe_draft, made))
        questions = [ask_about_writing(at, one.place, app.settings, shown) for one in made]
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
        judged = judged_call().drafts or tuple(await asyncio.to_thread(drafts, at, arguments))
        async with AsyncExitStack() as held:
            for one in sorted(judged, key=lambda one: str(one.place.path)):
                await held.enter_async_context(changing.lock(one.place))
            made = await asyncio.to_thread(drafts, at, arguments)
            await asyncio.to_thread(apply_drafts, judged, made, lambda: checkpoints.save(at, made))
        names = [one.place.shown for one in made]
        sizes = sum(len(one.after or b"") for one in made)
        facts = {"path": str(made[0].place.path), "paths": [str(one.place.path) for one in made], "bytes": sizes}
        return ToolResult(text=f"Changed {', '.join(names)}.", facts=facts)

    return patch


def _draft_diff(app: HasSettings, at: Workspace, diff: str, path: str) -> list[FileDraft]:
    changes = parse_diff(diff)
    if path and len(changes) > 1:
        raise BadInput("The diff changes several files.", hint="Leave `path` out.")
    made: dict[ResolvedPath, FileDraft] = {}
    for change in changes:
        name = path or change.target or change.source
        place = require_writable(at, name, app.settings)
        if place in made:
            raise BadInput(f"The diff changes {place.shown} twice.", hint="Put all its hunks under one heading.")
        if not change.source and change.target and read_before(place) is None:
            made[place] = FileDraft(place, None, apply_hunks("", change.hunks).encode())
            continue
        if change.source and change.target and change.source != change.target and not path:
            raise BadInput("Renaming by diff is not possible.", hint="Change the file, then rename it with a command.")
        text, raw = _read_existing(place)
        after = apply_hunks(text, change.hunks)
        if not change.target and after:
            raise BadInput(f"The diff deletes {place.shown}, but not all its lines.", hint="Read it again.")
        made[place] = FileDraft(place, raw, after.encode() if change.target else None)
    return list(made.values())


def _read_existing(place: ResolvedPath) -> tuple[str, bytes]:
    raw = read_before(place)
    if raw is None:
        raise BadInput(f"There is no file {place.shown}.", hint="To make it, use write_file.")
    return decode_text(place, raw), raw
