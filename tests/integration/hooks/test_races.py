"""Two answers at once: the agent is told one of them, and that one is in the log and in the ledger."""

import asyncio

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.hooks.agent_questions import LEDGER_KIND, AgentQuestions
from sojourn.hooks.hook_input import HookEvent
from sojourn.ports.service import Caller
from sojourn.ports.tool import Reply

EVENT = HookEvent(kind="question", program="claude", session="s", folder="/", tool="Bash", detail="make clean")
ANSWERS = (("once", "the phone"), ("deny", "the browser"))


@pytest.fixture
async def app(home):
    app = App(config.load({"home": str(home), "memory.embedder": "none", "agent.titles": False}))
    yield app
    await app.close()


async def answer(app, session, question, choice, by):
    try:
        await app.service.answer(session, question, Reply(choice=choice, by=by), Caller(surface="web", name=by))
    except SojournError:
        return  # the other one was first


async def read_approvals(app, session, after):
    return [
        kept.item.detail
        async for kept in app.store.read(session, after=after)
        if isinstance(kept.item, Progress) and kept.item.stage == "approval"
    ]


async def race(app, n, after):
    """What the agent was told; it is what the log says. And the end of the log."""
    asked = asyncio.create_task(app.shared(AgentQuestions).ask(EVENT, 30))
    while not (waiting := await app.store.list_waiting()):
        await asyncio.sleep(0.001)
    [session] = waiting
    [shown] = await read_approvals(app, session, after)
    question = str(shown["question"])
    both = ANSWERS if n % 2 else ANSWERS[::-1]
    await asyncio.gather(*(answer(app, session, question, choice, by) for choice, by in both))
    told = await asked
    settled = await read_approvals(app, session, after)
    assert [one["status"] for one in settled] == ["asked", "answered"]
    assert (settled[1]["choice"], settled[1]["by"]) == (told.choice, told.by)
    return told, (await app.store.get(session)).last_seq


async def run_races(app, count):
    told, end = [], 0
    for n in range(count):
        one, end = await race(app, n, end)
        told.append(one)
    ledger, after = [], ""
    while page := await app.store.list_records(LEDGER_KIND, after=after):
        ledger += page
        after = page[-1].key
    assert [(one.value["choice"], one.value["by"]) for one in ledger] == [(one.choice, one.by) for one in told]
    return told


async def test_of_two_answers_at_once_one_counts(app):
    told = await run_races(app, 40)
    assert {one.choice for one in told} <= {"once", "deny"}


@pytest.mark.soak
@pytest.mark.timeout(0)
async def test_of_two_answers_at_once_one_counts_ten_thousand_times(home):
    for part in range(40):  # a home of its own for each part: the log of one session is read each time
        app = App(config.load({"home": str(home / str(part)), "memory.embedder": "none", "agent.titles": False}))
        await run_races(app, 250)
        await app.close()


async def test_an_answer_at_the_last_moment_is_none_or_the_one_that_counts(app):
    for n in range(10):
        asked = asyncio.create_task(app.shared(AgentQuestions).ask(EVENT, 0.05))
        await asyncio.sleep(0.045)
        for session in await app.store.list_waiting():
            questions = [
                str(kept.item.detail["question"])
                async for kept in app.store.read(session)
                if isinstance(kept.item, Progress) and kept.item.stage == "approval"
            ]
            await answer(app, session, questions[-1], "once", f"late {n}")
        told = await asked
        [*_, last] = await app.store.list_records(LEDGER_KIND)
        assert last.value["choice"] == told.choice
