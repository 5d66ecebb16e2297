"""`/compact`: what it summarises, what stays, and when it refuses."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from sojourn.core.errors import BadInput, SessionBusy
from sojourn.core.events import Done
from sojourn.core.messages import text_of
from sojourn.ports.service import Caller, TurnRequest
from sojourn.testing.scripted_runtime import PauseGate, SayText, ScriptedRuntime
from tests.integration.tools.tool_workspace import open_kit

ME = Caller(surface="cli")


class Summariser(ScriptedRuntime):
    """Also completes texts, and keeps what it was given."""

    def __init__(self):
        super().__init__()
        self.given = []

    async def complete(self, instructions, text, *, most_tokens=400):
        self.given.append(text)
        return f"Summary {len(self.given)}."


async def talk(kit, session, *texts):
    for text in texts:
        turn = await kit.service.say(session, TurnRequest(text=text, runtime="scripted"), ME)
        async with asyncio.timeout(30), aclosing(kit.service.watch(session, after=turn.after)) as log:
            async for kept in log:
                if isinstance(kept.item, Done):
                    break


async def compact(kit, session):
    return await kit.service.run_plugin_command("compact", "", session, ME)


async def test_all_but_the_last_request_becomes_a_summary_and_nothing_is_lost():
    runtime = Summariser()
    async with open_kit(runtime, **{"agent.titles": False}) as kit:
        session = (await kit.service.open(ME)).id
        await talk(kit, session, *(f"request {number}" for number in range(20)))
        told = (await compact(kit, session)).lines
        assert told[0].startswith("Summarised 38 messages: about ")
        assert "written by scripted" in told[0]
        assert len(runtime.given) == 3  # piece by piece
        assert "request 0" in runtime.given[0]
        assert "Summary 2." in runtime.given[2]
        assert "request 18" in runtime.given[2]
        assert len(await kit.service.messages(session)) == 41
        await talk(kit, session, "and now?")
        sent = [text_of(one.message) for one in runtime.seen[-1].history]
        assert sent == ["Summary 3.", "request 19", "request 19"]
        await compact(kit, session)
        assert "Summary 3." in runtime.given[3]
        await talk(kit, session, "still there?")
        assert text_of(runtime.seen[-1].history[0].message) == "Summary 4."


async def test_without_a_model_the_main_sentences_are_taken():
    async with open_kit(ScriptedRuntime()) as kit:
        session = (await kit.service.open(ME)).id
        await talk(kit, session, *(f"The ferry number {number} is green." for number in range(20)))
        told = (await compact(kit, session)).lines[0]
        assert "its main sentences were taken" in told
        (summary,) = [one for one in await kit.service.messages(session) if one.item.role == "system"]
        assert "The ferry number 18 is green." in text_of(summary.item)


async def test_nothing_to_summarise_a_running_turn_and_an_agent_with_its_own_memory_are_refused():
    runtime = ScriptedRuntime()
    runtime.on("wait", PauseGate("go"), SayText("done"))
    async with open_kit(runtime) as kit:
        session = (await kit.service.open(ME)).id
        await talk(kit, session, "one")
        with pytest.raises(BadInput, match="nothing to summarise"):
            await compact(kit, session)
        await talk(kit, session, "two")
        await kit.service.say(session, TurnRequest(text="wait", runtime="scripted"), ME)
        with pytest.raises(SessionBusy):
            await compact(kit, session)
        runtime.gate("go").open()
        while await kit.service.running(session):
            await asyncio.sleep(0.01)
        runtime.brings_tools = True
        with pytest.raises(BadInput, match="keeps the conversation itself"):
            await compact(kit, session)
        assert all(one.item.active for one in await kit.service.messages(session))
