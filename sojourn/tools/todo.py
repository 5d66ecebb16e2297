"""The tool `todo`: the agent's own list of what is left to do in this session."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.ports.app import HasStore
from sojourn.ports.store import Record
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.guard import ask_nothing

KIND = "todo"
STATES = {"open": "[ ]", "doing": "[~]", "done": "[x]", "dropped": "[-]"}
MAX_ITEMS, MAX_ITEM_CHARS = 100, 500


def todo_tool(app: HasStore) -> Tool:
    @tool(effect="writes", asks=ask_nothing, origins=())  # it only changes its own list
    async def todo(at: Workspace, items: list[dict[str, str]] | None = None) -> ToolResult:
        """Your list of steps for this session: shows it, or replaces all of it. Use it for work of three steps or
        more; keep one step at "doing".

        items: the whole list, each {"text": "…", "state": "open" | "doing" | "done" | "dropped"}; left out: only show
        """
        old = await app.store.get_record(KIND, at.session)
        listed: list[dict[str, str]] = old.value["items"] if old else []
        if items is not None:
            listed = [_parse_item(one, number) for number, one in enumerate(items, 1)]
            if len(listed) > MAX_ITEMS:
                raise BadInput(f"The list has {len(listed)} items.", hint=f"At most {MAX_ITEMS}.")
            await app.store.put_record(
                Record(kind=KIND, key=at.session, value={"items": listed}, principal=at.principal, session=at.session)
            )
        lines = [f"{STATES[one['state']]} {one['text']}" for one in listed]
        done = sum(one["state"] == "done" for one in listed)
        facts: dict[str, Json] = {"items": listed, "done": done}
        return ToolResult(text="\n".join(lines) or "The list is empty.", facts=facts)

    return todo


def _parse_item(raw: Json, number: int) -> dict[str, str]:
    text = raw.get("text") if isinstance(raw, Mapping) else None
    state = raw.get("state", "open") if isinstance(raw, Mapping) else None
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_ITEM_CHARS or state not in STATES:
        raise BadInput(
            f"Item {number} is not a step.",
            hint='Each is {"text": "…", "state": "open", "doing", "done" or "dropped"}.',
        )
    return {"text": " ".join(text.split()), "state": state}
