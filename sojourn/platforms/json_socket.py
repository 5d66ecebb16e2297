"""WebSocket of JSON objects; translates connection errors."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from sojourn.core.errors import PlatformDown

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024  # bytes of one message


class JsonSocket:
    """One open connection."""

    def __init__(self, label: str, connection: ClientConnection) -> None:
        self._label, self._connection = label, connection

    async def send(self, message: Mapping[str, Any]) -> None:
        try:
            await self._connection.send(json.dumps(message))
        except (WebSocketException, OSError) as error:
            raise _to_platform_down(self._label, error) from error

    async def receive(self) -> dict[str, Any]:
        """Returns the next object; other frames are ignored."""
        while True:
            try:
                message = json.loads(await self._connection.recv())
            except ValueError:
                continue
            except (WebSocketException, OSError) as error:
                raise _to_platform_down(self._label, error) from error
            if isinstance(message, dict):
                return message


@asynccontextmanager
async def open_socket(label: str, url: str) -> AsyncGenerator[JsonSocket, None]:
    """Opens a WebSocket; `url` starts with http or https."""
    try:
        connection = await connect("ws" + url.removeprefix("http"), max_size=_MAX_MESSAGE_BYTES, close_timeout=1)
    except (WebSocketException, OSError, TimeoutError) as error:
        raise _to_platform_down(label, error) from error
    try:
        yield JsonSocket(label, connection)
    finally:
        await connection.close()


def _to_platform_down(label: str, error: Exception) -> PlatformDown:
    return PlatformDown(f"The connection to {label} is down: {str(error) or type(error).__name__}.")
