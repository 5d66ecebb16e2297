"""JSON-RPC 2.0 over standard input and output, one message per line; tolerates lines that are not messages.

The client of the Agent Client Protocol's own SDK closes the connection at the first line that is JSON but not an
object, and waits for ever when it writes to a program that has exited. This one skips stray lines, and every pending
call fails when the program exits.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from sojourn.core.errors import RuntimeFailed, RuntimeUnreachable
from sojourn.core.messages import Json

logger = logging.getLogger(__name__)

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32601, -32602, -32603  # JSON-RPC error codes
_MAX_STRAY_LINES = 200  # without a single message: the program speaks another protocol

Params = dict[str, Json]
OnNotification = Callable[[str, Params], None]
OnRequest = Callable[[str, Params], Awaitable[Json]]


def as_object(value: Json) -> Params:
    """Returns the value if it is an object; an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def list_objects(value: Json) -> list[Params]:
    """Returns the objects of a list; none if the value is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class LineWriter(Protocol):
    """What messages are written to; an asyncio.StreamWriter is one."""

    def write(self, data: bytes, /) -> None: ...


class RpcError(RuntimeFailed):
    """The program answered a call with an error: the message and details of its response, and its JSON-RPC code."""

    def __init__(self, rpc_code: int, message: str, data: Json = None) -> None:
        detail = data.get("details") or data.get("message") if isinstance(data, dict) else data
        super().__init__(f"{message}: {detail}" if isinstance(detail, str) and detail else message)
        self.rpc_code = rpc_code


class ConnectionClosed(RuntimeUnreachable):
    """The program has exited, or does not speak this protocol."""


class JsonRpcConnection:
    """Both directions of one connection.

    on_notification: called with each notification, in order
    on_request: returns the result for a request of the program
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: LineWriter,
        *,
        on_notification: OnNotification,
        on_request: OnRequest,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._on_notification, self._on_request = on_notification, on_request
        self._pending: dict[int, asyncio.Future[Json]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._messages, self._stray_lines, self._last_id = 0, 0, 0
        self.closed_because = ""  # the reason, once the connection is closed
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, params: Params) -> Json:
        """Sends a request and returns its result. RpcError, ConnectionClosed."""
        if self.closed_because:
            raise ConnectionClosed(self.closed_because)
        self._last_id += 1
        number, answer = self._last_id, asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            self._write({"id": number, "method": method, "params": params})
            return await answer
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: Params) -> None:
        self._write({"method": method, "params": params})

    def _write(self, message: Params) -> None:
        """Writes without waiting for the program to read: messages are small, and a stuck program must not block us."""
        if not self.closed_because:
            self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        why = "it closed its standard output"
        try:
            while line := await self._reader.readline():
                self._handle_line(line)
                if not self._messages and self._stray_lines > _MAX_STRAY_LINES:
                    why = "it does not speak the Agent Client Protocol"
                    break
        except ValueError:  # raised by StreamReader for a line over its limit
            why = "it sent a line that is too long"
        except OSError as error:
            why = str(error)
        finally:
            self._fail_pending(why)

    def _fail_pending(self, why: str) -> None:
        self.closed_because = self.closed_because or why
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed(self.closed_because))

    def _handle_line(self, line: bytes) -> None:
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not ("method" in message or "id" in message):
            if line.strip():
                self._stray_lines += 1
                logger.debug("skipped a line that is not a message: %.200r", line)
            return
        self._messages += 1
        if "method" not in message:
            self._resolve_call(message)
            return
        method, params = str(message["method"]), as_object(message.get("params"))
        if "id" not in message:
            self._on_notification(method, params)
            return
        task = asyncio.create_task(self._handle_request(message["id"], method, params))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _resolve_call(self, message: Params) -> None:
        number = message["id"]
        answer = self._pending.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        details = error if isinstance(error, dict) else {"message": str(error)}
        code, text = details.get("code"), str(details.get("message") or "error")
        answer.set_exception(RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text, details.get("data")))

    async def _handle_request(self, number: Json, method: str, params: Params) -> None:
        try:
            self._write({"id": number, "result": await self._on_request(method, params)})
        except RpcError as error:
            self._write({"id": number, "error": {"code": error.rpc_code, "message": str(error)}})

    async def wait_closed(self) -> None:
        """Returns when the other side has closed its end."""
        await asyncio.wait({self._reading})

    async def close(self) -> None:
        self._fail_pending("it was closed")
        for task in (self._reading, *self._answering):
            task.cancel()
        await asyncio.wait({self._reading, *self._answering})
