"""The real Hermes 0.19 at work and a scanner that follows it: the numbers are always those of a fresh scan."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.importers.hermes_history import HermesHistory
from tests.unit.achievements.test_hermes_changes import Hermes, told

ROOT = Path(__file__).resolve().parents[2]
BOOK = RuleBook()
# Does what it is told, line by line, with Hermes' own code.
TOLD = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
db, path = None, Path(sys.argv[1])
for line in sys.stdin:
    name, *arguments = json.loads(line)
    if name == "close" and db:
        db.close()
        db = None
    elif name != "close":
        db = db or SessionDB(path)
        if name == "create_session":
            db.create_session(*arguments, model="m-1", system_prompt="You are. " * 2000)
        elif name == "rewind_to_message":
            rows = db.get_messages(arguments[0])
            users = [row["id"] for row in rows if row["role"] == "user"]
            if users:
                db.rewind_to_message(arguments[0], users[-1])
        else:
            getattr(db, name)(*arguments)
    print("done", flush=True)
"""
TEXTS = ["error in codex", "git", "push", "see ./a.py and ./b.md", "word " * 1500, '{"exit_code": 0, "error": null}']


@pytest.fixture
def tell(tmp_path):
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    process = subprocess.Popen(
        [ROOT / ".venv-hermes" / "bin" / "python", "-c", TOLD, tmp_path / "state.db"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def tells(*order):
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    with process:
        yield tells
    assert process.returncode == 0


def order(chance, sessions):
    session, text = chance.choice(sessions), chance.choice(TEXTS)
    short = [{"role": "user", "content": text}, {"role": "assistant", "content": "done"}]
    orders = [("append_message", session, "user", text)] * 9
    orders += [("append_message", session, "tool", text, "terminal")] * 3
    orders += [("rewind_to_message", session), ("restore_rewound", session, 0), ("archive_and_compact", session, short)]
    orders += [("replace_messages", session, short), ("set_session_archived", session, chance.random() < 0.5)]
    orders += [("set_session_title", session, f"title {chance.randrange(10**6):06}"), ("delete_session", session)]
    orders += [("update_session_model", session, f"m-{chance.randrange(9)}"), ("close",)]
    return chance.choice(orders)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_hermes_does_is_counted_as_if_seen_for_the_first_time(seed, tmp_path, tell):
    chance, numbers, sessions = random.Random(seed), count(), [f"s{number}" for number in range(8)]
    for session in sessions:
        tell("create_session", session, "cli")
        tell("append_message", session, "user", "hello")
    history = HermesHistory(tmp_path)
    job = ScanJob(history, FolderStore(tmp_path / "documents"), BOOK, ScanSettings(workers=1))
    for number in range(60):
        for _ in range(chance.randrange(1, 4)):
            done = order(chance, sessions)
            tell(*done)
            if done[0] == "delete_session":
                sessions[sessions.index(done[1])] = made = f"n{next(numbers)}"
                tell("create_session", made, "cli")
        now, fresh = job.run(), HermesHistory(tmp_path)
        again = ScanJob(fresh, FolderStore(tmp_path / f"documents{number}"), BOOK, ScanSettings(workers=1)).run()
        assert list(now.records) == list(again.records), number
        assert now.snapshot["aggregate"] == again.snapshot["aggregate"]
        fresh.close()
    history.close()


# Two of these at once, each doing whatever comes to its mind.
BUSY = """
import random, sqlite3, sys, time
from itertools import count
from tests.unit.achievements.test_hermes_changes import Hermes
hermes, number = Hermes.__new__(Hermes), int(sys.argv[2])
hermes.path, hermes.random, hermes.numbers = sys.argv[1], random.Random(number), count(number * 100_000)
hermes.db = hermes.opened()
until = time.monotonic() + 5
while time.monotonic() < until:
    try:
        hermes.do()
    except sqlite3.OperationalError:  # the other one was quicker
        if hermes.db.in_transaction:
            hermes.db.execute("ROLLBACK")
    time.sleep(hermes.random.random() * 0.004)
hermes.db.close()
"""


def test_two_that_write_all_the_time_are_followed_without_missing_anything(tmp_path):
    hermes = Hermes(tmp_path / "state.db", 3)
    history, known, looks = HermesHistory(tmp_path), {}, 0
    writers = [
        subprocess.Popen([sys.executable, "-c", BUSY, tmp_path / "state.db", str(one)], cwd=ROOT) for one in (1, 2)
    ]
    while any(writer.poll() is None for writer in writers):
        for _ in range(40):
            known, looks = told(history, known), looks + 1
        hermes.db.execute("BEGIN IMMEDIATE")  # for a moment nobody writes
        known = told(history, known)
        fresh = HermesHistory(tmp_path)
        assert known == {facts.id: facts for facts in fresh.sessions()}
        fresh.close()
        hermes.db.execute("COMMIT")
        time.sleep(0.02)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert looks > 100
    history.close()
    hermes.db.close()
