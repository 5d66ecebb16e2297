"""A scripted model on this machine, speaking OpenAI's two protocols, Anthropic's and Google's.

    with ModelServer([Say("Hello.")]) as model:
        ...  # point a runtime at model.url, let it talk
        assert model.asked[0].roles() == ["system", "user"]

Scripts are played in order, one for each request; the last one is played again for all that follow. A script
is a list of steps, or a function of the request that gives one. Requests that do not stream (a title, a
summary) are answered by `aside` where that is set. Everything that was asked is kept in `asked`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sojourn.testing.model_script import (
    Break,
    Call,
    Garbage,
    Hang,
    ModelRequest,
    Refuse,
    Say,
    Script,
    Step,
    Think,
    Wait,
    split_text,
)
from sojourn.testing.model_wire import Anthropic, OpenAI, Wire
from sojourn.testing.model_wire_google import Google
from sojourn.testing.model_wire_responses import Responses

DEFAULT: Script = (Say("Scripted reply."),)


class _Cut(Exception):
    """Raised inside a response to make the server drop the connection."""


class ModelServer:
    """Up between `with` and its end, in a thread of its own, on a free port of this machine."""

    def __init__(self, *scripts: Script, aside: Script | None = None, models: Sequence[str] = ("scripted-1",)) -> None:
        self.asked: list[ModelRequest] = []
        self.aside = aside
        self.answers: dict[str, Any] = {  # what GET (or POST) of other addresses gives, as JSON
            "/v1/models": {"object": "list", "data": [{"id": name, "object": "model"} for name in models]}
        }
        self.statuses: dict[str, int] = {}  # with which status, where that is not 200
        self._scripts: list[Script] = list(scripts)
        self._lock = threading.Lock()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"{self.origin}/v1"  # what is called a base URL
        routes = [
            Route("/v1/chat/completions", self._openai, methods=["POST"]),
            Route("/v1/responses", self._responses, methods=["POST"]),
            Route("/v1/messages", self._anthropic, methods=["POST"]),
            Route("/{version}/models/{name}:{method}", self._google, methods=["POST"]),
            Route("/{rest:path}", self._other, methods=["GET", "POST"]),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="scripted model", daemon=True)

    def play(self, *scripts: Script) -> None:
        """From now on these scripts, and no others. What was asked so far is forgotten."""
        with self._lock:
            self._scripts = list(scripts)
            self.asked.clear()

    # running
    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def __enter__(self) -> ModelServer:
        self._thread.start()  # the socket listens already: who connects now is served as soon as the loop runs
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Nothing answers at this address any more; streams that are open break off."""
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    # answering
    def _next(self, asked: ModelRequest) -> Sequence[Step]:
        with self._lock:
            self.asked.append(asked)
            if self.aside is not None and not asked.streams:
                script = self.aside
            elif len(self._scripts) > 1:
                script = self._scripts.pop(0)
            else:
                script = self._scripts[0] if self._scripts else DEFAULT
        return script(asked) if callable(script) else script

    async def _openai(self, request: Request) -> Response:
        asked = await _parse_request(request)
        steps = self._next(asked)
        return await self._answer(asked, steps, OpenAI(asked, steps))

    async def _anthropic(self, request: Request) -> Response:
        asked = await _parse_request(request)
        steps = self._next(asked)
        return await self._answer(asked, steps, Anthropic(asked, steps))

    async def _responses(self, request: Request) -> Response:
        asked = await _parse_request(request)
        steps = self._next(asked)
        return await self._answer(asked, steps, Responses(asked, steps))

    async def _google(self, request: Request) -> Response:
        asked = await _parse_request(request, stream=request.path_params["method"] == "streamGenerateContent")
        steps = self._next(asked)
        return await self._answer(asked, steps, Google(asked, steps))

    async def _other(self, request: Request) -> Response:
        found = self.answers.get(request.url.path)
        if found is None:
            return JSONResponse({"error": {"message": "no"}}, status_code=404)
        return JSONResponse(found, status_code=self.statuses.get(request.url.path, 200))

    async def _answer(self, asked: ModelRequest, steps: Sequence[Step], wire: Wire) -> Response:
        first = steps[0] if steps else None
        if isinstance(first, Refuse):
            asked.over.set()
            refused = wire.refusal(first.status, first.message)
            return JSONResponse(refused, status_code=first.status, headers=dict(first.headers))
        if asked.streams:
            return _Streaming(self._frames(asked, steps, wire))
        for step in steps:
            await self._pause(step)
        asked.over.set()
        if garbage := [step for step in steps if isinstance(step, Garbage)]:
            return Response(garbage[0].raw or "{this is not JSON", media_type="application/json")
        return JSONResponse(wire.whole())

    async def _frames(self, asked: ModelRequest, steps: Sequence[Step], wire: Wire) -> AsyncGenerator[str, None]:
        """Every piece is sent on its own. Closing this early means that the caller has gone."""
        try:
            for frame in wire.begin():
                yield frame
            calls = 0
            for step in steps:
                await self._pause(step)
                if isinstance(step, Say):
                    for piece in split_text(step):
                        for frame in wire.text(piece):
                            yield frame
                        await asyncio.sleep(step.pause)
                    continue
                for frame in _to_frames(step, wire, calls):
                    yield frame
                calls += isinstance(step, Call)
            for frame in wire.end():
                yield frame
            asked.over.set()
        except (asyncio.CancelledError, GeneratorExit):
            asked.gone.set()
            raise
        finally:
            asked.over.set()

    async def _pause(self, step: Step) -> None:
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Hang):
            await asyncio.sleep(3600)
        elif isinstance(step, Break):
            raise _Cut


class _Streaming(StreamingResponse):
    """Closes its frames when the caller has gone, wherever it was then."""

    def __init__(self, frames: AsyncGenerator[str, None]) -> None:
        super().__init__(frames, media_type="text/event-stream")
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._frames):
            await super().__call__(scope, receive, send)


def _to_frames(step: Step, wire: Wire, calls: int) -> list[str]:
    if isinstance(step, Think):
        return list(wire.thought(step))
    if isinstance(step, Call):
        return list(wire.call(step, calls))
    return [step.raw or wire.garbage] if isinstance(step, Garbage) else []


async def _parse_request(request: Request, **more: Any) -> ModelRequest:
    headers: Mapping[str, str] = {name.lower(): value for name, value in request.headers.items()}
    raw = await request.body()
    return ModelRequest(path=request.url.path, headers=headers, body={**json.loads(raw), **more}, raw=raw)
