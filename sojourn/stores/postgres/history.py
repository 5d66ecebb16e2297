"""ports.history.History of a PostgreSQL store: bulk reads for scanners in other processes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import psycopg

from sojourn.ports.history import HistoryChanges, RawExchange, RawMessage, SessionFacts
from sojourn.stores.postgres.connect import PostgresAddress
from sojourn.stores.postgres.errors import translate
from sojourn.stores.postgres.feed import MAX_CHANGES_PER_TRANSACTION
from sojourn.stores.sql.session_facts import SessionFactsCache
from sojourn.text.escape import first_words, to_bytes, unescape

_BATCH_SESSIONS = 32  # sessions in one query

_FACTS = """
SELECT s.id, s.source, s.title, s.model, s.started_at, s.archived, s.rewind_count, s.principal, s.born,
       m.rows, m.live, m.last, m.newest
FROM sessions s LEFT JOIN (
    SELECT session_id, count(*) AS rows, sum(active)::bigint AS live, max(id) AS last, max(timestamp) AS newest
    FROM messages {where} GROUP BY session_id
) m ON m.session_id = s.id {where_too}
"""
_ALL_FACTS = _FACTS.format(where="", where_too="")
_SESSION_FACTS = _FACTS.format(where="WHERE session_id = ANY(%s::text[])", where_too="WHERE s.id = ANY(%s::text[])")
# All changes below this number are settled and were read; those above are read again. See feed.py.
_SETTLED_NUMBER = f"""
SELECT COALESCE((SELECT value FROM meta WHERE key = 'feed_base')::bigint, 0)
       + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * {MAX_CHANGES_PER_TRANSACTION},
       (SELECT count(*) FROM sessions)
"""
_CHANGED_IDS = "SELECT DISTINCT session_id FROM changes WHERE n >= %s"
_ROWS = """
SELECT w.place, m.id, m.role, m.content, m.structured, m.tool_calls, m.tool_name
FROM unnest(%s::text[]) WITH ORDINALITY AS w(id, place) JOIN messages m ON m.session_id = w.id AND m.active = 1
ORDER BY w.place, m.seq
"""
_EXCHANGES = """
SELECT w.place, m.id, m.role, CASE m.role WHEN 'assistant' THEN NULL ELSE m.content END, m.structured, m.tool_calls,
       m.tool_name, m.tool_call_id, m.effect_disposition, m.extra
FROM unnest(%s::text[]) WITH ORDINALITY AS w(id, place) JOIN messages m ON m.session_id = w.id AND m.active = 1
WHERE m.tool_calls IS NOT NULL OR m.role IN ('user', 'tool')
ORDER BY w.place, m.seq
"""
_FIRST_USER_MESSAGE = """
SELECT w.place, f.content, f.structured FROM unnest(%s::text[]) WITH ORDINALITY AS w(id, place) CROSS JOIN LATERAL (
    SELECT left(m.content, 400) AS content, m.structured FROM messages m
    WHERE m.session_id = w.id AND m.role = 'user' AND m.content IS NOT NULL ORDER BY m.timestamp, m.id LIMIT 1
) f
"""


class PostgresHistory:
    """Bulk reader. Pickles as its address; each process opens its own connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._reset()

    def _reset(self) -> None:
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._facts, self._settled = SessionFactsCache(), -1

    def __getstate__(self) -> str:
        return self._url

    def __setstate__(self, url: str) -> None:
        self._url = url
        self._reset()

    def _fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Runs a query and returns all rows; texts are raw bytes. Reconnects once if an idle connection has died."""
        address, was_open = PostgresAddress(self._url), self._connection is not None
        try:
            if self._connection is None:
                self._connection = psycopg.connect(address.conninfo, autocommit=True, client_encoding="SQL_ASCII")
                self._connection.execute("SET default_transaction_read_only = on; SET jit = off")
            return self._connection.execute(sql.encode(), params).fetchall()
        except psycopg.Error as error:
            if self._connection is not None and self._connection.closed:
                self._connection = None
                if was_open:
                    return self._fetch(sql, *params)
            raise translate(error, str(address)) from error

    def fingerprint(self) -> Hashable | None:
        """Returns the snapshot: the same visible transactions mean the same rows."""
        return id(self), self._fetch("SELECT pg_current_snapshot()::text")[0][0]

    def sessions(self) -> list[SessionFacts]:
        """Reads all sessions once, later only those in the change feed."""
        self.changes()
        return self._facts.list_sorted()

    def changes(self) -> HistoryChanges | None:
        ((settled, count),) = self._fetch(_SETTLED_NUMBER)  # first: later commits get higher numbers
        changes = None
        if 0 <= self._settled <= settled:
            touched = [id_ for (id_,) in self._fetch(_CHANGED_IDS, self._settled)]
            names = [id_.decode() for id_ in touched]
            changes = self._facts.update(touched, self._fetch(_SESSION_FACTS, names, names) if touched else ())
        if count != len(self._facts):
            changes = None
        if changes is None:
            self._facts.replace_all(self._fetch(_ALL_FACTS))
        self._settled = settled
        return changes

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for start in range(0, len(sessions), _BATCH_SESSIONS):
            batch = sessions[start : start + _BATCH_SESSIONS]
            found: list[list[RawMessage]] = [[] for _ in batch]
            for place, *row in self._fetch(_ROWS, list(batch)):
                found[place - 1].append(_decode_message(*row))
            yield from zip(batch, found, strict=True)

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for start in range(0, len(sessions), _BATCH_SESSIONS):
            batch = sessions[start : start + _BATCH_SESSIONS]
            found: list[list[RawExchange]] = [[] for _ in batch]
            for place, *row in self._fetch(_EXCHANGES, list(batch)):
                call, effect, extra = map(_to_raw, row[6:])
                found[place - 1].append((*_decode_message(*row[:6]), call, effect, extra))
            yield from zip(batch, found, strict=True)

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        return {
            sessions[place - 1]: "" if structured else first_words(_to_raw(content) or b"")
            for place, content, structured in self._fetch(_FIRST_USER_MESSAGE, list(sessions))
        }

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _decode_message(
    row: int, role: bytes | None, content: bytes | None, structured: int, calls: bytes | None, tool: bytes | None
) -> RawMessage:
    return row, _to_raw(role), _to_raw(content), bool(structured), _to_raw(calls), _to_raw(tool)


def _to_raw(value: bytes | None) -> bytes | None:
    if value is None or b"\x1a" not in value:
        return value
    return to_bytes(unescape(value.decode("utf-8", "replace")))
