"""ports.history.History of a PostgreSQL store: bulk reads for scanners in other processes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import psycopg

from sojourn.ports.history import HistoryChanges, RawExchange, RawMessage, SessionFacts
from sojourn.stores.postgres.connect import LazyConnection, PostgresAddress
from sojourn.stores.postgres.errors import translate
from sojourn.stores.postgres.feed import MAX_CHANGES_PER_TRANSACTION
from sojourn.stores.sql.history import SELECT_FACTS, FactsRow, SessionFactsCache, unescape_bytes, unescape_row
from sojourn.text.escape import first_words

_BATCH_SESSIONS = 32  # sessions in one query

_ALL_FACTS = SELECT_FACTS.format(born="born", where="", and_too="")
_SESSION_FACTS = SELECT_FACTS.format(
    born="born", where="WHERE session_id = ANY(%s::text[])", and_too="AND s.id = ANY(%s::text[])"
)
# All changes below this number are settled and were read; those above are read again. See feed.py.
_SETTLED_NUMBER = f"""
SELECT COALESCE((SELECT value FROM meta WHERE key = 'feed_base')::bigint, 0)
       + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * {MAX_CHANGES_PER_TRANSACTION},
       (SELECT count(*) FROM sessions WHERE trashed_at IS NULL)
"""
_CHANGED_IDS = "SELECT DISTINCT session_id FROM changes WHERE n >= %s"
_ROWS = """
SELECT w.place, m.id, m.role, m.content, m.structured, m.tool_calls, m.tool_name
FROM unnest(%s::text[]) WITH ORDINALITY AS w(id, place) JOIN sessions s ON s.id = w.id
     JOIN messages m ON m.session_id = w.id AND m.active = 1 AND m.seq > s.copied
ORDER BY w.place, m.seq
"""
_EXCHANGES = """
SELECT w.place, m.id, m.role, CASE m.role WHEN 'assistant' THEN NULL ELSE m.content END, m.structured, m.tool_calls,
       m.tool_name, m.tool_call_id, m.effect_disposition, m.extra
FROM unnest(%s::text[]) WITH ORDINALITY AS w(id, place) JOIN sessions s ON s.id = w.id
     JOIN messages m ON m.session_id = w.id AND m.active = 1 AND m.seq > s.copied
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
        self._url, self._facts = url, SessionFactsCache()
        self._connection = LazyConnection(self._connect)

    def __reduce__(self) -> tuple[type[PostgresHistory], tuple[str]]:
        return PostgresHistory, (self._url,)

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        conninfo = PostgresAddress(self._url).conninfo
        connection = psycopg.connect(conninfo, autocommit=True, client_encoding="SQL_ASCII")
        connection.execute("SET default_transaction_read_only = on; SET jit = off")
        return connection

    def _fetch(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        """Runs a query and returns all rows; texts are raw bytes."""
        try:
            return self._connection.run(lambda connection: connection.execute(sql.encode(), params).fetchall())
        except psycopg.Error as error:
            raise translate(error, str(PostgresAddress(self._url))) from error

    def fingerprint(self) -> Hashable | None:
        """Returns the snapshot: the same visible transactions mean the same rows."""
        return id(self), self._fetch("SELECT pg_current_snapshot()::text")[0][0]

    def sessions(self) -> list[SessionFacts]:
        self.changes()
        return self._facts.list_sorted()

    def changes(self) -> HistoryChanges | None:
        ((settled, count),) = self._fetch(_SETTLED_NUMBER)  # first: later commits get higher numbers
        return self._facts.refresh(settled, count, self._read_changed_ids, self._read_facts)

    def _read_changed_ids(self, position: int) -> list[bytes]:
        return [id_ for (id_,) in self._fetch(_CHANGED_IDS, position)]

    def _read_facts(self, ids: Sequence[bytes] | None) -> Iterable[FactsRow]:
        if ids is None:
            return self._fetch(_ALL_FACTS)
        names = [id_.decode() for id_ in ids]
        return self._fetch(_SESSION_FACTS, names, names)

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        return self._read_batches(_ROWS, sessions)

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        return self._read_batches(_EXCHANGES, sessions)

    def _read_batches(self, sql: str, sessions: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        for start in range(0, len(sessions), _BATCH_SESSIONS):
            batch = sessions[start : start + _BATCH_SESSIONS]
            found: list[list[Any]] = [[] for _ in batch]
            for place, *row in self._fetch(sql, list(batch)):
                found[place - 1].append(unescape_row(tuple(row)))
            yield from zip(batch, found, strict=True)

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        return {
            sessions[place - 1]: "" if structured else first_words(unescape_bytes(content))
            for place, content, structured in self._fetch(_FIRST_USER_MESSAGE, list(sessions))
        }

    def find_seqs(self, rows: Sequence[int]) -> dict[int, int]:
        """The number in its session's log of each row."""
        return dict(self._fetch("SELECT id, seq FROM messages WHERE id = ANY(%s)", list(rows)))

    def close(self) -> None:
        self._connection.close()
