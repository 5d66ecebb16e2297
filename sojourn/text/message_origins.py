"""Origins of messages: which of them hold text that the person did not write, and which hosts the person named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from sojourn.core.messages import Message, is_internal, text_of
from sojourn.core.provenance import Origin, Provenance
from sojourn.text.host_names import find_hosts


def add_messages(
    found: Provenance, messages: Iterable[Message], by_tool: Mapping[str, tuple[Origin, ...]]
) -> Provenance:
    """Adds what a conversation holds. by_tool: the origins of each tool's results, by its name."""
    origins, texts = set[Origin](), list[str]()
    for message in messages:
        origins.update(_find_origins(message, by_tool))
        if message.role == "user" and not _is_foreign(message) and not is_internal(message):
            texts.append(text_of(message))
    return found.add_origins(origins).add_hosts(host for text in texts for host in find_hosts(text))


def _find_origins(message: Message, by_tool: Mapping[str, tuple[Origin, ...]]) -> tuple[Origin, ...]:
    """A tool that is not known may have brought anything."""
    if _is_foreign(message):
        return ("foreign",)
    return by_tool.get(message.tool_name or "", ("foreign",)) if message.role == "tool" else ()


def _is_foreign(message: Message) -> bool:
    """Whether a message was imported, or came with a request that no person wrote."""
    if message.native_id is not None:
        return True
    if message.role != "user" or "foreign" not in (message.extra or ""):
        return False
    try:
        return json.loads(message.extra or "{}").get("foreign") is True
    except (ValueError, RecursionError, AttributeError):
        return True
