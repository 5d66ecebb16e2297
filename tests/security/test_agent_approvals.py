"""Agents that we do not confine ask by the same rules: exact text, hash, no lasting yes, nothing secret kept. They run
nothing through us."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import cast

import pytest

from sojourn.runtimes.hermes.api import HermesApi
from sojourn.runtimes.hermes.approvals import HermesApprovals
from sojourn.testing.store_secrets import KEY
from sojourn.testing.turn_runner import FakeWorkspace, make_turn_input
from sojourn.text.exact import hash_text
from tests.security.agent_server import open_agent
from tests.security.attack_lines import SECRET, attack_lines

AGENT = Path(__file__).parents[1] / "e2e" / "acp_agent.py"
HOSTILE_AGENT = Path(__file__).with_name("hostile_acp_agent.py")
COMMAND = {"command": f"push --with {KEY} \x1b[8m; rm x", "cwd": "/"}


@pytest.mark.parametrize(("choice", "heard"), [("once", "yes"), ("deny", "no")])
def test_an_acp_agent_hid_what_it_asks_for_and_could_be_allowed_for_ever(home: Path, choice: str, heard: str) -> None:
    more = f'[plugins.acp]\ncommand = "{sys.executable} {AGENT}"\n'
    with open_agent(home, more=more) as agent:
        session = agent.open()
        agent.say(session, "SNEAK", runtime="acp")
        asked = agent.asked(session)
        assert (asked["scope"], asked["choices"]) == ("outside", ["once", "deny"])
        exact = agent.client.get(f"/api/sessions/{session}/questions/{asked['question']}").json()["text"]
        assert json.loads(exact) == COMMAND
        assert asked["sha256"] == hash_text(exact)
        assert agent.tables_with(KEY) == ["questions"]
        refused = agent.client.post(
            f"/api/sessions/{session}/turns/running/approval",
            json={"question": asked["question"], "choice": "always", "covers": "tool"},
        )
        assert refused.status_code == 400
        agent.answer(session, asked["question"], choice)
        agent.done(session)
        [(said,)] = agent.rows("SELECT content FROM messages WHERE session_id = ? AND role = 'assistant'", session)
        assert said == f"You said {heard}."
        assert agent.tables_with(KEY) == []
        assert agent.client.get("/api/approvals").json() == {"approvals": []}
        assert agent.rows("SELECT 1 FROM messages WHERE session_id = ? AND role = 'tool'", session) == []
        assert agent.model.asked == []


def test_an_acp_agent_waited_for_an_answer_that_nobody_can_give(home: Path) -> None:
    more = f'[plugins.acp]\ncommand = "{sys.executable} {AGENT}"\n'
    with open_agent(home, more=more) as agent:
        body = {"model": "acp", "messages": [{"role": "user", "content": "PERMIT"}]}
        answer = agent.client.post("/v1/chat/completions", json=body, timeout=25)
        assert answer.json()["choices"][0]["message"]["content"] == "You said no."


def test_no_line_of_an_acp_agent_is_run_by_us(outside, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is allowed, and nobody is there to be asked."""
    monkeypatch.setenv("SOJOURN_TOOLS_SEARCH_KEY", SECRET)
    lines = [one.removeprefix("ENCODED ").format(**outside.names) for one in attack_lines()]
    home.parent.mkdir(parents=True, exist_ok=True)
    script = home.parent / "lines.json"
    script.write_text(json.dumps(lines))
    agent_command = f"{sys.executable} {HOSTILE_AGENT} {script}"
    more = f'[tools]\napproval = "always"\n[plugins.acp]\ncommand = "{agent_command}"\n'
    with open_agent(home, more=more) as agent:
        session = agent.open()
        agent.say(session, "go", runtime="acp", attended=False)
        agent.done(session)
        [(said,)] = agent.rows("SELECT content FROM messages WHERE session_id = ? AND role = 'assistant'", session)
    assert said == f"granted 0 of {len(lines)}, saw 0 secrets"
    assert outside.find_faults("through an ACP agent", "") == []


class HermesAnswers:
    """What a Hermes is told about its questions."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def approve(self, run: str, choice: str) -> None:
        self.told.append(choice)


@pytest.mark.parametrize("choice", ["always", "session", "once", "deny"])
async def test_a_hermes_that_offers_always_is_never_told_always(choice: str) -> None:
    room, hermes = FakeWorkspace(answer=choice), HermesAnswers()
    asked = HermesApprovals(cast(HermesApi, hermes), "run", make_turn_input("Tidy up.", room=room), seconds=5)
    offered = ["once", "session", "always", "deny"]
    asked.on_request({"event": "approval.request", "command": "rm -rf /", "choices": offered})
    async with asyncio.timeout(5):
        while not hermes.told:
            await asyncio.sleep(0.01)
    await asked.close()
    [question] = room.questions
    assert (question.scope, question.choices) == ("outside", ("once", "deny"))
    assert hermes.told == ["once" if choice == "once" else "deny"]


async def test_no_line_of_a_hermes_is_allowed_for_longer_than_once() -> None:
    room, hermes = FakeWorkspace(answer="always"), HermesAnswers()
    asked = HermesApprovals(cast(HermesApi, hermes), "run", make_turn_input("Tidy up.", room=room), seconds=5)
    for line in attack_lines():
        told = len(hermes.told)
        asked.on_request({"event": "approval.request", "command": line, "choices": ["once", "always", "deny"]})
        async with asyncio.timeout(5):
            while len(hermes.told) == told:
                await asyncio.sleep(0)
    await asked.close()
    assert [one.detail for one in room.questions] == attack_lines()
    assert {(one.scope, one.choices) for one in room.questions} == {("outside", ("once", "deny"))}
    assert set(hermes.told) == {"deny"}
