"""The same rows in bulk, for scanners: live in this process, a copy in another one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from sojourn.ports.history import RawExchange, RawMessage, SessionFacts
from sojourn.stores.memory.data import Data, Row
from sojourn.text.escape import first_words, to_bytes, unescape
from sojourn.text.redaction import no_redaction


class MemoryHistory:
    """Reads the dictionaries of a store; writes nothing."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def __getstate__(self) -> dict[str, Any]:
        return {"tables": self._data.tables, "log": self._data.log, "feed": self._data.feed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._data = Data(no_redaction, **state)

    def mark(self) -> Hashable | None:
        return self._data.feed

    def sessions(self) -> list[SessionFacts]:
        facts = [self._facts(row, born) for born, row in enumerate(self._data.sessions(), 1)]
        return sorted(facts, key=lambda one: -one.started_at)

    def _facts(self, row: Row, born: int) -> SessionFacts:
        messages = self._data.of("messages", row["id"])
        return SessionFacts(
            id=row["id"],
            source=_text(row["source"]),
            title=_text(row["title"]),
            model=_text(row["model"]),
            started_at=row["started_at"],
            archived=bool(row["archived"]),
            rewinds=row["rewind_count"],
            rows=len(messages),
            active_rows=sum(message["active"] for message in messages),
            last_row=max((message["id"] for message in messages), default=0),
            last_active=max((message["timestamp"] for message in messages), default=row["started_at"]),
            principal=row["principal"],
            born=born,
        )

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            yield session, [_raw(row) for row in self._data.of("messages", session) if row["active"]]

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for session in sessions:
            rows = [row for row in self._data.of("messages", session) if row["active"]]
            yield session, [_exchange(row) for row in rows if row["tool_calls"] or row["role"] in ("user", "tool")]

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for session in sessions:
            said = [row for row in self._data.of("messages", session) if row["role"] == "user"]
            said = [row for row in said if row["content"] is not None]
            if said:
                first = min(said, key=lambda row: (row["timestamp"], row["id"]))
                found[session] = "" if first["structured"] else first_words(_bytes(first["content"]) or b"")
        return found

    def close(self) -> None:
        """Nothing to let go of."""


def _raw(row: Row) -> RawMessage:
    return (
        row["id"],
        _bytes(row["role"]),
        _bytes(row["content"]),
        bool(row["structured"]),
        _bytes(row["tool_calls"]),
        _bytes(row["tool_name"]),
    )


def _exchange(row: Row) -> RawExchange:
    number, role, content, structured, calls, tool = _raw(row)
    said = None if role == b"assistant" else content
    call, effect, extra = (_bytes(row[name]) for name in ("tool_call_id", "effect_disposition", "extra"))
    return number, role, said, structured, calls, tool, call, effect, extra


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else to_bytes(unescape(text))


def _text(text: str | None) -> str | None:
    return None if text is None else unescape(text)
