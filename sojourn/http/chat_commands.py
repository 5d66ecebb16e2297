"""Chat commands over HTTP: which there are, and running one in a session."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sojourn.chat_commands import CommandCall, find_command, list_commands, parse_command, run_command
from sojourn.core.errors import BadInput
from sojourn.core.sessions import OWNER
from sojourn.http.dependencies import CallerDep, ExactSession, PrincipalDep, ServiceDep, problem_responses
from sojourn.http.json_safe import Text
from sojourn.http.schemas import AttributeSchema, StrictSchema

router = APIRouter(prefix="/api", tags=["commands"])


class ChatCommandShape(AttributeSchema):
    """A command as a menu shows it."""

    name: str
    arguments: str
    help: str


class CommandLine(StrictSchema):
    """What a person typed."""

    line: str = Field(min_length=1, max_length=10_000, description="`/title My garden`.")


class CommandAnswer(BaseModel):
    """What a command answered, and what it changes for the page that asked."""

    lines: list[Text]
    rows: list[list[Text]] = Field(description="A table; its columns depend on the command.")
    change: str = Field(description="new: leave the session; drive, watch: go on in `session`; empty: stay.")
    session: Text | None = Field(description="The session it is about, by id.")
    choices: dict[str, Text] = Field(description="model, runtime, template of the next requests; empty: default.")
    handoff: Text | None = Field(description="A hand-off that was requested: follow it under `handoffs/{id}`.")


@router.get("/commands", summary="List chat commands")
async def commands(principal: PrincipalDep) -> list[ChatCommandShape]:
    """Those that work in a browser."""
    found = list_commands("browser", is_owner=principal == OWNER)
    return [ChatCommandShape.model_validate(one) for one in found]


@router.post(
    "/sessions/{id}/commands", summary="Run a chat command", responses=problem_responses(400, 403, 404, 409, 503)
)
async def run(session: ExactSession, typed: CommandLine, service: ServiceDep, caller: CallerDep) -> CommandAnswer:
    """The same commands as in the terminal and in chats."""
    parsed = parse_command(typed.line)
    if parsed is None:
        raise BadInput(f"{typed.line[:80]!r} is no command.", hint="A command begins with a slash: /help")
    command, arguments = find_command(parsed[0]), parsed[1]
    call = CommandCall(service=service, by=caller, surface="browser", arguments=arguments, session=session.id)
    result = await run_command(command, call)
    return CommandAnswer(
        lines=list(result.lines),
        rows=[list(row) for row in result.rows],
        change=result.change,
        session=result.session.id if result.session else None,
        choices=dict(result.choices),
        handoff=result.handoff.id if result.handoff else None,
    )
