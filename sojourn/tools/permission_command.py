"""`/permissions`: shows or sets the permission mode of a session; and the note that tells an agent of plan mode."""

from __future__ import annotations

from sojourn.chat_command_table import CommandOutput
from sojourn.core.errors import NotAllowed
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.service import Caller
from sojourn.turn_support.lasting_approvals import require_owner
from sojourn.turn_support.permission_modes import MODES, find_mode, parse_mode, save_mode

_PLAN = (
    "The person wants a plan first. Tools that write or run are refused in this session. Read what you need, then "
    "answer with the steps you would take, and let the person decide."
)


async def run_permissions(app: HasStore, session: SessionId, arguments: str, by: Caller) -> CommandOutput:
    """The mode in force, after setting the one that `arguments` names. NotAllowed for guests, BadInput."""
    require_owner(by)
    if (await app.store.get(session)).principal != OWNER:
        raise NotAllowed(
            "A guest's session has no permission mode.", hint="What guests may use is in tools.guest_tools."
        )
    if arguments:
        await save_mode(app.store, session, parse_mode(arguments))
    mode = await find_mode(app.store, session)
    lines = [f"{mode}: {MODES[mode]}."]
    if arguments and mode != parse_mode(arguments):
        lines.append("The session whose sub-agent this is says so.")
    return CommandOutput(lines=tuple(lines), choices={"permissions": mode})


class PlanNote:
    """Context source: tells the agent that the session is in plan mode."""

    name = "permissions"
    stage: Stage = "memory"

    def __init__(self, app: HasStore) -> None:
        """The mode comes with the request."""

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        if request.permissions != "plan":
            return ContextContribution()
        block = ContextBlock(
            kind="note", title="Plan mode", text=_PLAN, origin="/permissions", reason="the person set plan mode"
        )
        return ContextContribution(blocks=(block,))
