"""What is approved is what runs: the exact text is shown, kept in one place, and compared before it runs."""

from __future__ import annotations

import hashlib
import signal
from pathlib import Path

from sojourn.testing.model_script import Call, Say
from tests.security.agent_server import SECRET, open_agent

COMMAND = f"printf %s {SECRET} > out.txt"
AROUND = {"sojourn-principal": "guest:fake:43"}


def test_a_secret_in_a_command_was_hidden_from_the_person_who_approves_it(home: Path) -> None:
    with open_agent(home, [Call("terminal", {"command": COMMAND})], [Say("Done.")]) as agent:
        session = agent.open()
        agent.say(session)
        asked = agent.asked(session)
        assert SECRET not in repr(asked)
        assert "[redacted" in asked["detail"]
        path = f"/api/sessions/{session}/questions/{asked['question']}"
        shown = agent.client.get(path)
        assert shown.status_code == 200, shown.text
        assert shown.json()["text"] == COMMAND
        assert asked["sha256"] == shown.json()["sha256"] == hashlib.sha256(COMMAND.encode()).hexdigest()
        assert agent.client.get(path, headers=AROUND).status_code in (401, 404)
        assert agent.tables_with(SECRET) == ["questions"]
        agent.answer(session, asked["question"], "once")
        agent.done(session)
        assert agent.client.get(path).status_code == 404
        assert agent.tables_with(SECRET) == []
        assert (agent.folder / "out.txt").read_text() == SECRET
        assert SECRET not in agent.server.log()


def test_the_exact_text_stayed_after_a_stop_or_a_kill(home: Path) -> None:
    with open_agent(home, [Call("terminal", {"command": COMMAND})]) as agent:
        session = agent.open()
        agent.say(session)
        agent.asked(session)
        assert agent.tables_with(SECRET) == ["questions"]
        agent.client.post(f"/api/sessions/{session}/turns/running/stop")
        agent.done(session)
        assert agent.tables_with(SECRET) == []
        agent.say(session)
        agent.wait(lambda: agent.tables_with(SECRET))
        agent.server.stop(signal.SIGKILL)
        assert agent.tables_with(SECRET) == ["questions"]
    with open_agent(home) as agent:
        agent.client.get(f"/api/sessions/{session}")
        agent.wait(lambda: agent.tables_with(SECRET) == [])


def test_a_file_that_changed_under_the_question_was_written_anyway(home: Path) -> None:
    write = {"path": "plan.txt", "content": "one\ntwo\n"}
    with open_agent(home, [Call("write_file", write)], [Say("Done.")]) as agent:
        file = agent.folder / "plan.txt"
        file.write_text("one\n")
        session = agent.open()
        agent.say(session)
        asked = agent.asked(session)
        file.write_text("one\nprecious\n")
        agent.answer(session, asked["question"], "once")
        [told] = agent.done(session)
        assert "changed meanwhile" in told
        assert file.read_text() == "one\nprecious\n"


def test_code_swapped_between_the_approval_and_the_start_ran(home: Path) -> None:
    swap = "while :; do for f in $TMPDIR/*/code.py; do [ -e $f ] && echo 'print(\"swapped\")' > $f; done; done"
    calls = [[Call("execute_code", {"code": "import time\nprint('as shown')"})] for _ in range(12)]
    loop = [Call("process", {"action": "start", "command": swap})]
    with open_agent(home, loop, *calls, [Say("Done.")], more='[tools]\napproval = "always"\n') as agent:
        session = agent.open()
        agent.say(session)
        first, *told = agent.done(session)
        assert len(told) == 12, first
        assert not [one for one in told if "swapped" in one]


def test_a_sub_agent_got_the_network_from_an_approval_for_the_sandbox(home: Path) -> None:
    scripts = [
        [Call("terminal", {"command": "true"})],
        [Call("delegate_task", {"task": "fetch it"})],
        [Call("terminal", {"command": COMMAND, "access": "network"})],
        [Say("Done.")],
    ]
    with open_agent(home, *scripts) as agent:
        session = agent.open()
        agent.say(session)
        agent.answer(session, agent.asked(session)["question"], "session", covers="tool")

        def forwarded() -> bool:
            return any(one["text"].startswith("Sub-agent") for one in agent.approvals(session) if "text" in one)

        agent.wait(lambda: forwarded() or (agent.folder / "out.txt").exists())
        assert not (agent.folder / "out.txt").exists()
        asked = agent.asked(session)
        assert asked["scope"] == "network"
        assert "always" not in asked["choices"]
        exact = agent.client.get(f"/api/sessions/{session}/questions/{asked['question']}").json()
        assert exact["text"] == COMMAND
        agent.answer(session, asked["question"], "once")
        agent.done(session)
        assert (agent.folder / "out.txt").read_text() == SECRET
        assert agent.tables_with(SECRET) == []
