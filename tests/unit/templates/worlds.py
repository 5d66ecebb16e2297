"""Small pasts to make templates of: rows in memory, a store of ours, a Hermes home."""

import asyncio
import json
import sqlite3
from contextlib import closing

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.ports.importer import Transcript
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.text.redaction import no_redaction

GOOD = json.dumps({"output": "fine", "exit_code": 0, "error": None})
BAD = json.dumps({"output": "", "exit_code": 1, "error": "no"})


def did(tool, arguments=None, result=GOOD, id=""):
    """A call and its answer, as two messages."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    call = ToolCall(id=id or f"call_{abs(hash((tool, given, result))) % 10**9}", name=tool, arguments=given)
    return [assistant("", [call]), tool_result(call, result)]


def ran(command, output="fine", code=0, id=""):
    return did("terminal", {"command": command}, json.dumps({"output": output, "exit_code": code}), id)


def rows(*messages):
    """Messages as a history tells them."""

    def raw(text):
        return None if text is None else text.encode()

    found = []
    for number, one in enumerate(messages, 1):
        if one.active and (one.tool_calls or one.role in ("user", "tool")):
            said = None if one.role == "assistant" else raw(one.content)
            more = (raw(one.tool_call_id), raw(one.effect_disposition), raw(one.extra))
            found.append((number, raw(one.role), said, one.structured, raw(one.tool_calls), raw(one.tool_name), *more))
    return found


def fill(home, sessions, *, principal="owner"):
    """A store of ours in `home`; sessions are lists of messages by id."""

    async def work():
        store = SqliteStore(home / "state.db", redactor=no_redaction)
        batch = [
            ("1", Transcript(native_id=id, fields={"source": "cli", "started_at": 1.7e9 + at}, messages=list(messages)))
            for at, (id, messages) in enumerate(sessions.items())
        ]
        await store.ingest("test", "here", batch, principal=principal)
        await store.close()

    home.mkdir(parents=True, exist_ok=True)
    asyncio.run(work())
    return home


def hermes(home, sessions):
    """A state.db as Hermes makes it, as far as we read it; a session is a list of rows."""
    home.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(home / "state.db")) as db:
        db.executescript("""
            CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, model TEXT, started_at REAL);
            CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT,
                tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, active INTEGER DEFAULT 1,
                effect_disposition TEXT);
        """)
        for id, messages in sessions.items():
            db.execute("INSERT INTO sessions VALUES (?, 'cli', NULL, 'm', 1.0)", (id,))
            for at, row in enumerate(messages):
                values = {"session_id": id, "timestamp": 1000.0 - at, "active": 1} | row
                names, marks = ", ".join(values), ", ".join("?" * len(values))
                db.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", list(values.values()))
        db.commit()
    return home


def said(text):
    return user(text)
