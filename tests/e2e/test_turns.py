"""Turns whose process is killed with -9: nothing that was kept is lost, each turn ends once, the session goes on."""

import random
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import pytest

from sojourn.core.errors import SessionBusy
from sojourn.core.events import Done, Failed, Metadata
from sojourn.core.messages import Message, tool_calls_of
from sojourn.core.sessions import SessionId, TurnId
from sojourn.ports.service import Caller, Turn, TurnRequest
from sojourn.testing.service_steps import collect, ended, follow, stages, talk, transcript, unpaired
from tests.e2e.slow_agent import ME, app

ROOT = Path(__file__).parents[2]


@contextmanager
def running(*arguments: str):
    command = [sys.executable, "-m", "tests.e2e.slow_agent", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
async def kit(home):
    made = app(str(home))
    yield made
    await made.close()


async def test_a_killed_turn_is_marked_interrupted_with_what_was_under_way(home, kit):
    with running(str(home)) as process:
        session, turn, waiting = process.stdout.readline().split()
    session, service = SessionId(session), kit.service
    kept = await follow(service, Turn(id=TurnId(turn), session=session, after=0))
    assert ended(kept) == ("interrupted", ["interrupted"])
    assert "terminal" in next(one.item for one in kept if isinstance(one.item, Failed)).message
    said = await transcript(service, session)
    assert [text for role, text in said if role == "assistant"] == ["Step 0. ", "Step 1. ", "Step 2. ", "Now I wait"]
    assert [text for role, text in said if role == "tool"][:2] == ["result of 0", "result of 1"]
    assert await unpaired(service, session) == []
    later = await follow(service, Turn(id=TurnId(waiting), session=session, after=0))
    assert ended(later) == ("interrupted", ["interrupted"])
    assert ("user", "and then") in said
    assert ended(await talk(service, session, "go on")) == ("completed", [])


async def test_the_same_request_after_the_kill_is_the_same_turn(home, kit):
    with running(str(home)) as process:
        session, turn, _ = process.stdout.readline().split()
    again = await kit.service.say(SessionId(session), TurnRequest(text="hang", key="once"), ME)
    assert again.id == turn


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.soak)])
async def test_kills_at_any_moment_leave_whole_turns(home, kit, kills):
    sessions = [(await kit.service.open(ME, title=f"Session {number}")).id for number in range(3)]
    told: dict[str, list[str]] = defaultdict(list)
    chance = random.Random(4711)
    for _ in range(kills):
        with running(str(home), *sessions) as process:
            told_now(process, told, 1)
            time.sleep(chance.uniform(0.0, 0.3))
            process.kill()
            told_now(process, told, None)
    for session in sessions:
        await check(kit.service, session, told[session])
        assert ended(await talk(kit.service, session, "go on")) == ("completed", [])


def told_now(process, told, lines):
    """What the process said that it has finished."""
    while lines is None or lines > 0:
        words = process.stdout.readline().split()
        if len(words) != 2:
            return
        told[words[0]].append(words[1])
        lines = None if lines is None else lines - 1


async def check(service, session, told):
    last, turns = (await service.get(session)).last_seq, defaultdict(list)
    for one in await collect(service, session, lambda kept: kept.seq == last):
        turns[one.turn].append(one)
    for items in turns.values():
        assert isinstance(items[0].item, Metadata)
        assert ended(items)[0] in ("completed", "interrupted")
        ids = [one.public_id for one in items if isinstance(one.item, Message)]
        assert list(next(one.item for one in items if isinstance(one.item, Done)).messages) == ids
        asked = [call.id for one in items if isinstance(one.item, Message) for call in tool_calls_of(one.item)]
        given = [one.item.tool_call_id for one in items if getattr(one.item, "role", "") == "tool"]
        assert asked == given
    finished = [turn for turn, items in turns.items() if ended(items)[0] == "completed"]
    assert set(told) <= set(finished)


async def test_another_process_stops_a_turn_and_what_waited_is_answered(home, kit):
    with running(str(home)) as process:
        session, turn, waiting = process.stdout.readline().split()
        session = SessionId(session)
        assert await kit.service.running(session) == turn
        with pytest.raises(SessionBusy, match="will be killed"):
            await kit.service.say(session, TurnRequest(text="me too"), ME)
        assert await kit.service.stop(session, ME, turn=TurnId(turn))
        kept = [await follow(kit.service, Turn(id=TurnId(one), session=session, after=0)) for one in (turn, waiting)]
    assert [ended(one) for one in kept] == [("cancelled", []), ("completed", [])]
    assert await unpaired(kit.service, session) == []


async def test_another_process_takes_the_wheel_of_a_running_turn(home, kit):
    with running(str(home)) as process:
        session, turn, waiting = process.stdout.readline().split()
        session, phone = SessionId(session), Caller(surface="telegram")
        assert (await kit.service.take_over(session, phone)).driver == "telegram"
        assert await kit.service.stop(session, phone)
        kept = [await follow(kit.service, Turn(id=TurnId(one), session=session, after=0)) for one in (turn, waiting)]
    assert stages(kept[0], "handoff")[0]["to"] == "telegram"
    assert [ended(one)[1] for one in kept] == [[], ["not_driving"]]
    assert ended(await talk(kit.service, session, "from here", by=phone)) == ("completed", [])
