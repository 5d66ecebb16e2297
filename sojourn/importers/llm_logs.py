"""llm: the database `logs.db`. Before 0.32 a prompt and its answer are one row of `responses`; after it, messages form
chains of hashes that several threads may share, and a row of `turns` says which of them one call added."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from sojourn.importers.history_importer import DatabaseImporter, StoredSession, list_data_folders
from sojourn.importers.jsonl import parse_object
from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.sqlite_reader import list_tables, query_rows
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    make_title,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "llm"
_FOLDER = "io.datasette.llm"
_ROLES = ("user", "assistant", "tool")


class LlmImporter(DatabaseImporter):
    """Imports conversations of llm."""

    name, label = NAME, "llm"
    file_name, columns = "logs.db", MappingProxyType({"responses": "response", "conversations": "model"})

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        own = environment.get("LLM_USER_PATH")
        config = Path(environment.get("XDG_CONFIG_HOME") or user_home / ".config") / _FOLDER
        folders = [config, *list_data_folders(user_home, environment, unix=_FOLDER, mac=_FOLDER, windows=_FOLDER)]
        return [folder / self.file_name for folder in ([Path(own)] if own else folders)]

    def list_rows(self, db: Connection, path: Path) -> Iterator[StoredSession]:
        rows = "SELECT coalesce(conversation_id, id) AS own, id, datetime_utc AS moment FROM responses"
        if "turns" in list_tables(db):
            rows += " UNION ALL SELECT coalesce(thread_id, id), id, datetime_utc FROM turns"
        grouped = f"SELECT own, count(*) AS n, min(moment) AS began, max(id) AS last FROM ({rows}) GROUP BY own"
        for row in query_rows(db, grouped):
            yield StoredSession(
                native_id=str(row["own"]),
                path=path,
                fingerprint=f"{row['n']}:{row['last']}",
                began=to_seconds(row["began"]),
            )

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        tables, builder = list_tables(db), TranscriptBuilder(one.began)
        by_own = "coalesce(conversation_id, id) = ? ORDER BY datetime_utc, id"
        answers = list(query_rows(db, f"SELECT * FROM responses WHERE {by_own}", one.native_id))
        for row in answers:
            _add_response(builder, db, tables, row)
        turns: list[dict[str, Any]] = []
        if "turns" in tables:
            by_own = "coalesce(thread_id, id) = ? ORDER BY datetime_utc, id"
            turns = list(query_rows(db, f"SELECT * FROM turns WHERE {by_own}", one.native_id))
            _add_turns(builder, db, turns, has_older=bool(answers))
        titles = [
            as_text(name)
            for table in sorted({"conversations", "threads"} & tables)
            for (name,) in db.execute(f"SELECT name FROM {table} WHERE id = ?", (one.native_id,))
        ]
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        rows = [*answers, *turns]
        fields = {
            "source": NAME,
            "title": next(filter(None, titles), None) or make_title(next(prompts, "")),
            "model": as_text(rows[-1].get("model")) if rows else None,
            "started_at": one.began,
        }
        for row in rows:
            builder.usage.add(
                as_text(row.get("resolved_model")) or as_text(row.get("model")) or "",
                input_tokens=row.get("input_tokens"),
                output_tokens=row.get("output_tokens"),
            )
            builder.add_record("turn", to_json({key: row[key] for key in row if key not in ("prompt", "response")}))
        return builder.build(one.native_id, fields)


def _add_response(builder: TranscriptBuilder, db: Connection, tables: set[str], row: dict[str, Any]) -> None:
    """Adds a prompt with the results of tools that went with it, and its answer."""
    own, when = str(row["id"]), to_seconds(row.get("datetime_utc"))
    system, prompt, answer = MessagePieces(), MessagePieces(), MessagePieces()
    system.add_text(_join_fragments(db, tables, "system_fragments", own, row.get("system")))
    prompt.add_text(_join_fragments(db, tables, "prompt_fragments", own, row.get("prompt")))
    if "prompt_attachments" in tables:
        joined = "SELECT a.* FROM prompt_attachments p JOIN attachments a ON a.id = p.attachment_id"
        prompt.parts += [
            _to_file_part(one) for one in query_rows(db, f'{joined} WHERE p.response_id = ? ORDER BY p."order"', own)
        ]
    if "tool_results" in tables:
        for one in query_rows(db, "SELECT * FROM tool_results WHERE response_id = ? ORDER BY id", own):
            prompt.add_output(one.get("tool_call_id"), one.get("output"), is_error=bool(one.get("exception")))
        for one in query_rows(db, "SELECT * FROM tool_calls WHERE response_id = ? ORDER BY id", own):
            answer.add_call(one.get("tool_call_id"), one.get("name"), one.get("arguments"))
    answer.add_text(row.get("response"))
    answer.add_thought(row.get("reasoning"))
    system.add_to(builder, "system", f"{own}:system", when)
    prompt.add_to(builder, "user", f"{own}:prompt", when)
    answer.add_to(builder, "assistant", own, when)


def _join_fragments(db: Connection, tables: set[str], table: str, own: str, text: Any) -> str:
    """A text behind the fragments that were put before it."""
    found: list[Any] = []
    if table in tables:
        joined = f"SELECT f.content FROM {table} p JOIN fragments f ON f.id = p.fragment_id"
        found = [one for (one,) in db.execute(f'{joined} WHERE p.response_id = ? ORDER BY p."order"', (own,))]
    return "\n".join(filter(None, map(as_text, (*found, text))))


def _add_turns(builder: TranscriptBuilder, db: Connection, turns: list[dict[str, Any]], *, has_older: bool) -> None:
    """Adds the chain of each turn. What an older version stored as responses stands before the first turn already."""
    seen: set[str] = set()
    if has_older and turns:
        seen.update(own for own, _ in _list_chain(db, as_text(turns[0].get("parent_message_hash")), seen)[:-1])
    for turn in turns:
        when = to_seconds(turn.get("datetime_utc"))
        for own, role in _list_chain(db, as_text(turn.get("tip_message_hash")), seen):
            seen.add(own)
            pieces = MessagePieces()
            for part in query_rows(db, "SELECT * FROM parts WHERE message_hash = ? ORDER BY position", own):
                _sort_part(pieces, db, part)
            pieces.add_to(builder, role if role in _ROLES else "system", own, when)


def _list_chain(db: Connection, tip: str | None, seen: set[str]) -> list[tuple[str, str]]:
    """The messages up to `tip` that are not in `seen`, with their roles; the oldest first."""
    chain: dict[str, str] = {}
    while tip is not None and tip not in seen and tip not in chain:
        row = db.execute("SELECT parent_hash, role FROM messages WHERE hash = ?", (tip,)).fetchone()
        if row is None:
            break
        chain[tip], tip = str(row[1]), as_text(row[0])
    return list(reversed(chain.items()))


def _sort_part(pieces: MessagePieces, db: Connection, row: dict[str, Any]) -> None:
    payload, kind, text = parse_object(row.get("payload") or "") or {}, row.get("type"), as_text(row.get("text"))
    for piece in map(as_mapping, as_list(payload.get("text_ref"))):
        text = (text or "") + (as_text(piece.get("literal")) or _find_fragment(db, piece.get("fragment")))
    if kind == "text":
        pieces.add_text(text)
    elif kind == "reasoning":
        pieces.add_thought(text)
    elif kind == "tool_call":
        pieces.add_call(payload.get("tool_call_id"), row.get("tool_name"), payload.get("arguments"))
    elif kind == "tool_result":
        output, failed = payload.get("output", text), bool(payload.get("exception"))
        pieces.add_output(payload.get("tool_call_id"), output, is_error=failed)
    else:
        given = as_text(as_mapping(payload.get("attachment")).get("id"))
        rows = query_rows(db, "SELECT * FROM attachments WHERE id = ?", given)
        pieces.parts.append(next(map(_to_file_part, rows), {**payload, "type": str(kind)}))


def _find_fragment(db: Connection, own: Any) -> str:
    found = (
        db.execute("SELECT content FROM fragments WHERE id = ?", (own,)).fetchone() if isinstance(own, int) else None
    )
    return str(found[0]) if found else ""


def _to_file_part(row: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "attachment", "media_type": row.get("type"), "path": row.get("path"), "url": row.get("url")}
    if isinstance(content := row.get("content"), bytes):
        part["data"] = base64.b64encode(content).decode()
    return {key: value for key, value in part.items() if value}


plugin = Plugin(name=NAME, summary="Imports the conversations of llm.", sources=[LlmImporter])
