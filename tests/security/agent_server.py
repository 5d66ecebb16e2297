"""A real `sojourn serve` whose model is scripted, and the steps of somebody who talks to it over HTTP."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sojourn.testing.model_server import ModelServer
from sojourn.testing.store_secrets import KEY
from tests.e2e.http_server import Serving

SECRET = KEY
SECONDS = 30.0


def write_config(home: Path, model: ModelServer, more: str = "") -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(
        f'[model]\nprovider = "openai"\nname = "scripted-1"\nbase_url = "{model.url}"\napi_key = "scripted"\n'
        f"[agent]\ntitles = false\n[memory]\nmodel_summaries = false\n{more}"
    )


class Agent:
    """The server, its model, and a folder to work in."""

    def __init__(self, server: Serving, model: ModelServer, folder: Path) -> None:
        self.server, self.model, self.folder, self.client = server, model, folder, server.client

    def open(self) -> str:
        made = self.client.post("/api/sessions", json={"cwd": str(self.folder), "runtime": "native"})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def say(self, session: str, text: str = "go", **more: Any) -> str:
        said = self.client.post(f"/api/sessions/{session}/turns", json={"message": text, **more})
        assert said.status_code == 202, said.text
        return str(said.json()["turn_id"])

    def rows(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.server.home / 'state.db'}?mode=ro", uri=True)) as db:
            return db.execute(sql, params).fetchall()

    def approvals(self, session: str) -> list[dict[str, Any]]:
        rows = self.rows("SELECT data FROM events WHERE session_id = ? AND name = 'progress' ORDER BY seq", session)
        found = [json.loads(data) for (data,) in rows]
        return [one["detail"] for one in found if one["stage"] == "approval"]

    def wait(self, condition: Callable[[], Any]) -> Any:
        until = time.monotonic() + SECONDS
        while not (found := condition()):
            assert time.monotonic() < until, self.server.log()
            time.sleep(0.05)
        return found

    def asked(self, session: str) -> dict[str, Any]:
        """The question that waits."""

        def find() -> Any:
            told = self.approvals(session)
            return told[-1] if told and told[-1]["status"] == "asked" else None

        question: dict[str, Any] = self.wait(find)
        return question

    def answer(self, session: str, question: str, choice: str, **more: Any) -> None:
        body = {"question": question, "choice": choice, **more}
        sent = self.client.post(f"/api/sessions/{session}/turns/running/approval", json=body)
        assert sent.status_code == 204, sent.text

    def done(self, session: str) -> list[str]:
        """Waits for the end of the turn; returns what tools reported."""
        self.wait(lambda: self.client.get(f"/api/sessions/{session}/turns/running").json()["turn_id"] is None)
        rows = self.rows("SELECT content FROM messages WHERE session_id = ? AND role = 'tool' ORDER BY seq", session)
        return [str(content) for (content,) in rows]

    def tables_with(self, needle: str) -> list[str]:
        """The tables that hold a text, whatever column it is in."""
        found = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'search_index%'")
        return [name for (name,) in found if needle in repr(self.rows(f'SELECT * FROM "{name}"'))]


@contextmanager
def open_agent(home: Path, *scripts: Any, more: str = "") -> Iterator[Agent]:
    """An agent whose model plays these scripts, one for each of its requests."""
    folder = home.parent / "work"
    folder.mkdir(exist_ok=True)
    with ModelServer(*scripts) as model:
        write_config(home, model, more)
        with Serving(home) as server:
            yield Agent(server, model, folder)
