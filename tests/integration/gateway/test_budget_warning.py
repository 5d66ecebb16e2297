"""A chat is told at the end of a turn that most of a budget is used."""

from sojourn.testing.scripted_runtime import ReportCost, SayText
from tests.integration.gateway.worlds import world


async def test_a_chat_is_told_once_after_the_answer(home, store):
    async with world(home, store, agent_spend_month_usd=1.0) as at:
        at.runtime.usage = {"cost_usd": 0.9}
        at.runtime.on("work", ReportCost(0.9), SayText("done"))
        await at.start()
        at.network.say("42", "work")
        assert await at.texts("42", 2) == ["done", "⚠ This month has cost $0.90 of the $1.00 it may (90%)."]
        await at.quiet()
