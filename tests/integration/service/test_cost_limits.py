"""Limits a person sets: on spending, and on how long a question waits."""

import time

import pytest

from sojourn.core.errors import RuntimeFailed, SpendingLimit, StoreReadOnly
from sojourn.core.events import Failed
from sojourn.core.sessions import TurnId
from sojourn.ports.store import Record
from sojourn.ports.tool import Question
from sojourn.testing.app import make_settings
from sojourn.testing.scripted_runtime import Ask, Fail, ReportCost, SayText, ScriptedRuntime
from sojourn.testing.service_steps import ended, join_chunks, of, opened, stages, talk
from sojourn.turn_support.cost_limits import USAGE_KIND, CostBook


@pytest.fixture
def dear(runtime: ScriptedRuntime) -> ScriptedRuntime:
    """Each turn costs forty cents, and says so before it answers."""
    runtime.usage = {"input_tokens": 100, "output_tokens": 10, "cost_usd": 0.4}
    runtime.on("work", ReportCost(0.2), ReportCost(0.4), SayText("done"))
    return runtime


async def test_a_session_may_not_cost_more_than_its_limit(serve, dear):
    service = serve(agent_spend_session_usd=1.0)
    session = await opened(service)
    kept = [await talk(service, session, "work") for _ in range(3)]
    assert [ended(one)[0] for one in kept] == ["completed", "completed", "failed"]
    [failed] = of(Failed, kept[-1])
    assert failed.code == "spending_limit"
    assert "agent.spend_session_usd" in failed.hint
    assert ended(await talk(service, await opened(service), "work")) == ("completed", [])


async def test_what_a_failed_turn_had_cost_counts_too(serve, dear):
    service = serve(agent_spend_session_usd=1.0)
    session = await opened(service)
    dear.on("fail", ReportCost(0.9), Fail(RuntimeFailed("No.")))
    assert ended(await talk(service, session, "fail"))[1] == ["runtime_failed"]
    assert ended(await talk(service, session, "work"))[1] == ["spending_limit"]


async def test_a_day_may_not_cost_more_than_its_limit_over_all_sessions(serve, dear):
    service = serve(agent_spend_day_usd=1.0)
    kept = [await talk(service, await opened(service), "work") for _ in range(3)]
    assert [ended(one)[1] for one in kept] == [[], [], ["spending_limit"]]


async def test_a_month_may_not_cost_more_than_its_limit(serve, dear, store):
    month = time.strftime("%Y-%m-", time.gmtime())
    await store.put_record(Record(kind="usage", key=f"{month}00/earlier", value={"cost_usd": 0.5}))
    service = serve(agent_spend_month_usd=1.0)
    kept = [await talk(service, await opened(service), "work") for _ in range(2)]
    assert [ended(one)[1] for one in kept] == [[], ["spending_limit"]]


async def test_a_session_is_told_once_that_most_of_a_budget_is_used(serve, dear):
    service = serve(agent_spend_month_usd=1.0)
    first, second = await opened(service), await opened(service)
    kept = [await talk(service, one, "work") for one in (first, second)]
    told = [[one["line"] for one in stages(turn, "running") if one.get("status") == "budget"] for turn in kept]
    assert told == [[], ["This month has cost $0.80 of the $1.00 it may (80%)."]]
    dear.usage = {}
    for session, times in ((second, 0), (first, 1), (first, 0)):
        turn = await talk(service, session, "free")
        assert [one.get("status") for one in stages(turn, "running")].count("budget") == times
        assert ended(turn) == ("completed", [])


async def test_without_a_limit_nothing_is_refused_but_everything_is_booked(serve, dear, store):
    service = serve()
    session = await opened(service)
    for _ in range(3):
        await talk(service, session, "work")
    [booked] = await store.list_records("usage", session=session)
    assert booked.value == {"input_tokens": 300, "output_tokens": 30, "cost_usd": pytest.approx(1.2), "turns": 3}
    kept = await service.get(session)
    assert (kept.input_tokens, kept.output_tokens) == (300, 30)
    assert kept.estimated_cost_usd == pytest.approx(1.2)


async def test_a_limit_that_is_set_during_a_turn_counts_what_was_spent_before(serve, dear, store, home):
    session = await opened(serve())
    for _ in range(2):
        await talk(serve(), session, "work")
    settings = make_settings(home)
    costs = CostBook(settings)
    may_spend = await store.snapshot(lambda one: costs.open_budget(one, one.list_records(USAGE_KIND, session=session)))
    may_spend(TurnId("t"), 0.1)
    settings.values["agent.spend_session_usd"] = 0.5
    with pytest.raises(SpendingLimit, match=r"has cost \$0\.90; its limit is \$0\.50"):
        may_spend(TurnId("t"), 0.1)


async def test_what_costs_nothing_is_not_limited(serve, runtime):
    service = serve(agent_spend_day_usd=0.01)
    assert ended(await talk(service, await opened(service), "hello")) == ("completed", [])


async def test_no_answer_in_time_is_a_no_that_says_so(serve, runtime):
    runtime.on("wipe", Ask(Question(id="q", text="Really?", tool="terminal")))
    service = serve(agent_approval_seconds=0.02)
    kept = await talk(service, await opened(service), "wipe")
    assert join_chunks(kept) == "deny Nobody answered within 0.02 seconds."
    assert stages(kept, "approval")[-1]["why"] == "Nobody answered within 0.02 seconds."


async def test_a_store_that_cannot_be_written_refuses_what_is_said(serve, store, monkeypatch):
    service = serve()
    session = await opened(service)

    async def refuse(*_, **__):
        raise StoreReadOnly("It can only be read.")

    monkeypatch.setattr(store, "transact", refuse)
    with pytest.raises(StoreReadOnly):
        await talk(service, session, "hello")
    monkeypatch.undo()
    assert await service.running(session) is None
    assert ended(await talk(service, session, "hello")) == ("completed", [])
