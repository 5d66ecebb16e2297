"""What was written while nobody listened. Slack sends again what was not acknowledged, but gives up after some minutes:
what is older is looked up in the channels, and in the threads in which something was heard."""

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
_MAX_THREADS = 30  # the last ones in which something was heard
_PAGE_SIZE = 200
_KINDS = ("im", "mpim", "public_channel", "private_channel")

logger = logging.getLogger(__name__)


def to_microseconds(ts: str) -> int:
    """A message's time as a number that grows: `1700000000.000100`."""
    return int(ts.replace(".", ""))


def _to_timestamp(moment: int) -> str:
    return f"{moment // 1_000_000}.{moment % 1_000_000:06}"


async def fetch_missed(web: AsyncWebClient, heard: ReceivedCursor) -> list[dict[str, Any]]:
    """Events that are newer than what was heard, oldest first."""
    oldest, found = _to_timestamp(heard.since(_OVERLAP_MICROSECONDS)), dict[str, dict[str, Any]]()
    threads = [one for one in heard.places if "/" in one][-_MAX_THREADS:]
    for channel in await _list_channels(web, heard):
        for event in await _fetch_pages(web, "conversations.history", channel=channel, oldest=oldest):
            found[build_message_id(channel, event["ts"])] = event | {"channel": channel}
            if event.get("reply_count"):
                threads.append(build_message_id(channel, event["ts"]))
    for thread in dict.fromkeys(threads):
        channel, _, ts = thread.partition("/")
        for event in await _fetch_pages(web, "conversations.replies", channel=channel, ts=ts, oldest=oldest):
            found[build_message_id(channel, event["ts"])] = event | {"channel": channel}
    new = [event for id, event in found.items() if not heard.contains(id) and event["ts"] > oldest]
    return sorted(new, key=lambda event: to_microseconds(event["ts"]))


async def _list_channels(web: AsyncWebClient, heard: ReceivedCursor) -> list[str]:
    """Those the app is in, or, if it may not know, those in which it has heard something."""
    known = [one.partition("/")[0] for one in heard.places]
    for kind in _KINDS:
        rows = await _fetch_pages(web, "users.conversations", "channels", types=kind, exclude_archived="true")
        known += [str(one["id"]) for one in rows]
    return list(dict.fromkeys(known))


async def _fetch_pages(web: AsyncWebClient, method: str, name: str = "messages", **given: str) -> list[dict[str, Any]]:
    """All of it; nothing where the app may not look."""
    found, cursor = list[dict[str, Any]](), ""
    while True:
        params = given | {"limit": str(_PAGE_SIZE)} | ({"cursor": cursor} if cursor else {})
        try:
            told: Mapping[str, Any] = (await web.api_call(method, http_verb="GET", params=params)).data  # type: ignore[assignment]
        except SlackApiError as error:
            if classify_refusal(error) == "rate_limited":
                await asyncio.sleep(retry_after(error) or 1.0)
                continue
            if classify_refusal(error) not in ("forbidden", "not_found"):
                raise
            logger.info("Slack does not tell what was missed (%s %s): %s", method, given, error_code(error))
            return found
        found += told.get(name) or []
        cursor = str((told.get("response_metadata") or {}).get("next_cursor") or "")
        if not cursor:
            return found
