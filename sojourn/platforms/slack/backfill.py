"""Backfill: reads messages missed while disconnected, from the channels and the threads of earlier messages.

Slack itself repeats unacknowledged envelopes only for some minutes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sojourn.platforms.cursor import ReceivedCursor
from sojourn.platforms.slack.errors import classify_refusal, error_code, retry_after
from sojourn.platforms.slack.messages import build_message_id

_OVERLAP_MICROSECONDS = 5_000_000  # five seconds
_MAX_THREADS = 30  # the most recently active ones
_PAGE_ROWS = 200
_KINDS = ("im", "mpim", "public_channel", "private_channel")

logger = logging.getLogger(__name__)


def to_microseconds(ts: str) -> int:
    """Converts a message's timestamp, like `1700000000.000100`."""
    return int(ts.replace(".", ""))


def _to_timestamp(moment: int) -> str:
    return f"{moment // 1_000_000}.{moment % 1_000_000:06}"


async def fetch_missed(web: AsyncWebClient, cursor: ReceivedCursor) -> list[dict[str, Any]]:
    """Fetches events newer than the cursor, oldest first."""
    oldest, found = _to_timestamp(cursor.since(_OVERLAP_MICROSECONDS)), dict[str, dict[str, Any]]()
    threads = [one for one in cursor.places if "/" in one][-_MAX_THREADS:]
    for channel in await _list_channels(web, cursor):
        for event in await _fetch_pages(web, "conversations.history", channel=channel, oldest=oldest):
            found[build_message_id(channel, event["ts"])] = event | {"channel": channel}
            if event.get("reply_count"):
                threads.append(build_message_id(channel, event["ts"]))
    for thread in dict.fromkeys(threads):
        channel, _, ts = thread.partition("/")
        for event in await _fetch_pages(web, "conversations.replies", channel=channel, ts=ts, oldest=oldest):
            found[build_message_id(channel, event["ts"])] = event | {"channel": channel}
    new = [event for id, event in found.items() if not cursor.contains(id) and event["ts"] > oldest]
    return sorted(new, key=lambda event: to_microseconds(event["ts"]))


async def _list_channels(web: AsyncWebClient, cursor: ReceivedCursor) -> list[str]:
    """The channels the app is in; if it may not list them, those of earlier messages."""
    channels = [one.partition("/")[0] for one in cursor.places]
    for kind in _KINDS:
        rows = await _fetch_pages(web, "users.conversations", "channels", types=kind, exclude_archived="true")
        channels += [str(one["id"]) for one in rows]
    return list(dict.fromkeys(channels))


async def _fetch_pages(web: AsyncWebClient, method: str, name: str = "messages", **given: str) -> list[dict[str, Any]]:
    """Fetches all pages; nothing where the app has no access."""
    found, cursor = list[dict[str, Any]](), ""
    while True:
        params = given | {"limit": str(_PAGE_ROWS)} | ({"cursor": cursor} if cursor else {})
        try:
            page: Mapping[str, Any] = (await web.api_call(method, http_verb="GET", params=params)).data  # type: ignore[assignment]
        except SlackApiError as error:
            if classify_refusal(error) == "rate_limited":
                await asyncio.sleep(retry_after(error) or 1.0)
                continue
            if classify_refusal(error) not in ("forbidden", "not_found"):
                raise
            logger.info("missed messages cannot be read (%s %s): %s", method, given, error_code(error))
            return found
        found += page.get(name) or []
        cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
        if not cursor:
            return found
