"""Lasting approvals: as narrow as one command, listed, revoked at once; those from before the upgrade are gone."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from sojourn.core.sessions import OWNER
from sojourn.ports.service import Caller
from sojourn.stores.postgres.migrate import load_migrations as load_postgres_migrations
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.migrate import load_migrations as load_sqlite_migrations
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from sojourn.turn_support.lasting_approvals import ApprovalList
from tests.e2e.chat_terminal import Chatter
from tests.e2e.http_server import PROGRAM
from tests.security.agent_server import SECRET, open_agent, write_config

ME = Caller(surface="cli", principal=OWNER)
OLD = (
    ("always/owner/terminal", '{"choice": "always", "by": "cli"}'),
    ("always/owner/terminal/sandbox", '{"choice": "always", "by": "cli"}'),
)


def sojourn(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROGRAM), "--home", str(home), *args], capture_output=True, text=True, timeout=60)


def test_always_for_one_command_allowed_every_command(home: Path) -> None:
    one, other = Call("terminal", {"command": "touch one"}), Call("terminal", {"command": "touch other"})
    with open_agent(home, [one], [one], [other], [Say("Done.")]) as agent:
        session = agent.open()
        agent.say(session)
        agent.answer(session, agent.asked(session)["question"], "always")
        agent.wait(lambda: agent.approvals(session)[-1]["status"] == "asked" and len(agent.approvals(session)) > 2)
        assert agent.asked(session)["detail"] == "touch other"
        agent.answer(session, agent.asked(session)["question"], "deny")
        agent.done(session)
        assert not (agent.folder / "other").exists()


def test_what_was_granted_could_not_be_seen_or_revoked(home: Path) -> None:
    command = Call("terminal", {"command": "touch one"})
    with open_agent(home, [command], [Say("Done.")], [command], [Say("Done.")]) as agent:
        session = agent.open()
        agent.say(session)
        agent.answer(session, agent.asked(session)["question"], "always", covers="tool")
        agent.done(session)
        shown = sojourn(home, "approvals")
        assert "always: terminal inside the sandbox, every call" in shown.stdout
        [given] = json.loads(sojourn(home, "approvals", "list", "--json").stdout)
        assert agent.client.get("/api/approvals").json()["approvals"][0]["id"] == given["id"]
        assert sojourn(home, "approvals", "revoke").returncode == 2
        assert sojourn(home, "approvals", "revoke", "a_nothing").returncode == 3
        assert "Revoked" in sojourn(home, "approvals", "revoke", given["id"]).stdout
        agent.say(session)  # in a server that was running all the time
        assert len(agent.approvals(session)) >= 2
        agent.wait(lambda: agent.approvals(session)[-1]["status"] == "asked")
        agent.answer(session, agent.asked(session)["question"], "always")
        agent.done(session)
        guest = {"sojourn-principal": "guest:fake:43"}
        assert agent.client.get("/api/approvals", headers=guest).status_code == 401
        assert agent.client.delete("/api/approvals", headers=guest).status_code == 401
        assert agent.client.delete("/api/approvals").json() == {"revoked": 1}
        assert "Nothing is allowed" in sojourn(home, "approvals").stdout


def test_the_terminal_hid_part_of_the_command_that_was_approved(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ModelServer([Call("terminal", {"command": f"printf %s {SECRET} > out.txt"})], [Say("All done.")]) as model:
        write_config(home, model)
        person = Chatter("--runtime", "native")
        person.sees("/help", 60)
        person.says("go")
        person.sees("[y]es", 60)
        person.sees(SECRET, 10)
        person.says("always")
        person.sees("exactly this, with terminal inside the sandbox", 10)
        person.says("always terminal")
        person.sees("every call of terminal inside the sandbox", 10)
        assert not (tmp_path / "out.txt").exists()
        person.says("always terminal")
        person.sees("All done", 60)
        person.says("/approvals")
        person.sees("every call", 20)
        assert person.quits() == 0
    assert (tmp_path / "out.txt").read_text() == SECRET


async def test_approvals_from_before_the_upgrade_still_held(home: Path) -> None:
    store = SqliteStore(home / "state.db", migrations=[one for one in load_sqlite_migrations() if one[0] < 6])
    await store.last_change()
    await store.close()
    with closing(sqlite3.connect(home / "state.db")) as db, db:
        rows = [(key, value) for key, value in OLD]
        db.executemany(
            "INSERT INTO records(kind, key, value, created_at, updated_at) VALUES ('approval', ?, ?, 1, 1)", rows
        )
    store = SqliteStore(home / "state.db")
    known = ApprovalList(store)
    assert list(await known.list_approvals(ME)) == []
    await store.close()
    first, second = sojourn(home, "approvals"), sojourn(home, "approvals")
    assert "2 lasting approvals from before" in first.stderr
    assert second.stderr == ""


async def test_approvals_from_before_the_upgrade_still_held_in_postgres(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, migrations=[one for one in load_postgres_migrations() if one[0] < 6])
    await store.last_change()
    await store.close()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        for key, value in OLD:
            db.execute(
                "INSERT INTO records(kind, key, value, created_at, updated_at) VALUES ('approval', %s, %s, 1, 1)",
                (key, value),
            )
    store = PostgresStore(postgres_url)
    known = ApprovalList(store)
    assert list(await known.list_approvals(ME)) == []
    [notice] = await known.take_notices(ME)
    assert "2 lasting approvals from before" in notice
    assert list(await known.take_notices(ME)) == []
    await store.close()
