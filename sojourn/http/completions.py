"""`/v1`: the same agents for programs that speak OpenAI's API.

A call is a turn in a session. `Sojourn-Session` (or `X-Sojourn-Session`) continues one, and then only the last message
counts, since the session knows the rest. Without it a new session begins whose earlier messages are those of the call.
Tools a caller brings are passed over: the agent has its own. Nobody can answer a question here: what asks is refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from pydantic_core import to_json

from sojourn.core.errors import NotFound, RuntimeFailed, SojournError, error_class, error_from_code
from sojourn.core.events import Chunk, Done, Failed, Yielded
from sojourn.core.sessions import SessionId
from sojourn.http.chat import filter_turn
from sojourn.http.dependencies import ActivityDep, CallerDep, ServiceDep, StoreDep, StreamsDep
from sojourn.http.json_safe import replace_surrogates
from sojourn.http.openai_schemas import (
    Completion,
    CompletionInput,
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
from sojourn.ports.service import Caller, RuntimeInfo, Service, Turn, TurnRequest
from sojourn.ports.store import SessionStore

router = APIRouter(prefix="/v1", tags=["openai"])
DEFAULT = "default"
SessionName = Annotated[str | None, Header(max_length=255, pattern=r"^[!-~]*$", description="Continue this session.")]
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": Completion, "content": {"text/event-stream": {"itemSchema": FRAME_SCHEMA}}}
}


def model_ids(found: RuntimeInfo) -> list[str]:
    """`offline`, and `native/<model>` for each model a runtime has."""
    return [found.name, *(f"{found.name}/{model}" for model in found.models)]


@router.get("/models", summary="Runtimes and their models")
async def models(service: ServiceDep) -> OpenAIModelList:
    known = await service.runtimes()
    made = [OpenAIModel(id=DEFAULT, owned_by="sojourn")] if any(one.default for one in known) else []
    made += [
        OpenAIModel(id=replace_surrogates(name), owned_by=one.name)
        for one in known
        if one.ok
        for name in model_ids(one)
    ]
    return OpenAIModelList(data=made)


@router.post("/chat/completions", summary="A chat completion", responses=_RESPONSES | TURN_FAULTS)
async def complete(
    wanted: CompletionRequest,
    service: ServiceDep,
    store: StoreDep,
    caller: CallerDep,
    streams: StreamsDep,
    activity: ActivityDep,
    sojourn_session: SessionName = None,
    x_sojourn_session: SessionName = None,
) -> Response:
    """Streams if asked to. Hanging up stops nothing: the answer is in the session."""
    parsed = wanted.to_input()
    runtime, model = await _parse_model(service, wanted.model)
    session = await _open_session(service, store, caller, sojourn_session or x_sojourn_session, parsed, runtime, model)
    files = [await service.attach(session, one.data, media_type=one.media_type, name=one.name) for one in parsed.files]
    turn = await service.say(
        session,
        TurnRequest(text=parsed.text, attachments=tuple(files), runtime=runtime, model=model, attended=False),
        caller,
    )
    activity.add_session(session)
    items = _watch_items(service, turn, caller)
    names = {"Sojourn-Session": session, "X-Sojourn-Session": session, "Sojourn-Turn": turn.id}
    if wanted.stream:
        with_usage = bool(wanted.stream_options and wanted.stream_options.include_usage)
        return EventStream(
            streams, _stream_chunks(turn, wanted.model, items, with_usage=with_usage), names, resumable=False
        )
    whole = await _collect(turn, wanted.model, items)
    return Response(to_json(whole.model_dump()), media_type="application/json", headers=names)


async def _parse_model(service: Service, name: str) -> tuple[str, str]:
    """The runtime and model an id stands for; both empty for the default."""
    if name == DEFAULT:
        return "", ""
    runtime, _, model = name.partition("/")
    known = {one.name: one for one in await service.runtimes()}
    if runtime not in known:
        raise NotFound(f"There is no model {name!r}.", hint=f"Use one of /v1/models: {', '.join([DEFAULT, *known])}.")
    return runtime, model


async def _open_session(
    service: Service,
    store: SessionStore,
    caller: Caller,
    name: str | None,
    parsed: CompletionInput,
    runtime: str,
    model: str,
) -> SessionId:
    if name:
        return (await service.get(SessionId(name), principal=caller.principal)).id
    opened = await service.open(caller, model=model or None, runtime=runtime)
    if parsed.earlier:
        lease = await store.lease(opened.id, holder=caller.holder, surface=caller.surface)
        await store.append(lease, parsed.earlier)
        await store.renew(lease, 0)
    return opened.id


async def _watch_items(service: Service, turn: Turn, caller: Caller) -> AsyncGenerator[Yielded, None]:
    log = service.watch(turn.session, after=turn.after, principal=caller.principal)
    async for recorded in filter_turn(turn, log):
        yield recorded.item


async def _collect(turn: Turn, model: str, items: AsyncGenerator[Yielded, None]) -> Completion:
    text: list[str] = []
    failure: Failed | None = None
    done = Done(status="interrupted")
    async for item in items:
        if isinstance(item, Chunk):
            text.append(item.text)
        elif isinstance(item, Failed):
            failure = item
        elif isinstance(item, Done):
            done = item
    if failure is not None:
        raise _to_error(failure)
    return build_completion(turn.id, model, replace_surrogates("".join(text)), done)


def _to_error(failure: Failed) -> SojournError:
    """The error a turn ended with, as this answer's own."""
    if error_class(failure.code) is SojournError:
        return RuntimeFailed(failure.message, hint=failure.hint)
    return error_from_code(failure.code, failure.message, hint=failure.hint)


async def _stream_chunks(
    turn: Turn, model: str, items: AsyncGenerator[Yielded, None], *, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    now = int(time.time())
    yield _data_frame(build_chunk(turn.id, model, now, {"role": "assistant", "content": ""}))
    async for item in items:
        if isinstance(item, Chunk):
            yield _data_frame(build_chunk(turn.id, model, now, {"content": replace_surrogates(item.text)}))
        elif isinstance(item, Failed):
            yield _data_frame(json.loads(to_openai_error(_to_error(item))))
        elif isinstance(item, Done):
            if item.status != "failed":
                yield _data_frame(build_chunk(turn.id, model, now, {}, finish="stop"))
            if with_usage:
                yield _data_frame({**build_chunk(turn.id, model, now, None), "usage": usage_of(item).model_dump()})
    yield b"data: [DONE]\n\n"


def _data_frame(values: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % to_json(values)
