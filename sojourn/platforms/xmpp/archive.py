"""Message archives (XEP-0313): fetches what came while we were not connected."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sojourn.core.errors import SendRefused
from sojourn.platforms.json_values import parse_date
from sojourn.platforms.xmpp import stanzas
from sojourn.platforms.xmpp.connection import XmppConnection
from sojourn.platforms.xmpp.stanzas import CLIENT, DELAY, PAGES, ChatMessage, Element

_PAGE_MESSAGES = 100
_FORWARDED = "{urn:xmpp:forward:0}forwarded"


@dataclass(frozen=True, slots=True)
class ArchivePosition:
    """The last message of an archive that is stored: its id, empty if the archive was, and its time."""

    id: str = ""
    at: float = 0.0

    @classmethod
    def parse(cls, saved: Any) -> ArchivePosition | None:
        return cls(str(saved[0]), float(saved[1])) if isinstance(saved, list) and len(saved) == 2 else None

    def to_json(self) -> list[Any]:
        return [self.id, self.at]


async def find_end(connection: XmppConnection, archive: str) -> ArchivePosition | None:
    """The newest position of an archive; None if there is no archive."""
    try:
        results, _ = await connection.query_archive(archive, size=1, is_newest=True)
    except SendRefused:
        return None
    return ArchivePosition(results[-1].get("id", ""), _parse_stamp(results[-1])) if results else ArchivePosition()


async def fetch_missed(
    connection: XmppConnection, archive: str, position: ArchivePosition
) -> AsyncGenerator[tuple[ArchivePosition, ChatMessage | None], None]:
    """Yields every message after a position, and its own position; None for what is not a text of somebody. A room
    that does not show them ends nothing: it may be on anybody's server."""
    after, since = position.id, None
    while True:
        try:
            results, end = await connection.query_archive(archive, size=_PAGE_MESSAGES, after=after, since=since)
        except SendRefused as error:
            if error.kind != "not_found" or not after or since:
                if archive == connection.jid:
                    raise
                return
            # The server no longer has that message: ask by time.
            after, since = "", datetime.fromtimestamp(position.at, UTC)
            continue
        for result in results:
            id = result.get("id", "")
            if not id or id == position.id:
                continue
            at, message = _parse_stamp(result), result.find(f"{_FORWARDED}/{CLIENT}message")
            text = stanzas.parse_message(message, archive_id=id, at=at) if message is not None else None
            yield ArchivePosition(id, at), text
        last = stanzas.find_text(end, f"{PAGES}/{PAGES.removesuffix('set')}last")
        if end.get("complete") == "true" or not results or not last or last == after:
            return
        after = last


def _parse_stamp(result: Element) -> float:
    stamp = result.find(f"{_FORWARDED}/{DELAY}")
    return parse_date(stamp.get("stamp", "")) if stamp is not None else 0.0
