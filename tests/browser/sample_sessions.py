"""Sample data for browser tests: any number of sessions, copied row by row from one real session."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sojourn import config
from sojourn.app import App
from sojourn.core.events import Yielded
from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.core.sessions import SessionId
from sojourn.platforms.rooms import Rooms
from sojourn.platforms.rooms_adapter import AGENT_SENDER
from sojourn.ports.platform import Button
from sojourn.stores.sqlite.store import SqliteStore

T = TypeVar("T")
_BATCH = 2000
START = 1_763_000_000.0
SAID = "the port was taken so we read the log, found the error in main.py, and ran the tests again until they passed"
WORDS = SAID.split()
_CALL = "call_"


async def _create_model_session(store: SqliteStore, calls: int) -> SessionId:
    """The session that is copied: a question, some tool calls and an answer."""
    made = await store.create(source="cli", title="A real one", model="gpt-5", cwd="/home/sam/garden")
    lease = await store.lease(made.id, holder="a test", surface="cli")
    chance = random.Random(7)
    items = [user("Why does the build fail? Traceback (most recent call last): error: port 8080 is already in use")]
    for number in range(calls):
        call = ToolCall(
            id=f"{_CALL}{number}",
            name=chance.choice(("terminal", "read_file", "web_search")),
            arguments='{"command": "git status"}',
        )
        items += [
            assistant("Let me look. " + " ".join(chance.choices(WORDS, k=60)), [call]),
            tool_result(call, " ".join(chance.choices(WORDS, k=150))),
        ]
    await store.append(lease, [*items, assistant("Port 8080 was taken. **Fixed** in `main.py`.")])
    await store.renew(lease, 0)
    return made.id


async def _create_sessions(home: Path, sessions: int, calls: int, titles: Sequence[str]) -> None:
    home.mkdir(parents=True, exist_ok=True)
    store = SqliteStore(home / "state.db")
    try:
        real = await _create_model_session(store, calls)
        session = (await store.export_rows("sessions", after=None, limit=1))[0]
        rows = await store.export_rows("messages", after=None, limit=1000)
        at = {
            name: index
            for name, columns, _ in store.tables()
            if name == "sessions"
            for index, name in enumerate(columns)
        }
        for first in range(0, sessions, _BATCH):
            numbers = range(first, min(first + _BATCH, sessions))
            await store.import_rows(
                "sessions",
                [
                    _session(session, at, number, calls > 0, titles[number] if titles else f"Copy {number:06}")
                    for number in numbers
                ],
            )
            if calls:
                await store.import_rows(
                    "messages",
                    [
                        (len(rows) * (number + 1) + index + 1, f"copy-{number:06}", *_own_calls(row, number)[2:])
                        for number in numbers
                        for index, row in enumerate(rows)
                    ],
                )
        await store.delete(real)
    finally:
        await store.close()


def _own_calls(row: tuple, number: int) -> tuple:
    """A row with call ids of its own: the template miner ignores mere copies."""
    return tuple(one.replace(_CALL, f"{_CALL}{number}_") if isinstance(one, str) else one for one in row)


def _session(row: tuple, at: dict[str, int], number: int, full: bool, title: str) -> tuple:
    changed = list(row)
    began = START + int(360 * random.Random(number).random() ** 0.6) * 86_400 + number % 3600
    for name, value in {
        "id": f"copy-{number:06}",
        "title": title,
        "started_at": began,
        "last_active": began + 600,
        "message_count": row[at["message_count"]] if full else 0,
        "title_terms": None,
        "source": ("cli", "web", "hermes")[number % 3],
        "input_tokens": 1000 + number % 977,
        "output_tokens": 300,
        "estimated_cost_usd": 0.02 if number % 2 else None,
    }.items():
        changed[at[name]] = value
    return tuple(changed)


def create_sessions(home: Path, sessions: int, calls: int = 0, titles: Sequence[str] = ()) -> None:
    """Creates sessions, each with as many tool calls; with none, only their rows in the list."""
    _run_in_thread(lambda: _create_sessions(home, sessions, calls, titles))


def create_session(home: Path, session: dict[str, Any], *items: Yielded) -> SessionId:
    """Creates one session with these items in it."""

    async def work() -> SessionId:
        home.mkdir(parents=True, exist_ok=True)
        store = SqliteStore(home / "state.db")
        try:
            tags = tuple(session.pop("tags", ()))
            made = await store.create(**session)
            lease = await store.lease(made.id, holder="a test", surface="web")
            await store.append(lease, items)
            await store.renew(lease, 0)
            now = await store.get(made.id)
            await store.change(now, replace(now, tags=tags))
            return made.id
        finally:
            await store.close()

    return _run_in_thread(work)


def post_question(home: Path, room: str, words: str, *answers: str) -> None:
    """Posts a question with buttons into a room of `local`, as the gateway does."""

    async def work() -> None:
        app = App(config.load({"home": str(home)}))
        try:
            buttons = [Button(label=one, value=f"q:{number}") for number, one in enumerate(answers)]
            await app.shared(Rooms).say(room, words, AGENT_SENDER, ours=True, buttons=buttons)
        finally:
            await app.close()

    _run_in_thread(work)


def _run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with ThreadPoolExecutor(1) as pool:  # Playwright's loop occupies this thread
        return pool.submit(lambda: asyncio.run(work())).result()
