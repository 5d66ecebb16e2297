"""WebSocket of JSON objects; translates connection errors."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from sojourn.core.errors import PlatformDown

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024


class JsonSocket:
    """One open connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, message: Mapping[str, Any]) -> None:
        await self._connection.send(json.dumps(message))

    async def close(self) -> None:
        await self._connection.close()

    async def receive(self) -> dict[str, Any]:
        """Returns the next object; other frames are ignored."""
        while True:
            frame = await self._connection.recv()
            with suppress(ValueError, RecursionError):
                message = json.loads(frame)
                if isinstance(message, dict):
                    return message


@asynccontextmanager
async def open_socket(label: str, url: str) -> AsyncGenerator[JsonSocket, None]:
    """Opens a WebSocket; `url` starts with http or https, or ws or wss. PlatformDown when it cannot be opened, or is
    lost."""
    async with open_connection(label, url) as connection:
        yield JsonSocket(connection)


@asynccontextmanager
async def open_connection(label: str, url: str) -> AsyncGenerator[ClientConnection, None]:
    """Opens a WebSocket for frames of any kind, as `open_socket` does."""
    address = "ws" + url.removeprefix("http") if url.startswith("http") else url
    try:
        async with connect(address, max_size=_MAX_MESSAGE_BYTES, close_timeout=1) as connection:
            yield connection
    except (WebSocketException, OSError, TimeoutError) as error:
        raise PlatformDown(f"The connection to {label} is down: {str(error) or type(error).__name__}.") from error
