"""With the real Hermes 0.19 from PyPI beside us: it can read our store, and we import from it while it writes."""

import asyncio
import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.ports.store import Listing
from sojourn.stores.sqlite.store import SqliteStore

ROOT = Path(__file__).resolve().parents[2]
BUSY = """
import sys, time
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
number = 0
while True:
    session = f"busy_{number // 20:04}"
    if number % 20 == 0:
        db.create_session(session, "cli")
    at = time.perf_counter()
    db.append_message(session, "user", f"message {number} " + "words " * 150)
    number += 1
    print(number, time.perf_counter() - at, flush=True)
"""


@pytest.fixture(scope="session")
def hermes() -> Path:
    """The interpreter that has hermes-agent."""
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    return ROOT / ".venv-hermes" / "bin" / "python"


def ask_hermes(hermes: Path, script: str, *arguments: str) -> Any:
    done = subprocess.run([hermes, "-c", script, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def test_hermes_own_code_reads_our_store(home: Path, hermes: Path) -> None:
    home.mkdir()
    store = SqliteStore(home / "state.db")
    session = await store.create(title="Watering plan", model="some-model")
    lease = await store.lease(session.id, holder="test", surface="cli")
    call = ToolCall(id="c1", name="terminal", arguments='{"command": "ls"}')
    said = [user("list the files"), assistant("", [call]), tool_result(call, "a.txt"), assistant("One file: a.txt")]
    await store.append(lease, said)
    await store.close()
    script = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]), read_only=True)
[session] = db.list_sessions_rich()
rows = db.get_messages(session["id"])
talk = db.get_messages_as_conversation(session["id"])
print(json.dumps({"title": session["title"], "preview": session["preview"], "count": session["message_count"],
                  "roles": [row["role"] for row in rows], "tool": rows[2]["tool_name"], "talk": talk}))
"""
    seen = ask_hermes(hermes, script, str(home / "state.db"))
    assert (seen["title"], seen["preview"], seen["count"]) == ("Watering plan", "list the files", 4)
    assert (seen["roles"], seen["tool"]) == (["user", "assistant", "tool", "assistant"], "terminal")
    assert seen["talk"][1]["tool_calls"][0]["function"] == {"name": "terminal", "arguments": '{"command": "ls"}'}


@pytest.fixture
def busy(hermes: Path, home: Path) -> Iterator[Path]:
    """A Hermes that writes without pause."""
    place = home.parent / ".hermes"
    place.mkdir()
    process = subprocess.Popen([hermes, "-c", BUSY, str(place / "state.db")], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for _ in range(50):
        process.stdout.readline()
    yield place
    process.kill()
    longest = max(float(line.split()[1]) for line in process.stdout.read().splitlines()[:-1])
    process.wait()
    assert longest < 1.0, f"Hermes had to wait {longest:.1f} s for us"
    process.stdout.close()


async def test_a_hermes_that_is_writing_is_neither_blocked_nor_changed(home: Path, busy: Path) -> None:
    place = busy
    app = App(config.load({"home": str(home)}))
    [found] = app.find_histories(place)
    reports = []
    for _ in range(4):
        reports.append(await app.import_history(found))
        await asyncio.sleep(0.3)
    assert all(not report.problem and not report.skipped for report in reports)
    assert reports[0].imported > 0
    assert sum(report.new_messages for report in reports[1:]) > 0, "Hermes went on writing, and we saw it"
    connection = sqlite3.connect(f"file:{place / 'state.db'}?mode=ro", uri=True)
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    theirs = [row[0] for row in connection.execute("SELECT content FROM messages WHERE session_id = 'busy_0000'")]
    connection.close()
    ours = [item.item async for item in app.store.read((await app.store.resolve("busy_0000")).id)]
    assert [item.content for item in ours if isinstance(item, Message)] == theirs
    await app.close()


async def test_reading_a_hermes_home_leaves_no_trace_in_it(home: Path, hermes: Path) -> None:
    place = home.parent / ".hermes"
    place.mkdir()
    ask_hermes(
        hermes,
        "import sys; from pathlib import Path; from hermes_state import SessionDB\n"
        "db = SessionDB(Path(sys.argv[1])); db.create_session('one', 'cli')\n"
        "db.append_message('one', 'user', 'hello'); db.close(); print(1)",
        str(place / "state.db"),
    )
    before = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in place.iterdir()}
    app = App(config.load({"home": str(home)}))
    [found] = app.find_histories()
    assert (await app.import_history(found)).imported == 1
    assert [session.id for session in await app.store.find(Listing())] == ["one"]
    await app.close()
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in place.iterdir()} == before


def test_the_interpreter_of_the_tests_has_no_hermes_in_it() -> None:
    done = subprocess.run([sys.executable, "-c", "import hermes_state"], capture_output=True)
    assert done.returncode != 0
