"""Kept secrets: redacts and folds what a store kept before its text was redacted in the stream.

It works session by session, each in a transaction of its own, and `redaction` in meta says how far it is. So it can be
killed at any point and goes on with the next start. Two processes may do it at once: each step reads its place inside
its transaction.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from itertools import groupby
from typing import Any

from sojourn.stores.sql.db import Db, Row, fetch_number
from sojourn.stores.sql.folded_chunks import encode_folded, is_folded, save_folded, split_runs
from sojourn.stores.sql.rows import title_terms
from sojourn.text.escape import escape, unescape
from sojourn.text.redaction import find_secrets, redact
from sojourn.text.stream_redaction import StreamRedactor

_KEY = "redaction"
_REPORT_SESSIONS = 500  # how often the progress of a large store is said
_OTHERS = (
    "SELECT seq FROM events WHERE session_id = ? AND name <> 'chunk' "
    "UNION ALL SELECT seq FROM messages WHERE session_id = ? ORDER BY 1"
)
Run = Callable[[Callable[[Db], Any]], Any]  # runs a function in one transaction

logger = logging.getLogger(__name__)


def has_kept_secrets(db: Db) -> bool:
    """Whether there is something left to do."""
    state = read_state(db)
    return state is not None and "after" in state


def read_state(db: Db) -> dict[str, Any] | None:
    """How far the redaction is: `after` a session while it runs, and how many secrets it has `found`."""
    row = db.fetch_one("SELECT value FROM meta WHERE key = ?", (_KEY,))
    return None if row is None else dict(json.loads(row["value"]))


def count_found(db: Db) -> int:
    """How many secrets were found so far."""
    return int((read_state(db) or {}).get("found", 0))


def redact_store(run: Run) -> int:
    """Redacts everything that is left, and returns how many secrets were found in all."""
    total, done = run(lambda db: fetch_number(db, "SELECT count(*) AS n FROM sessions")), 0
    while run(_redact_next):
        done += 1
        if done % _REPORT_SESSIONS == 0:
            logger.warning("older text is being redacted: %s of %s sessions", f"{done:,}", f"{total:,}")
    return int(run(count_found))


def finish(db: Db) -> None:
    """Marks it as done."""
    state = read_state(db) or {}
    _save(db, {"found": state.get("found", 0)})


def _save(db: Db, state: dict[str, Any]) -> None:
    db.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(state), _KEY))


def _redact_next(db: Db) -> bool:
    """Redacts one session. False if none is left."""
    state = read_state(db)
    if state is None or "after" not in state:
        return False
    order = f"id{db.collate}"
    row = db.fetch_one(
        f"SELECT id, principal, title, preview FROM sessions WHERE {order} > ? ORDER BY {order} LIMIT 1",
        (state["after"],),
    )
    if row is None:
        return False
    found = _redact_session_row(db, row) + _redact_events(db, row["id"]) + _redact_names(db, row["id"])
    _hash_keys(db, row["id"])
    _save(db, {"after": row["id"], "found": state["found"] + found})
    return True


def _redact_session_row(db: Db, row: Row) -> int:
    title, preview = row["title"], row["preview"]
    wanted = redact(title) if title else title
    if wanted != title:
        wanted = _find_free_title(db, row, wanted)
        db.execute(
            "UPDATE sessions SET title = ?, title_terms = ?, revision = revision + 1 WHERE id = ?",
            (wanted, title_terms(wanted), row["id"]),
        )
    if redact(preview) != preview:
        db.execute("UPDATE sessions SET preview = ? WHERE id = ?", (redact(preview), row["id"]))
    return int(wanted != title) + int(redact(preview) != preview)


def _find_free_title(db: Db, row: Row, title: str) -> str:
    """Two titles may have differed by their secrets only."""
    wanted, number = title, 1
    while fetch_number(
        db,
        "SELECT count(*) AS n FROM sessions WHERE principal = ? AND title = ? AND id <> ?",
        (row["principal"], wanted, row["id"]),
    ):
        number += 1
        wanted = f"{title} ({number})"
    return wanted


def _redact_events(db: Db, session: str) -> int:
    rows = db.fetch_all("SELECT seq, turn_id, name, data FROM events WHERE session_id = ? ORDER BY seq", (session,))
    found = 0
    others = [row["seq"] for row in db.fetch_all(_OTHERS, (session, session))]
    for _, turn in groupby((row for row in rows if row["name"] == "chunk"), key=lambda row: row["turn_id"]):
        for run in split_runs(turn, others):
            found += _fold_run(db, session, run)
    for row in (row for row in rows if row["name"] != "chunk"):
        redacted = redact(row["data"])
        if redacted != row["data"]:
            found += 1
            db.execute("UPDATE events SET data = ? WHERE session_id = ? AND seq = ?", (redacted, session, row["seq"]))
    return found + _redact_thoughts(db, session, rows)


def _fold_run(db: Db, session: str, run: list[Row]) -> int:
    """Redacts chunks as the one text that they are, and folds them."""
    values = [unescape(row["data"]) for row in run]
    if any(map(is_folded, values)):
        return 0
    texts, stream = [json.loads(value)["text"] for value in values], StreamRedactor()
    pieces = [stream.feed(text) for text in texts]
    pieces[-1] += stream.end()
    found = len(find_secrets("".join(texts)))
    if len(run) > 1 or found:
        save_folded(
            db, session, run, encode_folded([(row["seq"], piece) for row, piece in zip(run, pieces, strict=True)])
        )
    return found


def _redact_thoughts(db: Db, session: str, rows: list[Row]) -> int:
    """Redacts the reasoning of each turn as one text."""
    found = 0
    for _, turn in groupby((row for row in rows if row["name"] == "progress"), key=lambda row: row["turn_id"]):
        stream, thoughts = StreamRedactor(), list[tuple[int, dict[str, Any], str, str]]()
        for row in turn:
            data = json.loads(unescape(row["data"]))
            text = data.get("detail", {}).get("text") if data.get("stage") == "thinking" else None
            if isinstance(text, str):
                thoughts.append((row["seq"], data, text, stream.feed(text)))
        rest = stream.end()
        for number, (seq, data, text, piece) in enumerate(thoughts, 1):
            redacted = piece + (rest if number == len(thoughts) else "")
            if redacted != text:
                found += redacted.count("[redacted:") > text.count("[redacted:")
                data["detail"] = {**data["detail"], "text": redacted}
                value = escape(json.dumps(data, ensure_ascii=False))
                db.execute("UPDATE events SET data = ? WHERE session_id = ? AND seq = ?", (value, session, seq))
    return found


def _redact_names(db: Db, session: str) -> int:
    """Redacts the names of attachments. Two that become the same are one."""
    found = 0
    for row in db.fetch_all("SELECT hash, name FROM blob_uses WHERE session_id = ?", (session,)):
        name = redact(row["name"])
        if name != row["name"]:
            found += 1
            same = (session, row["hash"], name)
            taken = fetch_number(
                db, "SELECT count(*) AS n FROM blob_uses WHERE session_id = ? AND hash = ? AND name = ?", same
            )
            if taken:
                db.execute(
                    "DELETE FROM blob_uses WHERE session_id = ? AND hash = ? AND name = ?", (*same[:2], row["name"])
                )
            else:
                db.execute(
                    "UPDATE blob_uses SET name = ? WHERE session_id = ? AND hash = ? AND name = ?",
                    (name, *same[:2], row["name"]),
                )
    return found


def _hash_keys(db: Db, session: str) -> None:
    """Replaces idempotency keys by their hashes, as `service/idempotency.py` stores them now."""
    rows = db.fetch_all("SELECT key FROM records WHERE kind = 'idempotency' AND session_id = ?", (session,))
    for row in rows:
        key = unescape(row["key"]).removeprefix(f"{unescape(session)}/")
        if len(key) != 64:
            digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
            db.execute(
                "UPDATE records SET key = ? WHERE kind = 'idempotency' AND key = ?", (f"{session}/{digest}", row["key"])
            )
