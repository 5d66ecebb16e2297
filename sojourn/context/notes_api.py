"""HTTP routes under `/api/plugins/memory/notes`: the owner's Markdown notes, and which a request would bring up."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from sojourn.context.notes import MAX_FILE_BYTES, Notes
from sojourn.ports.app import Shared

NoteName = Annotated[str, Path(min_length=4, max_length=300, description="Its path in the folder: `garden/roses.md`.")]
_REFUSED: dict[int | str, dict[str, Any]] = {400: {"description": "It is refused; `detail` says why."}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such note."}}


class NoteShape(BaseModel):
    """A note in the list."""

    name: str
    sections: int


class NoteList(BaseModel):
    """Where notes lie, which there are, and what could not be read."""

    folder: str
    notes: list[NoteShape]
    problems: list[str]


class NoteText(BaseModel):
    """What a note says."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=MAX_FILE_BYTES)


class FoundSection(BaseModel):
    """A section that a request would bring up, and why."""

    name: str
    heading: str
    text: str
    reason: str


def add_note_routes(api: APIRouter, app: Shared) -> None:
    """The routes for notes."""

    @api.get("/notes")
    async def list_notes() -> NoteList:
        """Every note of the folder `memory.notes`."""
        notes = app.shared(Notes)
        found, problems = await run_in_threadpool(notes.describe)
        shapes = [NoteShape(name=name, sections=sections) for name, sections in found]
        return NoteList(folder=str(notes.folder), notes=shapes, problems=problems)

    @api.get("/note-search")
    async def search_notes(request: Annotated[str, Query(min_length=1, max_length=4000)]) -> list[FoundSection]:
        """The sections that a request would bring up, best first."""
        found, _ = await run_in_threadpool(app.shared(Notes).search, request)
        return [FoundSection(name=one.file, heading=one.heading, text=one.text, reason=why) for one, why in found]

    @api.get("/notes/{name:path}", responses=_REFUSED | _UNKNOWN)
    async def read_note(name: NoteName) -> NoteText:
        """One note."""
        return NoteText(text=await run_in_threadpool(app.shared(Notes).read, name))

    @api.put("/notes/{name:path}", responses=_REFUSED)
    async def save_note(name: NoteName, body: NoteText) -> NoteText:
        """Adds or changes a note."""
        await run_in_threadpool(app.shared(Notes).save, name, body.text)
        return body

    @api.delete("/notes/{name:path}", status_code=204, responses=_REFUSED | _UNKNOWN)
    async def delete_note(name: NoteName) -> None:
        """Deletes a note."""
        await run_in_threadpool(app.shared(Notes).delete, name)
