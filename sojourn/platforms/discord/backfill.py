"""Backfill: reads messages missed while disconnected, when the gateway session can no longer be resumed."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

import discord

from sojourn.platforms.cursor import ReceivedCursor
from sojourn.platforms.discord.gateway_client import GatewayClient

_OVERLAP_IDS = 5_000 << 22  # five seconds, in ids

logger = logging.getLogger(__name__)


def current_snowflake() -> int:
    """Returns the snowflake id of now; ids encode time."""
    return discord.utils.time_snowflake(discord.utils.utcnow())


async def fetch_missed(client: GatewayClient, heard: ReceivedCursor) -> list[discord.Message]:
    """Fetches newer messages, oldest first: of channels, open threads, and known private chats (which Discord does
    not list)."""
    since, found = heard.since(_OVERLAP_IDS), list[discord.Message]()
    with client.wait_for_rate_limit():  # a restart would have to read as much
        async for channel in _iter_changed_channels(client, since):
            found += await _fetch_newer(channel, since)
        for chat in heard.places:
            found += await _fetch_newer(client.get_partial_messageable(int(chat)), since)
    return sorted((one for one in found if not heard.contains(str(one.id))), key=lambda one: one.id)


async def _iter_changed_channels(client: discord.Client, since: int) -> AsyncGenerator[discord.abc.Messageable, None]:
    """Yields channels and threads with new messages."""
    async for guild in client.fetch_guilds(limit=None, with_counts=False):
        for channel in [*await guild.fetch_channels(), *await guild.active_threads()]:
            if isinstance(channel, discord.abc.Messageable) and (getattr(channel, "last_message_id", 0) or 0) > since:
                yield channel


async def _fetch_newer(channel: discord.abc.Messageable, since: int) -> list[discord.Message]:
    try:
        history = channel.history(limit=None, after=discord.Object(since), oldest_first=True)
        return [message async for message in history]
    except (discord.Forbidden, discord.NotFound) as error:
        logger.info("what was missed in %s cannot be read: %s", channel, error.text)
        return []
