"""Files from and to Slack. A file is first put somewhere, then shown in a channel; Slack makes the message of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from sojourn.core.errors import SendRefused
from sojourn.core.places import Place
from sojourn.platforms.slack.messages import build_message_id
from sojourn.ports.platform import File

_MAX_POLLS, _POLL_SECONDS = 10, 0.5  # how often Slack is asked which message it made, and the seconds between


async def fetch_file(session: aiohttp.ClientSession, token: str, file: Mapping[str, Any]) -> File:
    """SendRefused."""
    address = file.get("url_private_download") or file.get("url_private")
    if not address:
        raise SendRefused("Slack gives no address for it.", kind="not_found")
    async with session.get(str(address), headers={"Authorization": f"Bearer {token}"}) as answer:
        if answer.status != 200 or answer.content_type == "text/html" != file.get("mimetype"):
            raise SendRefused("The app needs the scope files:read.", kind="forbidden")  # Slack shows a login page
        kind = str(file.get("mimetype") or answer.content_type)
        return File(name=str(file.get("name") or "file"), media_type=kind, data=await answer.read())


async def upload_file(
    web: AsyncWebClient, session: aiohttp.ClientSession, place: Place, file: File, caption: str
) -> str:
    """Shows it there; gives the id of the message. SendRefused."""
    name = file.name or "file"
    made = await web.files_getUploadURLExternal(filename=name, length=len(file.data))
    async with session.post(str(made["upload_url"]), data=file.data) as answer:
        if answer.status != 200:
            raise SendRefused(f"Slack did not take the file ({answer.status}).", kind="unknown")
    id = str(made["file_id"])
    await web.files_completeUploadExternal(
        files=[{"id": id, "title": name}],
        channel_id=place.chat,
        thread_ts=place.thread,
        initial_comment=caption or None,
    )
    for _ in range(_MAX_POLLS):
        told = await web.files_info(file=id)
        for shares in ((told["file"] or {}).get("shares") or {}).values():
            for one in shares.get(place.chat, ()):
                return build_message_id(place.chat, str(one["ts"]))
        await asyncio.sleep(_POLL_SECONDS)
    return id  # it is there, but Slack does not say under which number
