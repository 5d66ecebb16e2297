"""Tools for whole files: `read_file`, `write_file` and `send_file`."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Mapping
from dataclasses import asdict
from mimetypes import guess_type

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, NotAllowed, NotFound
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings, PluginContext, Shared
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.file_checkpoints import FileCheckpoints
from sojourn.tools.file_drafts import FileLocks, apply_drafts, describe_draft, read_before
from sojourn.tools.file_window import list_folder, read_window
from sojourn.tools.judged_call import judged_call, require_same_place
from sojourn.tools.path_policy import ask_about_reading, ask_about_writing, require_writable
from sojourn.tools.safe_open import FileDraft, ResolvedPath, open_file

MAX_SENT_BYTES = 20 << 20


class ReadApprovals:
    """Asks about what is read, and returns what was asked about: what is read is what was allowed."""

    def __init__(self, app: HasSettings) -> None:
        self.settings = app.settings

    def ask(self, at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        """`asks` of a tool that reads its argument `path`."""
        question, place = ask_about_reading(at, arguments.get("path", "."), self.settings)
        judged_call().place = place
        return question

    def place(self, at: Workspace, raw: str) -> ResolvedPath:
        """Returns the place that was asked about. NotAllowed when the path leads somewhere else by now."""
        question, place = ask_about_reading(at, raw, self.settings)
        judged = judged_call().place
        if judged is not None:
            require_same_place(judged, place)
        elif question is not None:
            raise NotAllowed(f"Nobody was asked about {place.shown}.", hint="Call the tool through the guard.")
        return place


def read_file_tool(app: Shared) -> Tool:
    reading = app.shared(ReadApprovals)

    @tool(asks=reading.ask, origins=())
    async def read_file(at: Workspace, path: str, offset: int = 1, limit: int = 2000) -> ToolResult:
        """Reads a text file, with line numbers; for a folder, lists what is in it.

        path: the file, from the workspace or absolute
        offset: the first line to show; negative counts from the end
        limit: how many lines to show
        """
        place = reading.place(at, path)
        if place.path.is_dir():
            return await asyncio.to_thread(list_folder, place)
        return await asyncio.to_thread(read_window, _open_existing(place), place, offset, limit, at.most)

    return read_file


def write_file_tool(app: PluginContext) -> Tool:
    changing, checkpoints = app.shared(FileLocks), app.shared(FileCheckpoints)

    def draft(at: Workspace, path: str, content: str) -> FileDraft:
        place = require_writable(at, path, app.settings)
        return FileDraft(place, read_before(place), content.encode("utf-8"))

    def asks(at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        made = draft(at, arguments["path"], arguments["content"])
        judged_call().drafts = (made,)
        return ask_about_writing(at, made.place, app.settings, describe_draft(made))

    @tool(effect="writes", asks=asks, origins=())
    async def write_file(at: Workspace, path: str, content: str) -> ToolResult:
        """Writes a whole text file inside the workspace; makes its folders. To change a part, use patch.

        path: the file, from the workspace
        content: everything the file shall hold
        """
        async with changing.lock(require_writable(at, path, app.settings)):
            made = await asyncio.to_thread(draft, at, path, content)
            await asyncio.to_thread(apply_drafts, judged_call().drafts, [made], lambda: checkpoints.save(at, [made]))
        place, new, size = made.place, made.before is None, len(made.after or b"")
        word = "Made" if new else "Replaced"
        facts = {"path": str(place.path), "bytes": size, "new": new}
        return ToolResult(text=f"{word} {place.shown} ({size} bytes, {_count_lines(content)} lines).", facts=facts)

    return write_file


def _open_existing(place: ResolvedPath) -> int:
    try:
        return open_file(place)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {place.shown}.", hint=_suggest_names(place)) from error


def _suggest_names(place: ResolvedPath) -> str:
    try:
        names = [one.name for one in place.path.parent.iterdir()]
    except OSError:
        return "Its folder does not exist either; look for it with search_files."
    close = difflib.get_close_matches(place.path.name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(close)}?" if close else "Look for it with search_files."


def _count_lines(text: str) -> int:
    return text.count("\n") + bool(text and not text.endswith("\n"))


def send_file_tool(app: PluginContext) -> Tool:
    reading = app.shared(ReadApprovals)

    @tool(asks=reading.ask, origins=())
    async def send_file(at: Workspace, path: str) -> ToolResult:
        """Gives the person a file, a picture for example: it is sent to the chat and kept with the session.

        path: the file, from the workspace or absolute
        """
        place = reading.place(at, path)
        data = await asyncio.to_thread(_read_bytes, place)
        name, kind = place.path.name, guess_type(place.path.name)[0] or "application/octet-stream"
        hash = await app.store.put_blob(at.session, data, media_type=kind, name=name)
        file = Attachment(hash=hash, media_type=kind, name=name, size=len(data))
        text = f"{name} ({len(data):,} bytes) was sent to the person."
        return ToolResult(text=text, facts={"attachment": asdict(file)})

    return send_file


def _read_bytes(place: ResolvedPath) -> bytes:
    if place.path.is_dir():
        raise BadInput(f"{place.shown} is a folder.", hint="Name one file, or pack the folder first.")
    with os.fdopen(_open_existing(place), "rb") as file:
        data = file.read(MAX_SENT_BYTES + 1)
    if len(data) > MAX_SENT_BYTES:
        raise BadInput(
            f"{place.shown} has more than {MAX_SENT_BYTES:,} bytes.", hint="Make it smaller, or say where it is."
        )
    return data
