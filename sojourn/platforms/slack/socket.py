"""Socket Mode connection; reconnecting is left to our gateway instead of the library."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import aiohttp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

_CLOSE_TIMEOUT_SECONDS = 1.5

logger = logging.getLogger(__name__)


class SocketModeConnection(SocketModeClient):
    """One connection. Requests are queued in order; None marks its end: it was lost, or Slack asks for a new one."""

    def __init__(self, app_token: str, web: AsyncWebClient) -> None:
        super().__init__(app_token, web_client=web, logger=logger, ping_interval=3)
        self._requests: asyncio.Queue[SocketModeRequest | None] = asyncio.Queue()
        self.is_refreshed = False  # Slack asked for a new connection, as it does every few hours
        self.socket_mode_request_listeners.append(self._enqueue)

    async def open(self, seconds: float) -> None:
        """Connects. SlackApiError, TimeoutError."""
        async with asyncio.timeout(seconds):
            self.wss_uri = await self.issue_new_wss_url()  # connect() itself would retry a wrong token forever
            await self.connect()  # type: ignore[no-untyped-call]

    async def next(self) -> SocketModeRequest | None:
        return await self._requests.get()

    async def acknowledge(self, request: SocketModeRequest) -> None:
        """ConnectionError if the connection is lost."""
        await self.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    async def terminate(self) -> None:
        """Closes the connection and its tasks in any state; the library's close() stops at its first error."""
        try:
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
                    await self.close()  # type: ignore[no-untyped-call]
        finally:
            tasks = [self.message_processor, self.current_session_monitor, self.message_receiver]
            for task in filter(None, tasks):
                task.cancel()
            await asyncio.gather(*filter(None, tasks), return_exceptions=True)
            await self.aiohttp_client_session.close()

    async def connect_to_new_endpoint(self, force: bool = False) -> Any:
        """The library calls this when the connection is lost; with `force` when Slack asks for a new one."""
        self.is_refreshed = self.is_refreshed or force
        self._requests.put_nowait(None)

    async def _enqueue(self, _: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self._requests.put_nowait(request)
