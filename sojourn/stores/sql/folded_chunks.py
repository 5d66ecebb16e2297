"""Folded chunks: when a turn ends, the chunks of its answer become one event.

A run of chunks without any other item between them is folded into its last one. That keeps its number and lists where
each earlier chunk ended, so a reader who has seen some of them gets only the text behind. The other numbers stay
unused for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

from sojourn.core.sessions import SessionId, TurnId
from sojourn.stores.sql.db import Db, Row
from sojourn.text.escape import escape, unescape

_FIRST = (  # reads backwards, no further than the turn
    "SELECT seq FROM events WHERE session_id = ? AND turn_id = ? AND name = 'metadata' ORDER BY seq DESC LIMIT 1"
)
_CHUNKS = (
    "SELECT seq, data FROM events WHERE session_id = ? AND turn_id = ? AND name = 'chunk' "
    f"AND seq >= COALESCE(({_FIRST}), 0) ORDER BY seq"
)
_OTHERS = (
    "SELECT seq FROM events WHERE session_id = ? AND seq >= ? AND name <> 'chunk' "
    "UNION ALL SELECT seq FROM messages WHERE session_id = ? AND seq >= ? ORDER BY 1"
)
Pieces = list[tuple[int, str]]  # the number and the text of each chunk


def fold_turn(db: Db, session: SessionId, turn: TurnId) -> None:
    """Folds the chunks of a turn that has just ended."""
    rows = db.fetch_all(_CHUNKS, (session, turn, session, turn))
    if len(rows) < 2:
        return
    first = rows[0]["seq"]
    others = [row["seq"] for row in db.fetch_all(_OTHERS, (session, first, session, first))]
    for run in split_runs(rows, others):
        if len(run) > 1:
            pieces = [(row["seq"], json.loads(unescape(row["data"]))["text"]) for row in run]
            save_folded(db, session, run, encode_folded(pieces))


def split_runs(rows: Iterable[Row], others: Sequence[int]) -> list[list[Row]]:
    """Splits chunks where another item comes between them."""
    runs: list[list[Row]] = []
    waiting = list(reversed(others))
    last = None
    for row in rows:
        while waiting and waiting[-1] < row["seq"]:
            last = waiting.pop()
        if runs and (last is None or last < runs[-1][-1]["seq"]):
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def save_folded(db: Db, session: str, run: Sequence[Row], data: str) -> None:
    first, last = run[0]["seq"], run[-1]["seq"]
    db.execute("DELETE FROM events WHERE session_id = ? AND seq >= ? AND seq < ?", (session, first, last))
    db.execute("UPDATE events SET data = ? WHERE session_id = ? AND seq = ?", (escape(data), session, last))


def encode_folded(pieces: Pieces) -> str:
    """Encodes chunks as one. `ends`: for chunks with consecutive numbers the first number, then the length of each."""
    ends: list[list[int]] = []
    for (before, _), (seq, text) in pairwise([(-1, ""), *pieces[:-1]]):
        if seq != before + 1 or not ends:
            ends.append([seq])
        ends[-1].append(len(text))
    text = "".join(text for _, text in pieces)
    return json.dumps({"text": text, "ends": ends}, ensure_ascii=False, separators=(",", ":"))


def is_folded(data: str) -> bool:
    """Whether the data of a chunk may hold more than one; `cut_folded` knows for sure."""
    return '"ends":' in data


def cut_folded(data: str, after: int) -> str:
    """The text of a chunk behind what a reader has seen who knows everything up to a number."""
    values = json.loads(data)
    seen = sum(sum(lengths[: max(0, after - first + 1)]) for first, *lengths in values.get("ends", ()))
    return str(values["text"][seen:])
