"""Maps Slack channels, messages and files to places and inbound messages, and Markdown to Slack's mrkdwn."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.downloads import VendorDownloads
from sojourn.platforms.markdown import STAR_STYLE, escape_html, render, split_fences
from sojourn.platforms.slack import NAME
from sojourn.ports.platform import Button, File, Inbound
from sojourn.text.html_entities import unescape_html

FILE_HOSTS = ("slack.com", "slack-gov.com", "slack-files.com")
TOKEN_HOSTS = ("files.slack.com", "files.slack-gov.com")  # those of them that the token is sent to
_PERSON_SUBTYPES = {None, "file_share", "thread_broadcast", "me_message"}  # other subtypes are system messages
_MAX_SECTION_CHARS = 3000  # of one block
_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")  # <@U1>, <#C1|garden>, <!here>, <https://…|label>


def place_from_channel(team: str, channel: str, thread: str | None = None) -> Place:
    """Builds the place of a channel, a private chat (D…), or a thread; a thread of a private chat stays private."""
    if channel.startswith("D"):
        return Place(platform=NAME, scope=team, chat=channel, kind="dm", thread=thread)
    if thread:
        return Place(platform=NAME, scope=team, chat=channel, kind="thread", thread=thread, parent=channel)
    return Place(platform=NAME, scope=team, chat=channel, kind="group")


def place_from_name(name: str, team: str) -> Place:
    """Parses `C123`, `T123/C123` or `T123/C123/1700000000.000100`. BadInput."""
    parts = [one.strip() for one in name.strip().split("/")]
    if parts[0].startswith("T"):
        team = parts.pop(0)
    channel, thread = parts[0] if parts else "", parts[1] if len(parts) > 1 else None
    if not (channel[:1] in ("C", "D", "G") and channel.isalnum() and channel.isupper()) or len(parts) > 2:
        hint = "Give its id, like C0123ABCD or T0123ABCD/C0123ABCD; it is at the end of the channel's details."
        raise BadInput(f"{name!r} is not a Slack channel.", hint=hint)
    if not team:
        hint = "Write it as workspace/channel, like T0123ABCD/C0123ABCD, or set SOJOURN_SLACK_TEAM."
        raise BadInput(f"It is not known yet which workspace {channel} belongs to.", hint=hint)
    return place_from_channel(team, channel, thread)


def build_message_id(channel: str, ts: str) -> str:
    """Timestamps are unique only within a channel."""
    return f"{channel}/{ts}"


def parse_timestamp(id: str) -> str:
    return id.rpartition("/")[2]


def is_person_message(event: Mapping[str, Any], bot_user: str) -> bool:
    """Whether a person wrote it: not a bot, not this app, not the system."""
    if event.get("type") not in ("message", "app_mention") or event.get("subtype") not in _PERSON_SUBTYPES:
        return False
    return bool(event.get("user")) and event["user"] != bot_user and not event.get("bot_id")


def to_inbound(event: Mapping[str, Any], team: str, bot_user: str) -> Inbound:
    """Maps a message, its files left out."""
    raw, channel, ts = str(event.get("text") or ""), str(event["channel"]), str(event["ts"])
    thread = event.get("thread_ts")
    thread = str(thread) if thread and thread != ts else None
    place = place_from_channel(team, channel, thread)
    return Inbound(
        id=build_message_id(channel, ts),
        place=place,
        sender=Sender(id=str(event["user"])),
        text=from_mrkdwn(raw, bot_user),
        at=float(ts),
        reply_to=build_message_id(channel, thread) if thread else "",
        mentioned=place.kind == "dm" or event["type"] == "app_mention" or f"<@{bot_user}" in raw,
    )


def to_button_press(payload: Mapping[str, Any], team: str) -> Inbound | None:
    """Maps a press of a button under one of our messages."""
    message, actions = payload.get("message") or {}, payload.get("actions") or ()
    action: Mapping[str, Any] = actions[0] if actions else {}
    channel, value = (payload.get("channel") or {}).get("id"), action.get("value")
    if payload.get("type") != "block_actions" or not (channel and value and message.get("ts")):
        return None
    ts, thread = str(message["ts"]), message.get("thread_ts")
    return Inbound(
        id=f"button/{channel}/{ts}/{payload['user']['id']}/{action.get('action_ts', '')}",
        place=place_from_channel(team, str(channel), str(thread) if thread and thread != ts else None),
        sender=Sender(id=str(payload["user"]["id"])),
        text=str((action.get("text") or {}).get("text") or value),
        reply_to=build_message_id(str(channel), ts),
        pressed=str(value),
    )


def build_blocks(text: str, buttons: Sequence[Button], *, plain: bool) -> list[dict[str, Any]]:
    """Builds the blocks of a message: its text and its buttons."""
    kind = "plain_text" if plain else "mrkdwn"
    pieces = [text[at : at + _MAX_SECTION_CHARS] for at in range(0, len(text), _MAX_SECTION_CHARS)]
    sections = [{"type": "section", "text": {"type": kind, "text": one}} for one in pieces]
    elements = [
        {"type": "button", "action_id": f"b{n}", "value": one.value, "text": {"type": "plain_text", "text": one.label}}
        for n, one in enumerate(buttons)
    ]
    return [*sections, {"type": "actions", "elements": elements}]


_MAX_POLLS, _POLL_SECONDS = 10, 0.5  # for the message that Slack creates


async def fetch_file(downloads: VendorDownloads, file: Mapping[str, Any]) -> File:
    """Downloads a file. One that lies elsewhere is not fetched: whoever shares it names its address. SendRefused."""
    address = file.get("url_private_download") or file.get("url_private")
    if not address:
        raise SendRefused("Slack gives no download address for it.", kind="not_found")
    data, served_type = await downloads.fetch_bytes(str(address))
    if served_type == "text/html" != file.get("mimetype"):  # a login page
        raise SendRefused("The app needs the scope files:read.", kind="forbidden")
    return File(name=str(file.get("name") or "file"), media_type=str(file.get("mimetype") or served_type), data=data)


async def upload_file(
    web: AsyncWebClient, session: aiohttp.ClientSession, place: Place, file: File, caption: str
) -> str:
    """Uploads a file, shares it in a channel, and gives the id of that message. SendRefused."""
    name = file.name or "file"
    upload = await web.files_getUploadURLExternal(filename=name, length=len(file.data))
    async with session.post(str(upload["upload_url"]), data=file.data) as response:
        if response.status != 200:
            raise SendRefused(f"Slack did not accept the file ({response.status}).", kind="unknown")
    id = str(upload["file_id"])
    await web.files_completeUploadExternal(
        files=[{"id": id, "title": name}],
        channel_id=place.chat,
        thread_ts=place.thread,
        initial_comment=caption or None,
    )
    for _ in range(_MAX_POLLS):
        info = await web.files_info(file=id)
        for shares in ((info["file"] or {}).get("shares") or {}).values():
            for one in shares.get(place.chat, ()):
                return build_message_id(place.chat, str(one["ts"]))
        await asyncio.sleep(_POLL_SECONDS)
    return id  # it was sent, but Slack has not named its message


def to_mrkdwn(text: str) -> str:
    return render(text, _STYLE)


def from_mrkdwn(text: str, bot_user: str) -> str:
    """The text of a person, without the mention of our app."""
    text = _REFERENCE.sub(lambda match: _render_reference(match[1], match[2] or "", bot_user), text)
    return unescape_html(text).strip()


def _render_reference(target: str, label: str, bot_user: str) -> str:
    if target.startswith("@"):
        return "" if target[1:] == bot_user else f"@{label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    if not label or label == target or target in (f"mailto:{label}", f"tel:{label}", f"http://{label}"):
        return label or target
    return f"[{label}]({target})"


def _render_link(label: str, address: str) -> str:
    return f"<{escape_html(address).replace('|', '%7C')}|{label.replace('|', '¦')}>"


_STYLE = replace(
    STAR_STYLE,
    escape=escape_html,
    code=lambda text: f"`{escape_html(text)}`",
    fence=lambda text, _: f"```\n{escape_html(split_fences(text))}\n```",
    link=_render_link,
)
