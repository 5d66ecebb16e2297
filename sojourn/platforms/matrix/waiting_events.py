"""Encrypted messages whose keys have not arrived yet; saved with the sync token, so that a restart loses none."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from nio import Event, MegolmEvent

_MAX_EVENTS = 200


class WaitingEvents:
    """The newest encrypted messages that could not be read, oldest first."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[str, MegolmEvent]] = {}  # event id → room, event

    def add(self, room: str, event: MegolmEvent) -> None:
        self._events[event.event_id] = (room, event)
        for id in list(self._events)[:-_MAX_EVENTS]:
            del self._events[id]

    def take_readable(
        self, decrypt: Callable[[MegolmEvent, str], Event | None], rooms: Container[str]
    ) -> list[tuple[str, Event]]:
        """Removes and returns those whose keys have arrived. Those of rooms that we have left are forgotten."""
        self._events = {id: one for id, one in self._events.items() if one[0] in rooms}
        found = [(id, room, decrypt(event, room)) for id, (room, event) in self._events.items()]
        for id, _, event in found:
            if event is not None:
                del self._events[id]
        return [(room, event) for _, room, event in found if event is not None]

    def to_json(self) -> list[dict[str, Any]]:
        return [{"room": room, "event": event.source} for room, event in self._events.values()]

    def restore(self, saved: Iterable[Mapping[str, Any]]) -> None:
        self._events = {}
        for one in saved:
            event = Event.parse_event(one["event"])
            if isinstance(event, MegolmEvent):
                self.add(one["room"], event)
