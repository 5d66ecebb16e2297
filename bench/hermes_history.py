"""Makes a seeded Hermes history of any size. Run by a Python that has hermes-agent, whose own code makes the tables.

    python bench/hermes_history.py --home DIR --sessions 1000 --seed s [--bytes-per-message 1500]

The same arguments give the same rows; the last line is a JSON summary with their hash. Sizes have long tails, tool
results are mostly one long line of JSON, and now and then there is what scanners trip over: undone rows, archived
and empty sessions, broken JSON, letters outside ASCII.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAID = (
    "the file has a line that reads from the table and then writes each value into a list of names before it closes "
    "while another part waits for an answer so that nothing is lost when the machine stops or the network is slow "
    "we look at the log compare both sides find the difference change one number run it again and keep what works"
)
WORDS = SAID.split()
SPICE = (
    "Traceback (most recent call last):",
    "error: port 8080 is already in use",
    "permission denied",
    "git commit -m",
    "npm install failed with errors",
    "docker compose up",
    "src/app/main.py",
    "config.yaml",
    "pytest -q passed",
    "https://example.org/docs",
    "the gateway restarted",
    "CSS grid",
    "rollback to the checkpoint",
    "cache hit",
    "ollama run llama3",
    "claude and codex",
    "docs/guide.md",
    "screenshot.png",
    "中文的错误信息",
    "ошибка в журнале",
    "release v1.2.3",
    "memory of the plugin",
    "export OPENAI_API_KEY",
    "git log --oneline",
    "README.md",
)
TOOLS = (
    ("terminal", "command"),
    ("read_file", "path"),
    ("write_file", "path"),
    ("patch", "path"),
    ("search_files", "query"),
    ("web_search", "query"),
    ("web_extract", "url"),
    ("execute_code", "code"),
    ("browser_navigate", "url"),
    ("memory", "text"),
    ("skill_view", "name"),
    ("delegate_task", "goal"),
    ("process", "action"),
    ("todo", "items"),
)
MODELS = ("gpt-5", "claude-opus-4", "anthropic/claude-sonnet-4", "ollama/llama3", "gemini-2.5-pro", None)
START = 1_700_000_000.0
Row = tuple[Any, ...]


def text(chance: random.Random, size: int) -> str:
    made: list[str] = []
    length = 0
    while length < size:
        word = chance.choice(SPICE) if chance.random() < 0.02 else chance.choice(WORDS)
        made.append(word + ("\n" if chance.random() < 0.03 else " "))
        length += len(word) + 1
    return "".join(made)


def messages(chance: random.Random, count: int, size: float, at: float) -> Iterator[Row]:
    """Role, content, tool_calls, tool_call_id, tool_name, timestamp, active."""
    number = 0
    while number < count:
        yield "user", text(chance, _size(chance, size / 3)), None, None, None, at + number, _active(chance)
        number += 1
        for step in range(min(chance.randint(0, 5), (count - number) // 2)):
            tool, argument = chance.choice(TOOLS)
            given = json.dumps({argument: text(chance, 40)}) if chance.random() > 0.01 else '{"broken": '
            call = {"id": f"call_{number}_{step}", "type": "function", "function": {"name": tool, "arguments": given}}
            yield "assistant", None, json.dumps([call]), None, None, at + number, 1
            result = json.dumps(answer(chance, tool, text(chance, _size(chance, size * 2))))
            yield "tool", result, None, call["id"], tool, at + number + 0.5, 1
            number += 2
        if number < count:
            yield "assistant", text(chance, _size(chance, size / 2)), None, None, None, at + number, 1
            number += 1


def answer(chance: random.Random, tool: str, words: str) -> dict[str, Any]:
    """What a tool answers, each in its own form; one in four fails and says so."""
    fails = chance.random() < 0.25
    if tool == "terminal":
        return {"output": words, "exit_code": int(fails), "error": None}
    if tool == "execute_code":
        return {"status": "error" if fails else "success", "output": words, "tool_calls_made": 0}
    if tool == "process":
        return {"status": "exited", "output": words, "exit_code": int(fails), "uptime_seconds": 3}
    if fails:
        return {"success": False, "error": words[:200]}
    lines = words.splitlines()
    answers: dict[str, dict[str, Any]] = {
        "read_file": {"content": words, "total_lines": len(lines), "file_size": len(words), "truncated": False},
        "write_file": {"bytes_written": len(words), "diff": words},
        "patch": {"success": True, "diff": words, "files_modified": ["src/app/main.py"]},
        "search_files": {
            "total_count": len(lines),
            "matches": [{"path": "a.py", "line": 1, "content": one} for one in lines],
        },
        "web_search": {
            "success": True,
            "data": {"web": [{"url": "https://example.org", "description": one} for one in lines]},
        },
        "web_extract": {
            "results": [{"url": "https://example.org", "title": "Example", "content": words, "error": None}]
        },
        "browser_navigate": {"success": True, "url": "https://example.org", "title": "Example", "snapshot": words},
    }
    return answers.get(tool, {"success": True, "content": words})


def _size(chance: random.Random, mean: float) -> int:
    return max(1, int(mean * math.exp(chance.gauss(0, 0.9)) / 1.5))


def _active(chance: random.Random) -> int:
    return 0 if chance.random() < 0.01 else 1


def fill(db: sqlite3.Connection, asked: argparse.Namespace) -> dict[str, Any]:
    digest, total, calls = hashlib.blake2b(digest_size=16), 0, 0
    columns = "session_id, role, content, tool_calls, tool_call_id, tool_name, timestamp, active"
    for number in range(asked.sessions):
        chance = random.Random(f"{asked.seed}:{number}")
        at = START + number * 3600 + chance.random() * 600
        key = f"made_{number:06d}_{chance.getrandbits(32):08x}"
        archived, count = int(chance.random() < 0.01), int(asked.messages_per_session * chance.uniform(0.2, 1.8))
        count = 0 if chance.random() < 0.01 else max(1, count)
        db.execute(
            "INSERT INTO sessions (id, source, model, started_at, title, archived) VALUES (?, ?, ?, ?, ?, ?)",
            (
                key,
                chance.choice(("cli", "telegram")),
                chance.choice(MODELS),
                at,
                f"Session {number}" if chance.random() < 0.7 else None,
                archived,
            ),
        )
        rows = list(messages(chance, count, asked.bytes_per_message, at))
        db.executemany(f"INSERT INTO messages ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ((key, *r) for r in rows))
        digest.update(repr((key, rows)).encode())
        total, calls = total + len(rows), calls + sum(row[2] is not None for row in rows)
    return {"sessions": asked.sessions, "messages": total, "tool_calls": calls, "rows_blake2b": digest.hexdigest()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--sessions", type=int, required=True)
    parser.add_argument("--seed", default="history")
    parser.add_argument("--messages-per-session", type=float, default=86)
    parser.add_argument("--bytes-per-message", type=float, default=1500)
    asked = parser.parse_args()
    shutil.rmtree(asked.home, ignore_errors=True)
    asked.home.mkdir(parents=True)
    os.environ["HERMES_HOME"] = str(asked.home)
    from hermes_state import SessionDB  # type: ignore[import-not-found]  # noqa: PLC0415  reads HERMES_HOME

    SessionDB(asked.home / "state.db").close()
    db = sqlite3.connect(asked.home / "state.db")
    triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'messages'"
    for (name,) in db.execute(triggers).fetchall():
        db.execute(f"DROP TRIGGER {name}")  # nobody searches here, and the index would take most of the time
    with db:
        made = fill(db, asked)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    print(json.dumps(made))


if __name__ == "__main__":
    main()
