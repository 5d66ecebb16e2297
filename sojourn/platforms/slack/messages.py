"""Slack's channels and messages as Places and Inbounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms.slack import NAME
from sojourn.platforms.slack.mrkdwn import from_mrkdwn
from sojourn.ports.platform import Button, File, Inbound

_PERSON_SUBTYPES = {
    None,
    "file_share",
    "thread_broadcast",
    "me_message",
}  # the other subtypes are news about the channel
_MAX_SECTION_CHARS = 3000  # characters of one block


def place_from_channel(team: str, channel: str, thread: str | None = None) -> Place:
    """A channel, a private chat (D…), or a thread in one of them; a thread of a private chat stays private."""
    if channel.startswith("D"):
        return Place(platform=NAME, scope=team, chat=channel, kind="dm", thread=thread)
    if thread:
        return Place(platform=NAME, scope=team, chat=channel, kind="thread", thread=thread, parent=channel)
    return Place(platform=NAME, scope=team, chat=channel, kind="group")


def place_from_name(words: str, team: str) -> Place:
    """The place of `C123`, `T123/C123` or `T123/C123/1700000000.000100`. BadInput."""
    parts = [one.strip() for one in words.strip().split("/")]
    if parts[0].startswith("T"):
        team = parts.pop(0)
    channel, thread = parts[0] if parts else "", parts[1] if len(parts) > 1 else None
    if not (channel[:1] in ("C", "D", "G") and channel.isalnum() and channel.isupper()) or len(parts) > 2:
        hint = "Give its id, like C0123ABCD or T0123ABCD/C0123ABCD; it stands at the end of the channel's details."
        raise BadInput(f"{words!r} is not a Slack channel.", hint=hint)
    if not team:
        hint = "Write it as workspace/channel, like T0123ABCD/C0123ABCD, or set SOJOURN_SLACK_TEAM."
        raise BadInput(f"Slack has not told yet which workspace {channel} belongs to.", hint=hint)
    return place_from_channel(team, channel, thread)


def build_message_id(channel: str, ts: str) -> str:
    """Times are unique only inside of a channel."""
    return f"{channel}/{ts}"


def parse_timestamp(id: str) -> str:
    return id.rpartition("/")[2]


def is_person_message(event: Mapping[str, Any], us: str) -> bool:
    """Whether a person said it: not a bot, not we, and no news about the channel."""
    if event.get("type") not in ("message", "app_mention") or event.get("subtype") not in _PERSON_SUBTYPES:
        return False
    return bool(event.get("user")) and event["user"] != us and not event.get("bot_id")


def to_inbound(
    event: Mapping[str, Any], team: str, us: str, files: tuple[File, ...], lost: list[str]
) -> Inbound | None:
    """None if there are neither words nor files."""
    raw, channel, ts = str(event.get("text") or ""), str(event["channel"]), str(event["ts"])
    text = "\n".join(filter(None, (from_mrkdwn(raw, us), *lost)))
    if not text and not files:
        return None
    thread = event.get("thread_ts")
    thread = str(thread) if thread and thread != ts else None
    place = place_from_channel(team, channel, thread)
    return Inbound(
        id=build_message_id(channel, ts),
        place=place,
        sender=Sender(id=str(event["user"])),
        text=text,
        files=files,
        at=float(ts),
        reply_to=build_message_id(channel, thread) if thread else "",
        mentioned=place.kind == "dm" or event["type"] == "app_mention" or f"<@{us}" in raw,
    )


def to_button_press(payload: Mapping[str, Any], team: str) -> Inbound | None:
    """A button under a message of ours."""
    under, actions = payload.get("message") or {}, payload.get("actions") or ()
    action: Mapping[str, Any] = actions[0] if actions else {}
    channel, value = (payload.get("channel") or {}).get("id"), action.get("value")
    if payload.get("type") != "block_actions" or not (channel and value and under.get("ts")):
        return None
    ts, thread = str(under["ts"]), under.get("thread_ts")
    return Inbound(
        id=f"button/{channel}/{ts}/{payload['user']['id']}/{action.get('action_ts', '')}",
        place=place_from_channel(team, str(channel), str(thread) if thread and thread != ts else None),
        sender=Sender(id=str(payload["user"]["id"])),
        text=str((action.get("text") or {}).get("text") or value),
        reply_to=build_message_id(str(channel), ts),
        pressed=str(value),
    )


def build_blocks(text: str, buttons: Sequence[Button], *, plain: bool) -> list[dict[str, Any]]:
    """A message's blocks: its words, and the buttons under them."""
    kind = "plain_text" if plain else "mrkdwn"
    pieces = [text[at : at + _MAX_SECTION_CHARS] for at in range(0, len(text), _MAX_SECTION_CHARS)]
    words = [{"type": "section", "text": {"type": kind, "text": one}} for one in pieces]
    keys = [
        {"type": "button", "action_id": f"b{n}", "value": one.value, "text": {"type": "plain_text", "text": one.label}}
        for n, one in enumerate(buttons)
    ]
    return [*words, {"type": "actions", "elements": keys}]
