"""What was written while nobody listened and Discord no longer remembers our line: it is looked up in the channels."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator

import discord

from sojourn.platforms.cursor import ReceivedCursor
from sojourn.platforms.discord.gateway_client import GatewayClient

_OVERLAP_IDS = 5_000 << 22  # five seconds, in ids

logger = logging.getLogger(__name__)


def current_snowflake() -> int:
    """An id of this moment: ids tell the time."""
    return discord.utils.time_snowflake(discord.utils.utcnow())


async def fetch_missed(client: GatewayClient, heard: ReceivedCursor) -> list[discord.Message]:
    """What is newer than what was heard, oldest first: in channels, in their open threads, and in private chats in
    which something was heard before (Discord lists those to nobody)."""
    since, found = heard.since(_OVERLAP_IDS), list[discord.Message]()
    with client.wait_for_rate_limit():  # there may be much to read, and beginning anew would not make it less
        async for channel in _iter_changed_channels(client, since):
            found += await _fetch_newer(channel, since)
        for chat in heard.places:
            found += await _fetch_newer(client.get_partial_messageable(int(chat)), since)
    return sorted((one for one in found if not heard.has(str(one.id))), key=lambda one: one.id)


async def _iter_changed_channels(client: discord.Client, since: int) -> AsyncGenerator[discord.abc.Messageable, None]:
    """Those in which something new stands."""
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
