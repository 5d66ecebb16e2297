"""`/v1/chat/completions` and `/v1/models`: the same agents for programs that speak OpenAI's API.

A call is a turn in a session: the one whose transcript it sends, or a new one. `Sojourn-Session` (or
`X-Sojourn-Session`) names a session, and then only the last message counts, since the session knows the rest. Tools
that a caller brings are refused: the agent has its own. Nobody can answer a question here: what asks is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from pydantic_core import to_json

from sojourn.core.errors import NotFound
from sojourn.http.completion_turn import DEFAULT, Completion, CompletionsDep, model_ids
from sojourn.http.dependencies import ServiceDep, StreamsDep, problem_responses
from sojourn.http.json_safe import replace_surrogates
from sojourn.http.openai_schemas import (
    ChatCompletion,
    CompletionRequest,
    OpenAIModel,
    OpenAIModelList,
    build_chunk,
    build_completion,
    usage_of,
)
from sojourn.http.problems import to_openai_error
from sojourn.http.sse import FRAME_SCHEMA, EventStream
from sojourn.http.turns import TURN_FAULTS

router = APIRouter(prefix="/v1", tags=["openai"])
SessionName = Annotated[str | None, Header(max_length=255, pattern=r"^[!-~]*$", description="Continue this session.")]
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": ChatCompletion, "content": {"text/event-stream": {"itemSchema": FRAME_SCHEMA}}}
}


@router.get("/models", summary="Runtimes and their models")
async def models(service: ServiceDep) -> OpenAIModelList:
    known = [one for one in await service.runtimes() if one.offered]
    names = [(DEFAULT, "sojourn")] if any(one.default for one in known) else []
    names += [(replace_surrogates(name), one.name) for one in known if one.ok for name in model_ids(one)]
    made = [OpenAIModel(id=name, owned_by=owner, display_name=name) for name, owner in names]
    first, last = (made[0].id, made[-1].id) if made else (None, None)
    return OpenAIModelList(data=made, first_id=first, last_id=last)


@router.get("/models/{id:path}", summary="One model", responses=problem_responses(404))
async def model(id: str, service: ServiceDep) -> OpenAIModel:
    listed = (await models(service)).data
    found = next((one for one in listed if one.id == id), None)
    if found is None:
        raise NotFound(f"There is no model {id!r}.", hint=f"There are: {', '.join(one.id for one in listed[:10])}.")
    return found


@router.post("/chat/completions", summary="A chat completion", responses=_RESPONSES | TURN_FAULTS)
async def complete(
    wanted: CompletionRequest,
    completions: CompletionsDep,
    streams: StreamsDep,
    sojourn_session: SessionName = None,
    x_sojourn_session: SessionName = None,
) -> Response:
    """Streams if asked to. Hanging up stops nothing: the answer is in the session."""
    session = sojourn_session or x_sojourn_session
    completion = await completions.start(wanted.to_prompt(), wanted.model, session=session)
    if wanted.stream:
        with_usage = bool(wanted.stream_options and wanted.stream_options.include_usage)
        frames = _stream_chunks(completion, wanted.model, with_usage=with_usage)
        return EventStream(streams, frames, completion.headers, resumable=False)
    await completion.collect()
    whole = build_completion(wanted.model, completion)
    return Response(to_json(whole.model_dump()), media_type="application/json", headers=completion.headers)


async def _stream_chunks(completion: Completion, model: str, *, with_usage: bool) -> AsyncGenerator[bytes, None]:
    now, turn = int(time.time()), completion.turn.id
    yield _data_frame(build_chunk(turn, model, now, {"role": "assistant", "content": ""}))
    async for text in completion.pieces():
        yield _data_frame(build_chunk(turn, model, now, {"content": text}))
    if completion.failure is not None:
        yield _data_frame(json.loads(to_openai_error(completion.failure)))
    if completion.done.status != "failed":
        yield _data_frame(build_chunk(turn, model, now, {}, finish="stop"))
    if with_usage:
        yield _data_frame({**build_chunk(turn, model, now, None), "usage": usage_of(completion).model_dump()})
    yield b"data: [DONE]\n\n"


def _data_frame(values: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % to_json(values)
