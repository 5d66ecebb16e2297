"""Slack's line: Socket Mode, without its habit of connecting again by itself."""

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

_CLOSE_TIMEOUT_SECONDS = 1.5  # seconds

logger = logging.getLogger(__name__)


class SocketModeConnection(SocketModeClient):
    """One connection. What comes in waits in order; when the line is lost, or Slack wants a fresh one, that is told
    instead of a message."""

    def __init__(self, app_token: str, web: AsyncWebClient) -> None:
        super().__init__(app_token, web_client=web, logger=logger, ping_interval=3)
        self._waiting: asyncio.Queue[SocketModeRequest | None] = asyncio.Queue()
        self.is_refreshed = False  # Slack asked for a new connection, as it does every few hours
        self.socket_mode_request_listeners.append(self._keep)

    async def open(self, seconds: float) -> None:
        """SlackApiError, TimeoutError."""
        async with asyncio.timeout(seconds):
            self.wss_uri = await self.issue_new_wss_url()  # here: inside connect a wrong token is tried for ever
            await self.connect()  # type: ignore[no-untyped-call]

    async def next(self) -> SocketModeRequest | None:
        return await self._waiting.get()

    async def acknowledge(self, request: SocketModeRequest) -> None:
        """ConnectionError if the line is gone."""
        await self.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))

    async def shut(self) -> None:
        """Whatever state the line is in: the library's own way ends at the first thing that fails."""
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
        """Called by the library when it finds the line lost; with `force` when Slack asks for it."""
        self.is_refreshed = self.is_refreshed or force
        self._waiting.put_nowait(None)

    async def _keep(self, _: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self._waiting.put_nowait(request)
