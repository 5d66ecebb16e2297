"""Asks the editor an approval question of a running turn, and carries its answer to the service."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sojourn.acp_server.updates import to_content, to_kind
from sojourn.core.errors import NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.jsonrpc import ConnectionClosed, JsonRpcConnection, Params, RpcError, as_object
from sojourn.ports.service import Caller, Service
from sojourn.ports.tool import Reply
from sojourn.text.exact import hash_text, reveal

_OPTIONS = {
    "once": ("allow_once", "Allow once"),
    "session": ("allow_always", "Allow in this session"),
    "always": ("allow_always", "Always allow exactly this"),
    "deny": ("reject_once", "Deny"),
}


async def ask_editor(
    rpc: JsonRpcConnection,
    service: Service,
    session: SessionId,
    detail: Mapping[str, Any],
    by: Caller,
    open_calls: Mapping[str, str],
) -> None:
    """Asks and answers. What cannot be shown exactly can only be denied; an answer that was not offered is a no."""
    question, tool = str(detail.get("question")), str(detail.get("tool") or "")
    try:
        exact = (await service.get_question(session, question, by)).exact
    except NotFound:  # another surface has answered it
        return
    choices, text = [str(one) for one in detail.get("choices") or ()], str(detail.get("text") or tool)
    if hash_text(exact) != detail.get("sha256"):
        choices, text = ["deny"], f"{text} What would run could not be shown exactly: you can only say no."
        exact = ""
    calls = [call for call, name in open_calls.items() if name == tool]
    call: Params = {
        "toolCallId": calls[0] if len(calls) == 1 else question,
        "title": reveal(f"⚠ {text}" if detail.get("dangerous") else text),
        "kind": to_kind(tool),
        "status": "pending",
        "content": to_content(reveal(exact)) if exact else [],
    }
    options = [
        {"optionId": one, "kind": _OPTIONS[one][0], "name": _OPTIONS[one][1]} for one in choices if one in _OPTIONS
    ]
    try:
        answer = await rpc.call(
            "session/request_permission", {"sessionId": session, "toolCall": call, "options": options}
        )
    except ConnectionClosed:  # another surface may still answer
        return
    except RpcError:
        answer = None
    choice = _chosen(answer, [str(one["optionId"]) for one in options])
    with suppress(NotFound):  # it was answered elsewhere meanwhile, or the turn is over
        await service.answer(session, question, Reply(choice=choice, by=by.surface), by)


def _chosen(answer: Json, offered: list[str]) -> str:
    outcome = as_object(as_object(answer).get("outcome"))
    chosen = outcome.get("optionId")
    return chosen if outcome.get("outcome") == "selected" and chosen in offered else "deny"
