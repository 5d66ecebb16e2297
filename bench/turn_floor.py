"""The floor of `bench/turn`: streams an answer and stores its rows in one synced transaction, and nothing else.

python -m bench.turn_floor DATABASE PORT
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import AsyncGenerator

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse


def build_app(path: str) -> FastAPI:
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE log(id INTEGER PRIMARY KEY, data TEXT)"
    )
    app = FastAPI()

    @app.post("/api/chat/stream")
    async def stream_answer(request: Request) -> StreamingResponse:
        text = str((await request.json())["message"])
        return StreamingResponse(_answer(db, text), media_type="text/event-stream")

    return app


async def _answer(db: sqlite3.Connection, text: str) -> AsyncGenerator[str, None]:
    words = [json.dumps({"text": f"{word} "}) for word in text.split()]
    pieces = [f"event: chunk\ndata: {data}\nid: {number}\n\n" for number, data in enumerate(words)]
    messages = [json.dumps({"role": role, "content": text}) for role in ("user", "assistant")]
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO log(data) VALUES (?)", [(row,) for row in (*pieces, *messages)])
    db.execute("COMMIT")
    for piece in pieces:
        yield piece
    yield "event: done\ndata: {}\nid: 99\n\n"


if __name__ == "__main__":
    uvicorn.run(build_app(sys.argv[1]), port=int(sys.argv[2]), log_level="error", access_log=False)
