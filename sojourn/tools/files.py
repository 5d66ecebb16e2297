"""Tools for whole files: `read_file`, `write_file` and `send_file`."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import Mapping
from dataclasses import asdict
from mimetypes import guess_type

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, Conflict, NotAllowed, NotFound
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings, PluginContext, Shared
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.file_window import list_folder, read_window
from sojourn.tools.path_policy import ask_about_reading, ask_about_writing, require_writable
from sojourn.tools.safe_open import ResolvedPath, binary_kind, open_file, write_file_at

MAX_FILE_BYTES = 10 * 1024 * 1024  # bytes of a file that is changed as a whole
MAX_SENT_BYTES = 20 << 20
MARK = "[redacted:"


class ReadApprovals:
    """Remembers what was asked about, so that what is read is what was allowed."""

    def __init__(self, app: HasSettings) -> None:
        self.settings = app.settings
        self._asked: dict[tuple[str, str], ResolvedPath] = {}

    def ask(self, at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        """`asks` of a tool that reads its argument `path`."""
        raw = arguments.get("path", ".")
        question, place = ask_about_reading(at, raw, self.settings)
        if len(self._asked) > 1000:
            self._asked.clear()
        self._asked[at.turn, raw] = place
        return question

    def place(self, at: Workspace, raw: str) -> ResolvedPath:
        """Returns the place that was asked about. NotAllowed when the path leads somewhere else by now."""
        question, place = ask_about_reading(at, raw, self.settings)
        if question is not None and self._asked.get((at.turn, raw)) != place:
            raise NotAllowed(f"{raw[:200]} led somewhere else a moment ago.", hint="Look at it again first.")
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
    changing = app.shared(FileLocks)

    def asks(at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        raw, content = arguments["path"], arguments["content"]
        try:
            old, _ = read_text(require_writable(at, raw, app.settings))
        except (OSError, BadInput):
            old = ""
        return ask_about_writing(at, raw, app.settings, describe_change(old, content, raw))

    @tool(effect="writes", asks=asks, origins=())
    async def write_file(at: Workspace, path: str, content: str) -> ToolResult:
        """Writes a whole text file inside the workspace; makes its folders. To change a part, use patch.

        path: the file, from the workspace
        content: everything the file shall hold
        """
        place = require_writable(at, path, app.settings)
        async with changing.lock(place):
            data = content.encode("utf-8")
            await asyncio.to_thread(refuse_redaction_marks, place, content)
            new = await asyncio.to_thread(write_file_at, place, data)
        word = "Made" if new else "Replaced"
        facts = {"path": str(place.path), "bytes": len(data), "new": new}
        return ToolResult(text=f"{word} {place.shown} ({len(data)} bytes, {_count_lines(content)} lines).", facts=facts)

    return write_file


class FileLocks:
    """One lock per file, so that its changes happen one at a time."""

    def __init__(self, _: HasSettings) -> None:
        self._locks: dict[str, asyncio.Lock] = {}

    def lock(self, place: ResolvedPath) -> asyncio.Lock:
        if len(self._locks) > 1000:
            self._locks = {path: lock for path, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(str(place.path), asyncio.Lock())


def read_text(place: ResolvedPath) -> tuple[str, bytes]:
    """Reads a whole file as text, and as bytes. BadInput when it is binary, too large or not UTF-8."""
    with open(open_file(place), "rb") as file:  # noqa: PTH123 - by descriptor
        raw = file.read(MAX_FILE_BYTES + 1)
    if len(raw) > MAX_FILE_BYTES:
        raise BadInput(f"{place.shown} has more than {MAX_FILE_BYTES >> 20} MB.", hint="Change it with a command.")
    if kind := binary_kind(raw):
        raise BadInput(f"{place.shown} is {kind}, not text.", hint="Use a program made for it.")
    try:
        return raw.decode("utf-8"), raw
    except UnicodeDecodeError as error:
        raise BadInput(f"{place.shown} is not UTF-8 text.", hint="Convert it first, for example with iconv.") from error


def require_unchanged(place: ResolvedPath, before: bytes) -> None:
    """Raises Conflict when somebody else has written the file since it was read."""
    if read_text(place)[1] != before:
        raise Conflict(f"{place.shown} was changed meanwhile by somebody else.", hint="Read it again, then try again.")


def refuse_redaction_marks(place: ResolvedPath, content: str) -> None:
    """Raises BadInput when a redaction mark would replace the secret that it stands for."""
    if MARK not in content:
        return
    try:
        old, _ = read_text(place)
    except (OSError, BadInput):
        old = ""
    if content.count(MARK) > old.count(MARK):
        raise BadInput(
            f"The text holds {MARK}…], which stands for a secret you were not shown: it would be lost.",
            hint="Change only the lines around it with patch.",
        )


def describe_change(old: str, new: str, name: str, max_chars: int = 4000) -> str:
    """Renders a change as a diff for the person who is asked about it."""
    if len(old) + len(new) > 200_000:
        return f"{name}: {len(old)} characters become {len(new)}."
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    text = "\n".join(lines) or f"{name}: no change."
    return text if len(text) <= max_chars else f"{text[:max_chars]}\n… {len(text) - max_chars} more characters"


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
