"""`sojourn chat`, as a person and as a script use it: the real program, a real server behind it, a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sojourn.testing.model_script import Call, Refuse, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.chat_terminal import Chatter

SOJOURN = str(Path(sys.executable).with_name("sojourn"))


@pytest.fixture
def model(monkeypatch):
    with ModelServer(aside=[Say("A title")]) as server:
        monkeypatch.setenv("SOJOURN_MODEL_PROVIDER", "openai")
        monkeypatch.setenv("SOJOURN_MODEL_BASE_URL", server.url)
        monkeypatch.setenv("SOJOURN_MODEL", "scripted-1")
        monkeypatch.setenv("SOJOURN_MODEL_API_KEY", "k")
        monkeypatch.setenv("SOJOURN_RUNTIME", "native")
        yield server


@pytest.fixture(autouse=True)
def no_server_stays(home):
    yield
    said = home / "server.json"
    if said.exists():
        pid = json.loads(said.read_text())["pid"]
        os.kill(pid, signal.SIGTERM)
        for _ in range(200):
            try:
                os.kill(pid, 0)
            except OSError:
                return
            time.sleep(0.05)


def sojourn(*args: str, say: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOJOURN, *args],
        input=say,
        stdin=subprocess.DEVNULL if say is None else None,
        capture_output=True,
        text=True,
        timeout=90,
    )


def sessions() -> list[dict]:
    return json.loads(sojourn("sessions", "list", "--json").stdout)


def test_a_question_gets_its_answer_on_standard_output_and_the_session_is_kept(model):
    model.play([Say("Paris.")])
    done = sojourn("chat", "-q", "The capital of France?")
    assert (done.returncode, done.stdout) == (0, "Paris.\n")
    model.play([Say("Lyon.")])
    again = json.loads(sojourn("chat", "--continue", "-q", "And the second?", "--json").stdout)
    assert (again["text"], again["status"]) == ("Lyon.", "completed")
    assert [one["message_count"] for one in sessions()] == [4]
    assert model.asked[0].roles()[-3:] == ["user", "assistant", "user"]  # the first turn was sent along


def test_what_is_piped_in_goes_with_the_question(model):
    model.play([Say("Two lines.")])
    assert sojourn("chat", "-q", "How many lines?", say="one\ntwo\n").stdout == "Two lines.\n"
    assert "one\ntwo" in json.dumps(model.asked[0].body["messages"]).replace("\\n", "\n")


def test_a_failed_turn_is_a_failed_command_with_the_reason(model):
    model.play([Refuse(401, "bad key")])
    done = sojourn("chat", "-q", "hello")
    assert done.returncode == 9
    assert "(key_refused)" in done.stderr
    as_json = sojourn("chat", "-q", "hello", "--json")
    assert (as_json.returncode, json.loads(as_json.stdout)["error"]["code"]) == (9, "key_refused")
    nowhere = sojourn("chat", "-q", "hello", "--template", "nope")
    assert (nowhere.returncode, 'There is no template "nope"' in nowhere.stderr) == (3, True)


def test_the_first_question_of_an_empty_store_does_not_find_itself():
    told = sojourn("chat", "-q", "hello from the command line", "--runtime", "offline", "--model", "rules")
    assert (told.returncode, "past sessions mention" in told.stdout) == (0, False)


def test_an_answer_of_the_helper_is_not_taken_for_one_of_the_model_that_is_set_up():
    assert sojourn("config", "set", "model.base_url", "http://127.0.0.1:9/v1").returncode == 0
    told = sojourn("chat", "-q", "hello")
    assert told.returncode == 0
    assert "The model that is set up did not answer" in told.stderr


def test_nothing_to_answer_and_nobody_to_ask_is_said():
    done = sojourn("chat", say="")
    assert done.returncode == 2
    assert "There is no question" in done.stderr


def test_an_answer_streams_in_and_a_tool_is_one_line_after_one_key(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = Call("write_file", {"path": "note.txt", "content": "hi"})
    model.play([Say("I will write it. "), call], [Say("It **is** written.")])
    person = Chatter()
    person.sees("/help", 60)
    person.says("please write a note")
    person.sees("[y]es", 60)
    person.types("y")
    person.sees("written", 60)
    person.sees("tokens", 60)
    assert person.quits() == 0
    assert "▸ write_file" in person.text
    assert "Saved as" in person.text
    assert (tmp_path / "note.txt").read_text() == "hi"


def test_no_stray_key_grants_anything_lasting(model, tmp_path, monkeypatch):
    """A sentence that begins with "a" or "s" is a sentence; `always` is typed, explained and typed again."""
    monkeypatch.chdir(tmp_path)
    model.play([Call("write_file", {"path": "note.txt", "content": "hi"})], [Say("Not written.")], [Say("Noted.")])
    person = Chatter()
    person.sees("/help", 60)
    person.says("please write a note")
    person.sees("[y]es", 60)
    person.says("also think about the title")
    person.says("always")
    person.sees("confirm", 60)
    assert not (tmp_path / "note.txt").exists()
    person.types("n")
    person.sees("Not written", 60)
    person.sees("tokens", 60)
    assert person.quits() == 0
    assert not (tmp_path / "note.txt").exists()


def test_ctrl_c_stops_the_turn_and_not_the_program(model):
    model.play([Say("word " * 2000, pause=0.05)])
    person = Chatter()
    person.sees("/help", 60)
    person.says("talk for long")
    person.sees("Ctrl-C stops", 60)
    person.types("\x03")
    person.sees("cancelled", 60)
    model.play([Say("Still here.")])
    person.says("are you there?")
    person.sees("Still", 60)
    assert person.quits() == 0


def test_two_terminals_see_the_same_session_live(model):
    model.play([Say("First answer.")])
    one = Chatter()
    one.sees("/help", 60)
    one.says("begin")
    one.sees("answer", 60)
    other = Chatter("--continue")
    other.sees("First", 60)
    model.play([Say("Seen by both.")])
    one.says("go on please")
    other.sees("go on please", 60)
    other.sees("both", 60)
    assert one.quits() == 0
    assert other.quits() == 0
    assert len(sessions()) == 1


def test_a_turn_goes_on_when_the_terminal_is_gone(model):
    model.play([Say("slowly " * 40, pause=0.05)])
    person = Chatter()
    person.sees("/help", 60)
    person.says("a long story")
    person.sees("Ctrl-C stops", 60)
    person.process.send_signal(signal.SIGKILL)
    person.leaves()
    for _ in range(100):
        done = json.loads(sojourn("sessions", "show", sessions()[0]["id"], "--json").stdout)
        if "slowly" in json.dumps(done).split("a long story")[-1]:
            return
        time.sleep(0.2)
    pytest.fail("the turn ended with its terminal")


def test_a_running_turn_is_stopped_from_another_terminal(model):
    model.play([Say("word " * 2000, pause=0.05)])
    person = Chatter()
    person.sees("/help", 60)
    person.says("talk for long")
    person.sees("Ctrl-C stops", 60)
    stopped = sojourn("stop", sessions()[0]["id"], "--json")
    assert json.loads(stopped.stdout)["stopped"] is True
    person.sees("cancelled", 60)
    assert person.quits() == 0


def test_esc_stops_the_turn_and_gives_the_words_back(model):
    model.play(lambda asked: [_answer_longer(json.dumps(asked.body))])
    person = Chatter("talk for long")  # the first message, given on the command line
    person.sees("Ctrl-C stops", 60)
    person.types("\x1b")
    person.sees("cancelled", 60)
    person.sees(" talk for long · ", 60)  # the title, not the id
    person.says("er still")
    person.sees("The second answer.", 60)
    assert person.quits() == 0


def test_shift_tab_goes_through_the_permission_modes_and_a_plan_is_kept(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOJOURN_TOOLS_APPROVAL", "always")
    person = Chatter()
    person.sees("new session · /help", 60)
    person.types("\x1b[Z")
    person.sees("· accepts edits ·", 60)
    person.types("\x1b[Z")
    person.sees("· plan mode ·", 60)
    model.play([Call("write_file", {"path": "a.txt", "content": "x"}), Say("I would write a.txt.")])
    person.says("write it")
    person.sees("I would write a.txt.", 60)
    assert not (tmp_path / "a.txt").exists()
    person.says("/permissions")
    person.sees("plan: the agent reads and plans", 60)
    assert person.quits() == 0
    again = Chatter("--continue")
    again.sees("· plan mode ·", 60)
    assert again.quits() == 0


def _answer_longer(body: str) -> Say:
    return Say("The second answer.") if "talk for longer still" in body else Say("word " * 2000, pause=0.05)
