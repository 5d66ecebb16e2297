"""Places of chat networks, their senders, and the key that maps a message to a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sojourn.core.errors import BadInput

PlaceKind = Literal["dm", "group", "channel", "thread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A chat, group, channel or thread. An adapter builds incoming places and hand-off targets with one function."""

    platform: str
    chat: str  # the network's id of the room, person or thread that answers go to
    kind: PlaceKind = "dm"
    thread: str | None = None  # the network's id of the thread in it
    scope: str = ""  # the workspace or server it belongs to, where ids are unique only inside
    name: str = ""  # for people; never part of the key
    parent: str | None = None  # the room a thread was opened in
    fallback_reason: str = ""  # why a hand-off uses this place and not a new thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The author of a message, as the network reports it."""

    id: str
    name: str = ""
    is_bot: bool = False


def build_session_key(
    place: Place,
    sender: Sender | None = None,
    *,
    group_sessions_per_user: bool = True,
    thread_sessions_per_user: bool = False,
) -> str:
    """Builds the key of a conversation, equal for a hand-off's first message and the replies to it.

    By default each person has a session of their own in a group, and all share one in a thread.
    """
    parts = [place.platform, place.kind, *([place.scope] if place.scope else []), place.chat]
    if place.thread:
        parts.append(place.thread)
    shared = not thread_sessions_per_user if place.thread or place.kind == "thread" else not group_sessions_per_user
    if place.kind != "dm" and not shared and sender is not None:
        parts.append(sender.id)
    for part in parts:
        if not part or ".." in part or part.startswith("/") or "\x00" in part:
            raise BadInput(
                f"{part!r} cannot be part of a place key.", hint="The adapter must pass the network's own id."
            )
    return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)
