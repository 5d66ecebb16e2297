"""Maps notifications of Microsoft Graph to inbound messages: whose they are, what they say, how they are told apart."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.core.places import Place, Sender
from sojourn.platforms.html_text import html_to_text
from sojourn.platforms.json_values import read_object, read_text, to_json
from sojourn.platforms.msgraph_webhook import NAME
from sojourn.ports.platform import Inbound

MAX_CHARS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One notification of a resource that we watch."""

    id: str
    name: str  # of the resource, in the settings
    item: Mapping[str, Any]
    content: Mapping[str, Any]  # the changed thing itself, of a rich notification

    @property
    def lifecycle_event(self) -> str:
        return read_text(self.item, "lifecycleEvent")


def build_notification(name: str, item: Mapping[str, Any], content: Mapping[str, Any]) -> Notification:
    """Its id is the same for the same change. Without a number or a version of the thing nothing tells two changes
    apart, and it is better to hear of one twice than not at all."""
    id, version = read_text(item, "id")[:200], read_text(read_object(item, "resourceData"), "@odata.etag")
    if not id and (version := version or read_text(content, "etag")) and not read_text(item, "lifecycleEvent"):
        fields = [read_text(item, one) for one in ("subscriptionId", "resource", "changeType")]
        id = hashlib.sha256(to_json([*fields, version]).encode()).hexdigest()
    return Notification(id=f"{name}/{id or uuid.uuid4().hex}", name=name, item=item, content=content)


def build_place(name: str) -> Place:
    return Place(platform=NAME, chat=name, name=name)


def to_inbound(notification: Notification) -> Inbound:
    """A chat message becomes its words; any other change, what Graph says about it."""
    name, content = notification.name, notification.content
    person = read_text(read_object(read_object(content, "from"), "user"), "displayName")
    sender = Sender(id=name, name=f"{person} ({name})"[:100] if person else name)
    text = _read_words(content) or _describe(notification)
    return Inbound(id=notification.id, place=build_place(name), sender=sender, text=text[:MAX_CHARS], at=time.time())


def to_warning(notification: Notification) -> Inbound:
    """What is said when Graph has not told everything."""
    name = notification.name
    text = f'Microsoft Graph has lost notifications of "{name}". Look there for what changed meanwhile.'
    sender = Sender(id=name, name=name)
    return Inbound(id=notification.id, place=build_place(name), sender=sender, text=text, at=time.time())


def _read_words(content: Mapping[str, Any]) -> str:
    """The words of a chat message; empty for anything else."""
    if "chatMessage" not in read_text(content, "@odata.type") and content.get("messageType") != "message":
        return ""
    body = read_object(content, "body")
    words = read_text(body, "content")
    return html_to_text(words) if read_text(body, "contentType").lower() == "html" else words.strip()


def _describe(notification: Notification) -> str:
    item, content = notification.item, notification.content
    about = content or read_object(item, "resourceData")
    told = json.dumps(about, ensure_ascii=False, indent=1) if about else ""
    return f"{read_text(item, 'changeType') or 'changed'}: {read_text(item, 'resource')}\n{told}".strip()
