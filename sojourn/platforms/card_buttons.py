"""Buttons of cards: each brings back what it is for, because not every network says where it was pressed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms.json_values import read_text
from sojourn.ports.platform import Button, Inbound


def build_button_data(button: Button, place: Place, *, chat: str = "", **more: str) -> dict[str, str]:
    """What a button brings back: its value, its label and its place. `chat` names the chat, if not by its id."""
    thread = {"thread": place.thread} if place.thread else {}
    return {"value": button.value, "label": button.label, "chat": chat or place.chat, **thread, **more}


def to_press(
    data: Mapping[str, Any], find_place: Callable[[str, str], Place], *, id: str, person: str, question: str
) -> Inbound | None:
    """The press of a button, from its data; None if something is missing, or was not made by us.

    find_place: gives the place of a chat and a thread, which is empty outside of threads. BadInput.
    question: the id of the message that has the button
    """
    value, chat, thread = (read_text(data, name) for name in ("value", "chat", "thread"))
    if not id or not person or not question or not value:
        return None
    try:
        place = find_place(chat, thread)
    except BadInput:
        return None
    text, sender = read_text(data, "label") or value, Sender(id=person)
    return Inbound(id=f"press/{id}", place=place, sender=sender, text=text, pressed=value, reply_to=question)
