"""`/v1/responses`: the same agents for programs that speak OpenAI's Responses API.

The id of an answer names its session and turn. `previous_response_id` goes on there if nothing was said since, and
branches otherwise; a call without it is a transcript, as in `/v1/chat/completions`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import APIRouter, Response
from pydantic_core import to_json

from sojourn.core.errors import NotFound
from sojourn.core.messages import Message, assistant, text_of, user
from sojourn.core.sessions import Recorded, SessionId
from sojourn.http.completion_turn import Completion, Completions, CompletionsDep
from sojourn.http.dependencies import StreamsDep
from sojourn.http.prompt_messages import CallPrompt, PromptMessage, build_prompt
from sojourn.http.responses_schemas import (
    ResponseObject,
    ResponseRequest,
    build_message,
    build_response,
    to_prompt_message,
)
from sojourn.http.sse import FRAME_SCHEMA, EventStream
from sojourn.http.turns import TURN_FAULTS

router = APIRouter(prefix="/v1/responses", tags=["openai"])
_ID = re.compile(r"^(?:resp|msg)_(?P<session>[!-~]+)_(?P<turn>t_[0-9a-f]{16})$")
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": ResponseObject, "content": {"text/event-stream": {"itemSchema": FRAME_SCHEMA}}}
}


@router.post("", summary="A response", responses=_RESPONSES | TURN_FAULTS)
async def create(wanted: ResponseRequest, completions: CompletionsDep, streams: StreamsDep) -> Response:
    """Streams if asked to. Hanging up stops nothing: the answer is in the session."""
    wanted.refuse_unsupported()
    said = [await _to_message(completions, item) for item in wanted.items()]
    completion = await _start(completions, wanted, said)
    id = f"{completion.turn.session}_{completion.turn.id}"
    if wanted.stream:
        return EventStream(streams, _stream(completion, id, wanted), completion.headers, resumable=False)
    await completion.collect()
    whole = build_response(id, wanted, completion, "completed")
    return Response(to_json(whole.model_dump()), media_type="application/json", headers=completion.headers)


async def _start(completions: Completions, wanted: ResponseRequest, said: list[PromptMessage]) -> Completion:
    if wanted.previous_response_id is None:
        return await completions.start(build_prompt(said), wanted.model)
    session, turn = _parse_id(wanted.previous_response_id)
    messages = await _read_messages(completions, session)
    if not any(one.turn == turn for one in messages):
        raise _not_found(wanted.previous_response_id)
    prompt = build_prompt(said)
    if messages[-1].turn == turn:
        return await completions.start(prompt, wanted.model, session=session)
    end = max(index for index, one in enumerate(messages) if one.turn == turn)
    before = [_to_prompt(one.item) for one in messages[: end + 1] if isinstance(one.item, Message)]
    told = [one for one in before if one.text and one.message.role in ("user", "assistant")]
    branch = CallPrompt(earlier=(*told, *prompt.earlier), last=prompt.last)
    return await completions.start(branch, wanted.model, branch=True)


async def _to_message(completions: Completions, item: dict[str, Any]) -> PromptMessage:
    """A message of the input; one that only names an earlier answer of ours is looked up."""
    if item.get("type") != "item_reference":
        return to_prompt_message(item)
    session, turn = _parse_id(str(item.get("id")))
    found = [one.item for one in await _read_messages(completions, session) if one.turn == turn]
    texts = [text_of(one) for one in found if isinstance(one, Message) and one.role == "assistant"]
    if not texts:
        raise _not_found(str(item.get("id")))
    text = "".join(texts)
    return PromptMessage(message=assistant(text), text=text)


async def _read_messages(completions: Completions, session: str) -> list[Recorded]:
    """The messages that count. NotFound for a session that is not the caller's."""
    sessions = completions.sessions
    found = await sessions.service.messages(SessionId(session), principal=sessions.caller.principal)
    return [one for one in found if isinstance(one.item, Message) and one.item.active]


def _to_prompt(message: Message) -> PromptMessage:
    text = text_of(message)
    return PromptMessage(message=user(text) if message.role == "user" else assistant(text), text=text)


def _parse_id(id: str) -> tuple[str, str]:
    found = _ID.match(id)
    if found is None:
        raise _not_found(id)
    return found["session"], found["turn"]


def _not_found(id: str) -> NotFound:
    return NotFound(f"There is no answer {id!r}.", hint="Use the id of an answer of this server.")


async def _stream(completion: Completion, id: str, wanted: ResponseRequest) -> AsyncGenerator[bytes, None]:
    frame = _Frames()
    begun = build_response(id, wanted, completion, "in_progress").model_dump()
    yield frame("response.created", response=begun)
    yield frame("response.in_progress", response=begun)
    item = build_message(id, "", status="in_progress").model_dump() | {"content": []}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield frame("response.output_item.added", output_index=0, item=item)
    yield frame("response.content_part.added", **place, part=part)
    async for text in completion.pieces():
        yield frame("response.output_text.delta", **place, delta=text, logprobs=[])
    if completion.failure is not None:
        failed = build_response(id, wanted, completion, "failed").model_dump()
        yield frame("response.failed", response=failed)
        return
    yield frame("response.output_text.done", **place, text=completion.text, logprobs=[])
    yield frame("response.content_part.done", **place, part=part | {"text": completion.text})
    yield frame("response.output_item.done", output_index=0, item=build_message(id, completion.text).model_dump())
    yield frame("response.completed", response=build_response(id, wanted, completion, "completed").model_dump())


class _Frames:
    """Builds frames with growing numbers."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, event: str, **values: Any) -> bytes:
        body = to_json({"type": event, "sequence_number": self._number, **values})
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (event.encode(), body)
