"""send_file: a file for the person one talks with. In a chat it is sent there; it is kept with the session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict
from mimetypes import guess_type

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.ports.app import PluginContext
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.files import ReadApprovals
from sojourn.tools.safe_open import Place, open_file

MAX_FILE_BYTES = 20 * 1024 * 1024  # bytes


def send_file_tool(kit: PluginContext) -> Tool:
    reading = kit.shared(ReadApprovals)

    def asks(at: Workspace, given: Mapping[str, Json]) -> Question | None:
        return reading.ask(at, given["path"])

    @tool(asks=asks)
    async def send_file(at: Workspace, path: str) -> ToolResult:
        """Gives the person a file, a picture for example: it is sent to the chat and kept with the session.

        path: the file, from the workspace or absolute
        """
        place = reading.place(at, path)
        data = await asyncio.to_thread(_read, place)
        name, kind = place.path.name, guess_type(place.path.name)[0] or "application/octet-stream"
        hash = await kit.store.put_blob(at.session, data, media_type=kind, name=name)
        file = Attachment(hash=hash, media_type=kind, name=name, size=len(data))
        text = f"{name} ({len(data):,} bytes) was given to the person."
        return ToolResult(text=text, facts={"attachment": asdict(file)})

    return send_file


def _read(place: Place) -> bytes:
    if place.path.is_dir():
        raise BadInput(f"{place.shown} is a folder.", hint="Name one file, or pack the folder first.")
    try:
        with os.fdopen(open_file(place), "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {place.shown}.", hint="Look which files there are first.") from error
    if len(data) > MAX_FILE_BYTES:
        raise BadInput(
            f"{place.shown} has more than {MAX_FILE_BYTES:,} bytes.", hint="Make it smaller, or say where it is."
        )
    return data
