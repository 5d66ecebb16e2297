"""Recall on sessions about work, which real agent programs recorded (tests/data/work_memory): held-out figures."""

import json
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.context.ask import ask_history
from sojourn.context.recall import choose_memories
from sojourn.context.recall_rank import rank_memories
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import OWNER
from sojourn.ports.importer import Transcript

DATA = Path(__file__).parents[2] / "data" / "work_memory"
BUDGET_TOKENS = 2000


def read(name):
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


SESSIONS, QUESTIONS, REQUESTS = read("sessions"), read("questions"), read("requests")


@pytest.fixture(params=["packaged", "none"])
async def history(request, tmp_path):
    """A store with all sessions, and where each one is in it."""
    app = App(config.load({"home": str(tmp_path), "memory.embedder": request.param}))
    batch = [
        ("1", Transcript(native_id=one["session"], fields={"source": one["program"]}, messages=to_messages(one)))
        for one in SESSIONS
    ]
    await app.store.ingest("work", "work", batch, principal=OWNER)
    await app.store.index()
    yield app
    await app.close()


def to_messages(one):
    return [Message(**row, timestamp=1.75e9 + number) for number, row in enumerate(one["messages"])]


def find_evidence(question):
    (session,) = (one for one in SESSIONS if one["session"] == question["session"])
    texts = [(number, row["role"], text_of(Message(**row))) for number, row in enumerate(session["messages"], 1)]
    return {number for number, role, text in texts if role in ("user", "assistant") and question["evidence"] in text}


async def measure(app, half):
    """Shares of the questions: the right session first, evidence among five, told within the budget, and quoted."""
    asked = [one for one in QUESTIONS if one["half"] == half]
    counts = dict.fromkeys(("first", "among five", "told", "silent", "quoted"), 0)
    for question in asked:
        wanted = {(question["session"], number) for number in find_evidence(question)}
        hits = await rank_memories(app, question["question"], wait=True)
        told = choose_memories(question["question"], hits, BUDGET_TOKENS)
        answer = await ask_history(app, question["question"], runtime="")
        counts["first"] += hits[:1] != [] and hits[0].session == question["session"]
        counts["among five"] += bool(wanted & {(hit.session, hit.seq) for hit in hits[:5]})
        counts["told"] += bool(wanted & {(one.hit.session, one.hit.seq) for one in told})
        counts["silent"] += not told
        counts["quoted"] += bool(wanted & {(one.session, one.seq) for one in answer.quotes})
    return {name: 100 * count / len(asked) for name, count in counts.items()}


async def list_disturbing(app, half):
    """The requests that need no memory and were given one."""
    asked = [one["request"] for one in REQUESTS if one["half"] == half]
    return [said for said in asked if choose_memories(said, await rank_memories(app, said, wait=True), BUDGET_TOKENS)]


def test_the_set_is_what_it_says():
    assert len(QUESTIONS) >= 150
    assert len(REQUESTS) == 60
    held_out = [one for one in QUESTIONS if one["half"] == "held-out"]
    assert abs(2 * len(held_out) - len(QUESTIONS)) <= 1
    assert {one["program"] for one in SESSIONS} == {"claude-code", "codex", "opencode", "qwen-code"}
    assert all(find_evidence(one) for one in QUESTIONS)


async def test_questions_about_work_are_answered_from_the_right_session(history):
    figures = await measure(history, "held-out")
    assert figures["first"] >= 90, figures
    assert figures["among five"] >= 85, figures
    assert figures["told"] >= 85, figures
    assert figures["silent"] <= 5, figures
    assert figures["quoted"] >= 75, figures


async def test_requests_that_need_no_memory_bring_nothing(history):
    asked = sum(one["half"] == "held-out" for one in REQUESTS)
    assert len(found := await list_disturbing(history, "held-out")) <= asked * 0.05, found
