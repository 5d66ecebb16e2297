"""Places in chat networks, the people there, and the one key that says which session a message belongs to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sojourn.core.errors import BadInput

PlaceKind = Literal["dm", "group", "channel", "thread"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Somewhere to talk. An adapter builds every Place with the same function, for what comes in and for hand-offs."""

    platform: str
    chat: str  # the network's id of the room, person or thread that answers go to
    kind: PlaceKind = "dm"
    thread: str | None = None  # the network's id of the thread in it
    scope: str = ""  # the workspace or server it belongs to, where ids are unique only inside
    name: str = ""  # for people; never part of the key
    parent: str | None = None  # the room a thread was opened in
    because: str = ""  # why a hand-off landed here and not in a fresh thread

    def landing(self, why: str) -> Place:
        return replace(self, because=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who wrote something, as the network tells it."""

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
    """The key of the conversation: the same for a hand-off's own message and for the next thing a person writes.

    In a group each person has a session of their own, in a thread all share one, unless set otherwise.
    """
    parts = [place.platform, place.kind, *([place.scope] if place.scope else []), place.chat]
    if place.thread:
        parts.append(place.thread)
    shared = not thread_sessions_per_user if place.thread or place.kind == "thread" else not group_sessions_per_user
    if place.kind != "dm" and not shared and sender is not None:
        parts.append(sender.id)
    for part in parts:
        if not part or ".." in part or part.startswith("/") or "\x00" in part:
            raise BadInput(f"{part!r} cannot be part of a place.", hint="The adapter has to give the network's own id.")
    return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)
