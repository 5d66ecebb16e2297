"""Agents that we do not confine ask by the same rules: exact text, hash, no lasting yes, nothing secret kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sojourn.testing.store_secrets import KEY
from sojourn.text.exact import hash_text
from tests.security.agent_server import open_agent

AGENT = Path(__file__).parents[1] / "e2e" / "acp_agent.py"
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


def test_an_acp_agent_waited_for_an_answer_that_nobody_can_give(home: Path) -> None:
    more = f'[plugins.acp]\ncommand = "{sys.executable} {AGENT}"\n'
    with open_agent(home, more=more) as agent:
        body = {"model": "acp", "messages": [{"role": "user", "content": "PERMIT"}]}
        answer = agent.client.post("/v1/chat/completions", json=body, timeout=25)
        assert answer.json()["choices"][0]["message"]["content"] == "You said no."
