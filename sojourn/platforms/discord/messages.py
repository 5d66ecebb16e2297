"""Maps Discord channels and messages to places and inbound messages."""

from __future__ import annotations

from collections.abc import Mapping
from mimetypes import guess_type
from typing import Any

import discord

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.discord import NAME
from sojourn.platforms.downloads import attach_files, check_size
from sojourn.ports.platform import File, Inbound

_LINK = "https://discord.com/channels/"
_PERSON_MESSAGES = (discord.MessageType.default, discord.MessageType.reply)  # other types are system messages


def place_from_channel(channel: object) -> Place:
    """Builds the place of a channel; a thread is a channel of its own."""
    id, name = str(getattr(channel, "id", "")), str(getattr(channel, "name", None) or "")
    if isinstance(channel, discord.Thread):
        return Place(platform=NAME, chat=id, kind="thread", thread=id, parent=str(channel.parent_id), name=name)
    if isinstance(channel, discord.DMChannel):
        return Place(platform=NAME, chat=id, kind="dm", name=str(channel.recipient or ""))
    return Place(platform=NAME, chat=id, kind="group", name=name)


def place_from_name(name: str, client: discord.Client | None) -> Place:
    """Parses a channel id, `server/channel`, `@me/channel` (a private chat) or a link. BadInput.

    An id does not tell its kind: unless the client has seen it, it is taken as a channel.
    """
    server, _, channel = name.strip().removeprefix(_LINK).strip("/").rpartition("/")
    if not channel.isdecimal() or (server not in ("", "@me") and not server.isdecimal()):
        hint = "Give its id or its link (right click, “Copy Link”); a private chat is @me/ and its id."
        raise BadInput(f"{name!r} is not a Discord channel.", hint=hint)
    if server == "@me":
        return Place(platform=NAME, chat=channel, kind="dm")
    cached = client.get_channel(int(channel)) if client is not None else None
    return place_from_channel(cached) if cached is not None else Place(platform=NAME, chat=channel, kind="group")


async def to_inbound(message: discord.Message, client: discord.Client) -> Inbound | None:
    """Maps a message; None for bots, system messages, and messages without text and files."""
    bot = client.user
    if bot is None or message.author.bot or message.webhook_id or message.type not in _PERSON_MESSAGES:
        return None
    channel: object = message.channel
    if isinstance(channel, discord.PartialMessageable):  # its session key depends on whether it is a thread
        channel = await client.fetch_channel(message.channel.id)
    replied_to = message.reference.message_id if message.reference else None
    inbound = Inbound(
        id=str(message.id),
        place=place_from_channel(channel),
        sender=Sender(id=str(message.author.id), name=message.author.display_name),
        text=message.content.replace(f"<@{bot.id}>", "").replace(f"<@!{bot.id}>", "").strip(),
        at=message.created_at.timestamp(),
        reply_to=str(replied_to) if replied_to else "",
        mentioned=isinstance(channel, discord.DMChannel) or bot.id in message.raw_mentions or bot in message.mentions,
    )
    files = message.attachments
    return await attach_files(inbound, (_fetch_file(one) for one in files), [one.filename for one in files])


async def to_button_press(press: discord.Interaction, client: discord.Client) -> Inbound | None:
    """Maps a press of a button under one of our messages."""
    data: Mapping[str, Any] = press.data or {}
    message, value = press.message, str(data.get("custom_id") or "")
    if press.type is not discord.InteractionType.component or message is None or not value:
        return None
    channel_id = message.channel.id
    rows = [row.children for row in message.components if isinstance(row, discord.ActionRow)]
    labels = [one.label for row in rows for one in row if isinstance(one, discord.Button) and one.custom_id == value]
    return Inbound(
        id=str(press.id),
        place=place_from_channel(client.get_channel(channel_id) or await client.fetch_channel(channel_id)),
        sender=Sender(id=str(press.user.id), name=press.user.display_name),
        text=(labels[0] if labels else None) or value,
        at=press.created_at.timestamp(),
        reply_to=str(message.id),
        pressed=value,
    )


async def _fetch_file(one: discord.Attachment) -> File:
    """SendRefused."""
    check_size(one.size)
    kind = (one.content_type or guess_type(one.filename)[0] or "application/octet-stream").partition(";")[0]
    try:
        return File(name=one.filename, media_type=kind, data=await one.read())
    except (discord.NotFound, discord.Forbidden) as error:
        raise SendRefused(f"Discord: {error.text}", kind="not_found") from error
