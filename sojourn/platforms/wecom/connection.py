"""WeCom connection: subscription, heartbeat, and requests that are answered under their own id."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.json_values import parse_object, read_object, read_text, to_json
from sojourn.platforms.result_codes import ResultCodes
from sojourn.platforms.wecom import SECRET_VARIABLE, WecomSettings

UNKNOWN_REQUEST_CODE, STREAM_OVER_CODE = 846605, 846608
_NOT_SUBSCRIBED_CODE = 846609
_REPLY_TIMEOUT_SECONDS = 10.0
_HEARTBEAT_SECONDS = 30.0
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_MAX_WAITING = 1000  # callbacks
_CODES = ResultCodes(
    label="WeCom",
    key=SECRET_VARIABLE,
    code_field="errcode",
    message_field="errmsg",
    kinds={
        45009: "rate_limited",
        40008: "bad_format",
        40035: "bad_format",
        45002: "too_long",
        48002: "forbidden",
        60011: "forbidden",
        UNKNOWN_REQUEST_CODE: "forbidden",
        STREAM_OVER_CODE: "forbidden",
        -1: "transient",
    },
)


class WecomConnection:
    """One connection. `callbacks` gets what people do, and None at its end. WeCom allows one for each bot."""

    def __init__(self, settings: WecomSettings, socket: ClientConnection) -> None:
        self._settings, self._socket = settings, socket
        self.callbacks: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(_MAX_WAITING)
        self.is_replaced = False  # another connection of this bot took over
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._reply_lock = asyncio.Lock()  # WeCom takes answers to one message one after the other
        self._tasks = (asyncio.create_task(self._read()), asyncio.create_task(self._beat()))

    @classmethod
    async def open(cls, settings: WecomSettings) -> Self:
        """Connects and subscribes. PlatformDown, KeyRefused."""
        try:
            socket = await connect(settings.ws_url, max_size=_MAX_MESSAGE_BYTES, close_timeout=1, ping_interval=None)
        except (WebSocketException, OSError, TimeoutError) as error:
            raise PlatformDown(f"WeCom does not answer: {str(error) or type(error).__name__}.") from error
        connection = cls(settings, socket)
        try:
            body = {"bot_id": settings.bot_id, "secret": settings.secret.reveal()}
            await connection.request("aibot_subscribe", body)
        except SendRefused as error:
            await connection.close()
            if error.kind in ("rate_limited", "transient"):
                raise PlatformDown(str(error)) from error
            raise KeyRefused(f"WeCom refuses the bot. {error}", hint=f"Correct {SECRET_VARIABLE}.") from error
        except PlatformDown:
            await connection.close()
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return not self._tasks[0].done()

    async def request(self, command: str, body: Mapping[str, Any] | None, *, reply_to: str = "") -> dict[str, Any]:
        """Sends a request, or the answer to a callback, and gives the body of what comes back. SendRefused."""
        id = reply_to or f"{command}_{uuid.uuid4().hex}"
        frame: dict[str, Any] = {"cmd": command, "headers": {"req_id": id}}
        frame |= {"body": dict(body)} if body is not None else {}
        async with self._reply_lock:
            reply = self._replies[id] = asyncio.get_running_loop().create_future()
            try:
                await self._socket.send(to_json(frame))
                async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                    document = await reply
            except (ConnectionClosed, TimeoutError) as error:
                raise PlatformDown("WeCom does not answer.") from error
            finally:
                self._replies.pop(id, None)
        if document.get("errcode") == _NOT_SUBSCRIBED_CODE:
            raise PlatformDown("WeCom has forgotten the subscription.")
        return read_object(_CODES.check(document), "body")

    async def _read(self) -> None:
        try:
            async for message in self._socket:
                frame = parse_object(message)
                id = read_text(read_object(frame, "headers"), "req_id")
                if "errcode" in frame:
                    reply = self._replies.get(id)
                    if reply is not None and not reply.done():
                        reply.set_result(frame)
                elif _is_replacement(frame):
                    self.is_replaced = True
                    return
                elif not self.callbacks.full():
                    self.callbacks.put_nowait(frame)
        except ConnectionClosed:
            pass
        finally:
            for reply in self._replies.values():
                if not reply.done():
                    reply.set_exception(PlatformDown("The connection to WeCom was lost."))
            if self.callbacks.full():
                self.callbacks.get_nowait()
            self.callbacks.put_nowait(None)

    async def _beat(self) -> None:
        """A heartbeat has no body; without an answer the connection is dead."""
        try:
            while True:
                await asyncio.sleep(_HEARTBEAT_SECONDS)
                await self.request("ping", None)
        except (PlatformDown, SendRefused):
            await self._socket.close()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(WebSocketException, OSError):
            await self._socket.close()


def _is_replacement(frame: Mapping[str, Any]) -> bool:
    event = read_object(read_object(frame, "body"), "event")
    return frame.get("cmd") == "aibot_event_callback" and event.get("eventtype") == "disconnected_event"
