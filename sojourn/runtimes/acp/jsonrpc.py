"""JSON-RPC 2.0, one message a line, with a program at the other end that may write anything.

The client of the protocol's own SDK ends the whole connection at the first line that is JSON but no object, and
waits for ever when it writes to a program that is gone. Programs do print a stray line now and then; here such
lines are passed over, and everything still waiting is told when the other end has gone.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from sojourn.core.messages import Json

logger = logging.getLogger(__name__)

METHOD_NOT_FOUND, INTERNAL = -32601, -32603
_MOST_STRANGE = 200  # lines without a single message among them: this is another protocol, or none

Params = dict[str, Json]
Noted = Callable[[str, Params], None]
Asked = Callable[[str, Params], Awaitable[Json]]


class RpcError(Exception):
    """The other end says no."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    @property
    def words(self) -> str:
        """Its message, and what it says in detail."""
        detail = self.data.get("details") or self.data.get("message") if isinstance(self.data, dict) else self.data
        return f"{self.message}: {detail}" if isinstance(detail, str) and detail else self.message


class ConnectionClosed(Exception):
    """Nobody is at the other end any more, or nobody who speaks this protocol."""


class JsonRpcConnection:
    """Both directions of one connection. `noted` hears notifications in order, `asked` answers requests."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, noted: Noted, asked: Asked
    ) -> None:
        self._reader, self._writer, self._noted, self._asked = reader, writer, noted, asked
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._understood, self._strange, self._last_id = 0, 0, 0
        self.gone = ""  # why nothing more comes
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, params: Params) -> Json:
        """Its answer. RpcError, ConnectionClosed."""
        if self.gone:
            raise ConnectionClosed(self.gone)
        self._last_id += 1
        number, answer = self._last_id, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._write({"id": number, "method": method, "params": params})
            return await answer
        finally:
            self._waiting.pop(number, None)

    def note(self, method: str, params: Params) -> None:
        self._write({"method": method, "params": params})

    def _write(self, message: Params) -> None:
        """Not waited for: a program that reads nothing must not hold us up, and what we write is small."""
        if not self.gone:
            self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        why = "it closed its output"
        try:
            while line := await self._reader.readline():
                self._take(line)
                if not self._understood and self._strange > _MOST_STRANGE:
                    why = "it does not speak the Agent Client Protocol"
                    break
        except ValueError:  # how a StreamReader says that a line is longer than it takes
            why = "it sent a line without end"
        except OSError as error:
            why = str(error)
        finally:
            self._end(why)

    def _end(self, why: str) -> None:
        self.gone = self.gone or why
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed(self.gone))

    def _take(self, line: bytes) -> None:
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not ("method" in message or "id" in message):
            if line.strip():
                self._strange += 1
                logger.debug("a line that is no message: %.200r", line)
            return
        self._understood += 1
        if "method" not in message:
            self._answered(message)
            return
        method, params = str(message["method"]), message.get("params")
        given = params if isinstance(params, dict) else {}
        if "id" not in message:
            self._noted(method, given)
            return
        task = asyncio.create_task(self._answer(message["id"], method, given))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _answered(self, message: Params) -> None:
        number = message["id"]
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
            return
        told = error if isinstance(error, dict) else {"message": str(error)}
        code = told.get("code")
        answer.set_exception(
            RpcError(code if isinstance(code, int) else INTERNAL, str(told.get("message") or "error"), told.get("data"))
        )

    async def _answer(self, number: Json, method: str, params: Params) -> None:
        try:
            self._write({"id": number, "result": await self._asked(method, params)})
        except RpcError as error:
            self._write({"id": number, "error": {"code": error.code, "message": error.message}})

    async def close(self) -> None:
        self._end("it was closed")
        for task in (self._reading, *self._answering):
            task.cancel()
        await asyncio.wait({self._reading, *self._answering})
