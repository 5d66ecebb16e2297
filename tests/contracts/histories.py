"""The fixtures of other programs as histories: copied, unpacked, and able to grow and to break."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.importers.codex.importer import CodexImporter
from sojourn.importers.hermes import HermesImporter
from sojourn.importers.opencode.importer import OpencodeImporter
from sojourn.testing.importer_contract import ImporterHistory

SOURCES = Path(__file__).resolve().parents[1] / "fixtures" / "sources"
GARBAGE = b"\x00\xff neither text nor a database\n" * 200


def versions(program: str) -> list[str]:
    return sorted(path.name for path in (SOURCES / program).iterdir() if path.is_dir())


def expected(program: str, version: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SOURCES / program / version / "expected.json").read_text("utf-8"))
    return found


def copy(program: str, version: str, user_home: Path) -> Path:
    """The home a program left behind, as it lay on the disk."""
    shutil.copytree(SOURCES / program / version, user_home, dirs_exist_ok=True)
    for packed in user_home.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return user_home


def history(program: str, version: str, user_home: Path) -> ImporterHistory:
    copy(program, version, user_home)
    make = {"hermes": _hermes, "claude-code": _claude_code, "codex": _codex, "opencode": _opencode}[program]
    return make(user_home, expected(program, version))


def _talk(told: dict[str, Any]) -> dict[str, int]:
    """Where each record is one message: an answer's words, thoughts and calls are messages of their own."""
    sums = told["totals"]
    said = sums["assistant"] + sums["reasoning"] + sums["tool_calls"]
    return {"user": sums["user"], "assistant": said, "tool": sums["tool_results"]}


def _write(path: Path) -> Callable[[str], str]:
    def spoil(name: str) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(GARBAGE)
        return name

    return spoil


def add_lines(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _hermes(user_home: Path, told: dict[str, Any]) -> ImporterHistory:
    roles: Counter[str] = Counter()
    for kind, number in told["rows"].items():
        roles[kind.partition("/")[0]] += number

    def grow() -> int:
        with sqlite3.connect(user_home / ".hermes" / "state.db") as db:
            last = "SELECT id FROM sessions ORDER BY started_at DESC LIMIT 1"
            db.execute(
                f"INSERT INTO messages(session_id, role, content, timestamp) VALUES (({last}), 'user', 'more', 1.8e9)"
            )
        db.close()
        return 1

    damaged = user_home / ".hermes" / "profiles" / "work" / "state.db"
    return ImporterHistory(
        importer=HermesImporter(),
        user_home=user_home,
        sessions=told["totals"]["sessions"],
        roles=roles,
        grow=grow,
        spoil=lambda: _write(damaged)(str(damaged)),
    )


def _claude_code(user_home: Path, told: dict[str, Any]) -> ImporterHistory:
    project = user_home / ".claude" / "projects" / "-home-alex-project"
    fork = next(one["id"] for one in told["sessions"] if one["kind"] == "fork")
    helper = next(one for one in told["sessions"] if one["kind"] == "subagent")

    def grow() -> int:
        path = user_home / helper["file"]
        base = {"isSidechain": True, "sessionId": helper["parent"], "timestamp": "2027-01-01T00:00:00Z"}
        for role, content in (("user", "more"), ("assistant", [{"type": "text", "text": "ok"}])):
            said = {"type": role, "uuid": f"new-{role}", "message": {"role": role, "content": content}}
            add_lines(path, base | said)
        return 2

    return ImporterHistory(
        importer=ClaudeCodeImporter(),
        user_home=user_home,
        sessions=told["totals"]["sessions"],
        roles=_talk(told),
        grow=grow,
        spoil=lambda: _write(project / f"{fork}.jsonl")(fork),
    )


def _codex(user_home: Path, told: dict[str, Any]) -> ImporterHistory:
    first, last = told["sessions"][0], told["sessions"][-1]

    def grow() -> int:
        path = user_home / last["file"]
        items = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
        ]
        if told["version"] == "0.22.0":
            add_lines(path, *items)
            return 2
        shown = {"type": "event_msg", "payload": {"type": "user_message", "message": "more"}}
        sent = [{"type": "response_item", "payload": item} for item in items]
        moment = {"timestamp": "2027-01-01T00:00:00Z"}
        add_lines(path, moment | sent[0], moment | shown, moment | sent[1])
        return 2

    return ImporterHistory(
        importer=CodexImporter(),
        user_home=user_home,
        sessions=told["totals"]["sessions"],
        roles=_talk(told),
        grow=grow,
        spoil=lambda: _write(user_home / first["file"])(first["id"]),
    )


def _opencode(user_home: Path, told: dict[str, Any]) -> ImporterHistory:
    home, sums = user_home / ".local" / "share" / "opencode", told["totals"]
    last = max(one["id"] for one in told["sessions"])
    tree = home / "storage"

    def grow() -> int:
        if not tree.is_dir():
            return _grow_database(home / "opencode.db", last)
        for data, part in _prompt_and_answer(2e12):
            (tree / "message" / last / f"{data['id']}.json").write_text(json.dumps(data))
            (tree / "part" / data["id"]).mkdir()
            (tree / "part" / data["id"] / f"prt_{data['id']}.json").write_text(json.dumps(part))
        return 2

    def spoil() -> str:
        if not tree.is_dir():
            return _write(home / "opencode-next.db")("opencode-next.db")
        [path] = tree.glob(f"session/*/{last}.json")
        path.write_text(path.read_text()[:100])
        return last

    return ImporterHistory(
        importer=OpencodeImporter(),
        user_home=user_home,
        sessions=sums["sessions"],
        roles={"user": sums["user"], "tool": sums["tool_results"]},
        grow=grow,
        spoil=spoil,
    )


def _prompt_and_answer(created: float) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    times = {"created": created, "completed": created}
    return [
        ({"id": "msg_z1", "role": "user", "time": times}, {"type": "text", "text": "more"}),
        ({"id": "msg_z2", "role": "assistant", "time": times}, {"type": "text", "text": "ok"}),
    ]


def _grow_database(path: Path, session: str) -> int:
    with sqlite3.connect(path) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
        of = "SELECT count(*) FROM session_message WHERE session_id = ?"
        is_second = "session_message" in names and db.execute(of, (session,)).fetchone()[0]
        for number, (data, part) in enumerate(_prompt_and_answer(2e12)):
            own, moment, text = data["id"], int(2e12), json.dumps(data | {"content": [part], "text": part["text"]})
            if is_second:
                row = (own, session, data["role"], 10_000 + number, moment, moment, text)
                columns = "id, session_id, type, seq, time_created, time_updated, data"
                db.execute(f"INSERT INTO session_message({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                continue
            db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (own, session, moment, moment, text))
            shown = (f"prt_{own}", own, session, moment, moment, json.dumps(part))
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", shown)
    db.close()
    return 2
