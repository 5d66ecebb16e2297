"""The database's rows in bulk, for scanners in other processes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import psycopg

from sojourn.ports.history import Changes, RawExchange, RawMessage, SessionFacts
from sojourn.stores.facts import KnownFacts
from sojourn.stores.postgres.address import Address
from sojourn.stores.postgres.errors import translate
from sojourn.stores.postgres.feed import ROOM
from sojourn.text.escape import first_words, to_bytes, unescape

_TOGETHER = 32  # sessions asked for in one go

_FACTS = """
SELECT s.id, s.source, s.title, s.model, s.started_at, s.archived, s.rewind_count, s.principal, s.born,
       m.rows, m.live, m.last, m.newest
FROM sessions s LEFT JOIN (
    SELECT session_id, count(*) AS rows, sum(active)::bigint AS live, max(id) AS last, max(timestamp) AS newest
    FROM messages {where} GROUP BY session_id
) m ON m.session_id = s.id {where_too}
"""
_EVERY = _FACTS.format(where="", where_too="")
_SOME = _FACTS.format(where="WHERE session_id = ANY(%s::text[])", where_too="WHERE s.id = ANY(%s::text[])")
# Everything below the line was settled and seen; what stands above it is asked for again. See feed.py.
_LINE = f"""
SELECT COALESCE((SELECT value FROM meta WHERE key = 'feed_base')::bigint, 0)
       + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * {ROOM}, (SELECT count(*) FROM sessions)
"""
_TOUCHED = "SELECT DISTINCT session_id FROM changes WHERE n >= %s"
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
_FIRST = """
SELECT w.place, f.content, f.structured FROM unnest(%s::text[]) WITH ORDINALITY AS w(id, place) CROSS JOIN LATERAL (
    SELECT left(m.content, 400) AS content, m.structured FROM messages m
    WHERE m.session_id = w.id AND m.role = 'user' AND m.content IS NOT NULL ORDER BY m.timestamp, m.id LIMIT 1
) f
"""


class PostgresHistory:
    """Picklable: only the address travels; each process dials for itself."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._fresh()

    def _fresh(self) -> None:
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._facts, self._line = KnownFacts(), -1

    def __getstate__(self) -> str:
        return self._url

    def __setstate__(self, url: str) -> None:
        self._url = url
        self._fresh()

    def _ask(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """All rows of an answer; texts come as the bytes they are."""
        address, is_old = Address(self._url), self._connection is not None
        try:
            if self._connection is None:
                self._connection = psycopg.connect(address.dial, autocommit=True, client_encoding="SQL_ASCII")
                self._connection.execute("SET default_transaction_read_only = on; SET jit = off")
            return self._connection.execute(sql.encode(), params).fetchall()
        except psycopg.Error as error:
            if self._connection is not None and self._connection.closed:
                self._connection = None
                if is_old:  # it died while nobody looked
                    return self._ask(sql, *params)
            raise translate(error, str(address)) from error

    def mark(self) -> Hashable | None:
        """Which transactions are seen: the same ones, the same rows."""
        return id(self), self._ask("SELECT pg_current_snapshot()::text")[0][0]

    def sessions(self) -> list[SessionFacts]:
        """All are read once; after that only those which the feed of changes names."""
        self.changes()
        return self._facts.listed()

    def changes(self) -> Changes | None:
        ((line, count),) = self._ask(_LINE)  # before anything else: what ends from now on is above the line
        told = None
        if 0 <= self._line <= line:
            touched = [id_ for (id_,) in self._ask(_TOUCHED, self._line)]
            names = [id_.decode() for id_ in touched]
            told = self._facts.change(touched, self._ask(_SOME, names, names) if touched else ())
        if count != len(self._facts):
            told = None
        if told is None:
            self._facts.list_again(self._ask(_EVERY))
        self._line = line
        return told

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for start in range(0, len(sessions), _TOGETHER):
            some = sessions[start : start + _TOGETHER]
            found: list[list[RawMessage]] = [[] for _ in some]
            for place, *row in self._ask(_ROWS, list(some)):
                found[place - 1].append(_message(*row))
            yield from zip(some, found, strict=True)

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for start in range(0, len(sessions), _TOGETHER):
            some = sessions[start : start + _TOGETHER]
            found: list[list[RawExchange]] = [[] for _ in some]
            for place, *row in self._ask(_EXCHANGES, list(some)):
                call, effect, extra = map(_raw, row[6:])
                found[place - 1].append((*_message(*row[:6]), call, effect, extra))
            yield from zip(some, found, strict=True)

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        return {
            sessions[place - 1]: "" if structured else first_words(_raw(content) or b"")
            for place, content, structured in self._ask(_FIRST, list(sessions))
        }

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _message(
    row: int, role: bytes | None, content: bytes | None, structured: int, calls: bytes | None, tool: bytes | None
) -> RawMessage:
    return row, _raw(role), _raw(content), bool(structured), _raw(calls), _raw(tool)


def _raw(value: bytes | None) -> bytes | None:
    if value is None or b"\x1a" not in value:
        return value
    return to_bytes(unescape(value.decode("utf-8", "replace")))
