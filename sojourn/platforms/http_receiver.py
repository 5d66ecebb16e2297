"""HTTP receiver: the part that networks share which send us requests.

A network gives `read_request`, which sees the raw bytes, checks who sends them and says what they bring:

    self._receiver = HttpReceiver(app.store, NAME, settings, self._read_request, timeout_seconds=4)

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[dict[str, Any]]:
        if request.method == "GET":                                   # a handshake is answered and brings nothing
            return RequestAnswer(body=request.query.get("challenge", "").encode(), media_type="text/plain")
        if not is_equal(request.headers.get("x-signature", ""), compute(request.body)):
            raise RequestRefused("its signature does not match")      # 401; the reason is logged, the request is not
        events = read_objects(parse_request_json(request.body), "events")
        return Delivery(items=tuple((event["id"], event) for event in events), answer=RequestAnswer(body=b"{}"))

    async def listen(self):
        async with aclosing(self._receiver.receive()) as events:      # aclosing: the port is free at once
            async for event in events:
                yield await self._to_inbound(event)

The request is answered when its last item is stored: that is, when `receive` is resumed after it. If this takes longer
than `timeout_seconds`, or we stop, the answer is 503 and the network sends it again. The id of an item is what makes it
a repetition: one that was stored is not given out again, also after a restart. What comes without `items` is answered
at once. `serve` without `receive` is for a network whose requests only say that there is news; `serve` with
`read_items`, for one that is asked for what was missed once it is served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from sojourn.log_limits import RepeatFilter
from sojourn.platforms.replay_memory import ReplayMemory
from sojourn.platforms.request_checks import RequestRefused
from sojourn.platforms.shared_server import refuse_sender, serve_path
from sojourn.ports.store import RecordStore

MAX_BODY_BYTES = 1_000_000  # unless a network sends more
_MAX_UNREAD_BYTES = 32_000_000  # of all bodies together that are being read
_MAX_WAITING = 200  # items that are not stored yet
_RETRY_SECONDS = "5"
# A browser that is led to an answer, such as a file for Twilio, shows nothing of it as a page of this address.
_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'"}

T = TypeVar("T")

_log = logging.getLogger(__name__)
_log.addFilter(RepeatFilter())


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRequest:
    """A request as it came. Header names are in lower case; of a repeated field of the query, the last one counts."""

    method: str  # GET or POST
    path: str  # below the network's own: "" or "deploys"
    query: Mapping[str, str]
    raw_query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswer:
    """What the network is answered."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery(Generic[T]):
    """What an accepted request brings: items, each with an id that is the same when it is sent again."""

    items: tuple[tuple[str, T], ...] = ()
    answer: RequestAnswer = field(default_factory=RequestAnswer)
    repeated_answer: RequestAnswer | None = None  # if every item was stored before
    is_lasting: bool = False  # whether the signature is valid for ever, so that ids are remembered for ever


class ListenAddress(Protocol):
    """Where we listen; a network's settings have it."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


@dataclass(frozen=True, slots=True)
class _PendingItem(Generic[T]):
    id: str
    value: T
    is_lasting: bool
    stored: asyncio.Future[None]


class HttpReceiver(Generic[T]):
    """Receives the requests of one network on `http://host:port/<name>`, and on what is below it."""

    def __init__(
        self,
        store: RecordStore,
        name: str,
        address: ListenAddress,
        read_request: Callable[[IncomingRequest], Awaitable[RequestAnswer | Delivery[T]]],
        *,
        timeout_seconds: float,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._memory, self._name, self._host, self._port = ReplayMemory(store), name, address.host, address.port
        self._read_request, self._timeout_seconds = read_request, timeout_seconds
        self._max_body_bytes = max_body_bytes
        self._items: asyncio.Queue[_PendingItem[T]] = asyncio.Queue()
        self._futures: set[asyncio.Future[None]] = set()  # one for each item that is not stored yet
        self._unread_bytes, self._is_serving = 0, False

    async def receive(self) -> AsyncGenerator[T, None]:
        """Serves, and yields items in their order. PlatformDown if the port is taken."""
        async with self.serve(), aclosing(self.read_items()) as items:
            async for item in items:
                yield item

    async def read_items(self) -> AsyncGenerator[T, None]:
        """Yields items in their order, inside `serve`."""
        await self._memory.prune()
        while True:
            item = await self._items.get()
            if item.stored.done():  # the request timed out; the network sends it again
                continue
            yield item.value
            await self._memory.add(self._scope(item.id), is_lasting=item.is_lasting)
            if not item.stored.done():
                item.stored.set_result(None)

    @property
    def is_serving(self) -> bool:
        """Whether requests are answered now."""
        return self._is_serving

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[None, None]:
        """Answers requests while it is entered. PlatformDown if the port is taken."""
        async with serve_path(self._name, self._host, self._port, self._handle_request):
            self._is_serving = True
            try:
                yield
            finally:
                self._is_serving = False
                for future in self._futures:
                    future.cancel()

    async def _handle_request(self, request: Request, path: str) -> Response:
        try:
            body = await self._read_body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        except RequestRefused as refused:
            return _answer_error(refused)
        incoming = IncomingRequest(
            method=request.method,
            path=path,
            query=dict(request.query_params),
            raw_query=request.url.query,
            headers=request.headers,
            body=body,
        )
        try:
            found = await self._read_request(incoming)
        except RequestRefused as refused:
            _log.warning(f"{self._name}: a request was refused: {refused.reason}.")  # each is counted by itself
            return refuse_sender() if refused.status == 401 else _answer_error(refused)
        if isinstance(found, RequestAnswer):
            return _to_response(found)
        return await self._store_items(found)

    async def _read_body(self, request: Request) -> bytes:
        """RequestRefused if it is too long, or if too much is being read at once."""
        too_long = RequestRefused(f"at most {self._max_body_bytes} bytes", status=413)
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > self._max_body_bytes:
            raise too_long
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                self._unread_bytes += len(part)
                if len(body) > self._max_body_bytes:
                    raise too_long
                if self._unread_bytes > _MAX_UNREAD_BYTES:
                    raise RequestRefused("too much is being sent at once", status=503)
        finally:
            self._unread_bytes -= len(body)
        return bytes(body)

    async def _store_items(self, delivery: Delivery[T]) -> Response:
        new = [(id, value) for id, value in delivery.items if not await self._memory.has(self._scope(id))]
        if delivery.items and not new:
            return _to_response(delivery.repeated_answer or delivery.answer)
        if len(self._futures) + len(new) > _MAX_WAITING:
            return _answer_later()
        loop = asyncio.get_running_loop()
        pending = [_PendingItem(id, value, delivery.is_lasting, loop.create_future()) for id, value in new]
        futures = {one.stored for one in pending}
        self._futures |= futures
        for one in pending:
            self._items.put_nowait(one)
        if futures:
            await asyncio.wait(futures, timeout=self._timeout_seconds)
        self._futures -= futures
        is_stored = all(one.done() and not one.cancelled() for one in futures)
        for future in futures:
            future.cancel()
        return _to_response(delivery.answer) if is_stored else _answer_later()

    def _scope(self, id: str) -> str:
        """Ids of two networks are never the same. Those of `webhook` begin with a route."""
        return id if self._name == "webhook" else f"{self._name}:{id}"


def _to_response(answer: RequestAnswer) -> Response:
    return Response(answer.body, answer.status, _HEADERS, answer.media_type if answer.body else None)


def _answer_error(refused: RequestRefused) -> Response:
    return JSONResponse({"error": refused.reason}, refused.status)


def _answer_later() -> Response:
    return JSONResponse({"error": "not stored; send it again"}, 503, {"Retry-After": _RETRY_SECONDS})
