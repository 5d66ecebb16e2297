"""Permission modes: what an agent may do in a session without a question each time. The owner sets one per session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from sojourn.core.errors import BadInput, NotAllowed, NotFound
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.runtime import HasOwnTools, Runtime
from sojourn.ports.store import Record, Store, Transaction
from sojourn.ports.tool import Tool

PermissionMode = Literal["plan", "ask", "accept-edits"]
MODES: Mapping[PermissionMode, str] = {
    "plan": "the agent reads and plans; no tool that writes or runs is used",
    "ask": "you are asked before a tool writes or runs, as tools.approval says",
    "accept-edits": "files of the workspace are written without a question; commands, and files that something runs "
    "later, are still asked about",
}
EDIT_TOOLS = frozenset({"write_file", "patch"})
MODE_KIND = "permission_mode"
_PLAN_TOOLS = frozenset({"todo", "delegate_task"})  # a list of its own; a sub-agent, which is in the same mode
_MAX_PARENTS = 8  # sessions above one


def parse_mode(words: str) -> PermissionMode:
    """The mode that a person names: in full, or by its beginning. BadInput."""
    name = "-".join(words.lower().replace("_", " ").replace("-", " ").split())
    found = [mode for mode in MODES if name and mode.startswith(name)]
    if len(found) != 1:
        raise BadInput(f'There is no permission mode "{words}".', hint=f"There are: {', '.join(MODES)}.")
    return found[0]


async def find_mode(store: Store, session: SessionId) -> PermissionMode:
    """The mode in force: that of the session, or of the session whose sub-agent it is. `plan` above holds below."""
    return await store.snapshot(lambda one: read_mode(one, one.get(session), one.get_record(MODE_KIND, session)))


def read_mode(store: Transaction, session: Session, record: Record | None) -> PermissionMode:
    """The mode in force in a session that has this record of MODE_KIND."""
    found, at = list[PermissionMode](), session
    for _ in range(_MAX_PARENTS):
        if record:
            mode = record.value["mode"]
            found.append(mode if mode in MODES else "plan")  # of a later version: the strictest
        if at.parent_session_id is None:
            break
        try:
            at = store.get(at.parent_session_id)
        except NotFound:  # the one above was deleted
            break
        record = store.get_record(MODE_KIND, at.id)
    return "plan" if "plan" in found else next(iter(found), "ask")


async def save_mode(store: Store, session: SessionId, mode: PermissionMode) -> None:
    """In force at once, in a running turn too."""
    await store.put_record(Record(kind=MODE_KIND, key=session, value={"mode": mode}, session=session))


def require_allowed(mode: PermissionMode, tool: Tool) -> None:
    """NotAllowed for a tool that writes or runs in plan mode."""
    if mode == "plan" and tool.effect != "reads" and tool.name not in _PLAN_TOOLS:
        raise NotAllowed(
            f"This session is in plan mode, so {tool.name} is not used.",
            hint="Read what you need, then say what you would do. The person ends plan mode with /permissions ask.",
        )


def require_enforced(mode: PermissionMode, runtime: Runtime) -> None:
    """NotAllowed in plan mode for a runtime with tools of its own: nobody here could keep it from using them."""
    if mode == "plan" and isinstance(runtime, HasOwnTools):
        raise NotAllowed(
            f"This session is in plan mode, which {runtime.label} cannot be held to: it has tools of its own.",
            hint="/permissions ask ends plan mode; /runtime native can be held to it.",
        )
