"""Questions of agents that somebody else started: a hook asks a real server, and a person answers."""

import signal
import subprocess
import time

import pytest

from tests.e2e.hook_steps import (
    ASKED,
    ROOM,
    list_buttons,
    list_waiting,
    press,
    read_decision,
    read_ledger,
    send,
    start_hook,
    until,
)
from tests.e2e.http_server import PROGRAM, Serving


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("hooks")
    with Serving(home, SOJOURN_GATEWAY_HOME=f"local:{ROOM}", SOJOURN_MEMORY_EMBEDDER="none") as serving:
        yield serving


@pytest.fixture
def hook(server):
    """A hook that asked."""
    process = start_hook(server.home)
    until(lambda: not list_buttons(server))
    send(process, ASKED)
    until(lambda: list_buttons(server))
    yield process
    process.kill()
    process.communicate()
    until(lambda: not list_waiting(server))


def texts(server):
    return [one["text"] for one in server.get(f"/api/plugins/local/rooms/{ROOM}/messages?limit=500").json()["messages"]]


def say(server, text):
    path = f"/api/plugins/local/rooms/{ROOM}/messages"
    assert server.client.post(path, json={"text": text, "sender": "owner"}).status_code == 201


@pytest.mark.parametrize(("label", "behavior"), [("Allow once", "allow"), ("Deny", "deny")])
def test_a_button_in_a_chat_answers(server, hook, label, behavior):
    assert "make clean" in list_buttons(server)[-1]["text"]
    assert "believe me" not in list_buttons(server)[-1]["text"]
    press(server, label)
    assert read_decision(hook)["behavior"] == behavior
    until(lambda: not list_buttons(server))
    last = read_ledger(server)[-1]
    assert (last["program"], last["tool"], last["text"], last["choice"]) == (
        "claude",
        "Bash",
        "make clean",
        "once" if behavior == "allow" else "deny",
    )


def test_words_answer_with_the_code_of_the_question_alone(server, hook):
    code = list_buttons(server)[-1]["text"].rpartition(" ")[2].strip(".")
    for words in ("ok", "yes", "once", "yes 0000"):
        say(server, words)
    until(lambda: any("already been settled" in one for one in texts(server)))
    assert hook.poll() is None
    say(server, f"yes {code}")
    assert read_decision(hook) == {"behavior": "allow"}


def test_a_hook_that_is_killed_takes_its_question_with_it(server, hook):
    before = len(read_ledger(server))
    hook.kill()
    until(lambda: not list_buttons(server) and not list_waiting(server))
    assert [one["choice"] for one in read_ledger(server)[before:]] == ["deny"]


def test_several_questions_of_one_agent_wait_at_once(server):
    hooks = [start_hook(server.home) for _ in range(3)]
    for n, process in enumerate(hooks):
        send(process, {**ASKED, "session_id": "several", "tool_input": {"command": f"make part-{n}"}})
    until(lambda: len(list_buttons(server)) == 3)
    for message in list_buttons(server):
        label = "Allow once" if "part-1" in message["text"] else "Deny"
        value = next(one["value"] for one in message["buttons"] if one["label"] == label)
        path = f"/api/plugins/local/rooms/{ROOM}/messages/{message['n']}/press"
        server.client.post(path, json={"value": value, "sender": "owner"})
    assert [read_decision(one)["behavior"] for one in hooks] == ["deny", "allow", "deny"]


def test_without_an_answer_in_time_it_is_a_no(server):
    process = start_hook(server.home, seconds=1)
    send(process, ASKED)
    decision = read_decision(process)
    assert decision["behavior"] == "deny"
    assert "within 1 seconds" in decision["message"]
    assert read_ledger(server)[-1]["choice"] == "deny"


def test_an_agent_that_waits_is_told_once(server):
    process = start_hook(server.home)
    send(
        process,
        {"hook_event_name": "Notification", "notification_type": "idle_prompt", "session_id": "n", "cwd": "/x/garden"},
    )
    assert process.communicate(timeout=20)[0] == ""
    until(lambda: "Claude Code waits for you (garden)." in texts(server))
    time.sleep(0.3)
    assert texts(server).count("Claude Code waits for you (garden).") == 1


def test_the_ledger_is_printed(server):
    done = subprocess.run([PROGRAM, "--home", server.home, "hooks", "log"], capture_output=True, text=True, check=True)
    assert "refused" in done.stdout
    assert "Bash: make clean" in done.stdout


def test_without_a_server_the_program_asks_by_itself(tmp_path):
    process = start_hook(tmp_path)
    send(process, ASKED)
    assert read_decision(process) == {}


def test_a_server_that_is_killed_allows_nothing(tmp_path):
    with Serving(tmp_path, SOJOURN_GATEWAY_HOME=f"local:{ROOM}", SOJOURN_MEMORY_EMBEDDER="none") as server:
        process = start_hook(tmp_path)
        send(process, ASKED)
        until(lambda: list_buttons(server))
        server.stop(signal.SIGKILL)
        assert read_decision(process)["behavior"] == "deny"
    with Serving(tmp_path, SOJOURN_MEMORY_EMBEDDER="none") as server:
        assert until(lambda: not list_waiting(server)), "the question of the killed server is over"
