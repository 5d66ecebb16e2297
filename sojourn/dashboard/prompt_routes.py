"""Prompts over HTTP: the person's own commands, which are Markdown files in the home; said in a chat as `/name`."""

from __future__ import annotations

import asyncio
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import NotFound
from sojourn.ports.app import AppContext
from sojourn.user_commands import UserCommand, UserCommands, delete_own_command, save_own_command

PromptName = Annotated[str, Path(pattern=r"^[a-z0-9_]{1,40}$", description="Small letters, digits and _.")]
_REFUSED: dict[int | str, dict[str, Any]] = {400: {"description": "It is refused; `detail` says why."}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such prompt."}}


class PromptBody(BaseModel):
    """A prompt to keep. `$ARGUMENTS` and `$1` to `$9` in the text are what is typed after its name."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=60_000)
    description: str = Field(default="", max_length=300)
    arguments: str = Field(default="", max_length=200, description="What may be typed after the name, for its help.")


class PromptShape(BaseModel):
    """A prompt, or a file that cannot be used and the problem with it."""

    name: str
    description: str
    arguments: str
    text: str
    problem: str


class PromptArguments(BaseModel):
    """What was typed after the name of a prompt."""

    model_config = ConfigDict(extra="forbid")
    arguments: str = Field(default="", max_length=60_000)


class FilledPrompt(BaseModel):
    """The message that a prompt stands for."""

    text: str


def add_prompt_routes(api: APIRouter, app: AppContext) -> None:
    """The routes under `/api/plugins/dashboard/prompts`."""
    home = FilePath(app.settings.home)
    own = UserCommands(home, home)

    @api.get("/prompts")
    async def prompts() -> list[PromptShape]:
        """Every prompt of the home, by name."""
        return [_to_prompt(one) for one in await asyncio.to_thread(own.list_own)]

    @api.put("/prompts/{name}", responses=_REFUSED)
    async def save(name: PromptName, body: PromptBody) -> PromptShape:
        """Adds or changes a prompt: `commands/<name>.md` in the home."""
        wanted = UserCommand(name=name, help=body.description, arguments=body.arguments, body=body.text)
        return _to_prompt(await asyncio.to_thread(save_own_command, home, wanted))

    @api.delete("/prompts/{name}", status_code=204, responses=_UNKNOWN)
    async def delete(name: PromptName) -> None:
        """Deletes the file of a prompt."""
        await asyncio.to_thread(delete_own_command, home, name)

    @api.post("/prompts/{name}/fill", responses=_UNKNOWN)
    async def fill(name: PromptName, typed: PromptArguments) -> FilledPrompt:
        """The message that a prompt stands for, with what was typed after its name."""
        for one in await asyncio.to_thread(own.list_own):
            if one.name == name and not one.problem:
                return FilledPrompt(text=one.expand(typed.arguments))
        raise NotFound(f"There is no prompt /{name}.", hint="Memory & skills lists them.")


def _to_prompt(one: UserCommand) -> PromptShape:
    return PromptShape(name=one.name, description=one.help, arguments=one.arguments, text=one.body, problem=one.problem)
