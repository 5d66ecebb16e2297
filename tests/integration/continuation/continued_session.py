"""A session with everything that has to survive: texts, a thought, calls, a failed one, an unknown tool."""

import json
from pathlib import Path

from sojourn.app import App
from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.core.sessions import Session

_CAT = ToolCall(id="toolu_1", name="Bash", arguments=json.dumps({"command": "cat notes.txt"}))
_ODD = ToolCall(id="toolu_1", name="weird.tool", arguments=json.dumps({"deep": {"n": [1, 2]}, "q": 'quoted "words"'}))
MESSAGES = (
    user("First: what is in the notes?\n\nTwo lines, “quoted” & <tagged>."),
    assistant("I will look.", [_CAT], reasoning="The file is small."),
    tool_result(_CAT, "Buy milk.\nShip the importer.\n"),
    assistant(None, [_ODD]),
    tool_result(_ODD, "it broke", extra='{"is_error": true}'),
    assistant("The notes say: buy milk."),
    user("请用中文介绍一下这个项目。"),
    assistant("这是一个小项目。🙂"),
)
TEXTS = [one.content for one in MESSAGES if one.role in ("user", "assistant") and one.content]
RESULTS = [one.content for one in MESSAGES if one.role == "tool"]


async def make_session(app: App, folder: Path) -> Session:
    session = await app.store.create(title="The notes", cwd=str(folder))
    lease = await app.store.lease(session.id, holder="test", surface="cli")
    await app.store.append(lease, MESSAGES)
    await app.store.renew(lease, 0)
    return await app.store.get(session.id)


def list_strings(value: object) -> list[str]:
    """Every text in a request, also inside JSON that is itself a text."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in list_strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in list_strings(one)]
    if not isinstance(value, str):
        return []
    try:
        inner = json.loads(value) if value.startswith(("{", "[")) else None
    except ValueError:
        inner = None
    return [value, *list_strings(inner)]
