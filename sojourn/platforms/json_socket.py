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

    def __init__(self, label: str, line: ClientConnection) -> None:
        self._label, self._line = label, line

    async def send(self, words: Mapping[str, Any]) -> None:
        try:
            await self._line.send(json.dumps(words))
        except (WebSocketException, OSError) as error:
            raise _to_platform_down(self._label, error) from error

    async def receive(self) -> dict[str, Any]:
        """Returns the next object; other frames are ignored."""
        while True:
            try:
                said = json.loads(await self._line.recv())
            except ValueError:
                continue
            except (WebSocketException, OSError) as error:
                raise _to_platform_down(self._label, error) from error
            if isinstance(said, dict):
                return said


@asynccontextmanager
async def open_socket(label: str, url: str) -> AsyncGenerator[JsonSocket, None]:
    """Opens a WebSocket; `url` starts with http or https."""
    try:
        line = await connect("ws" + url.removeprefix("http"), max_size=_MAX_MESSAGE_BYTES, close_timeout=1)
    except (WebSocketException, OSError, TimeoutError) as error:
        raise _to_platform_down(label, error) from error
    try:
        yield JsonSocket(label, line)
    finally:
        await line.close()


def _to_platform_down(label: str, error: Exception) -> PlatformDown:
    return PlatformDown(f"The connection to {label} is down: {str(error) or type(error).__name__}.")
