"""A real server whose clock goes back and leaps ahead while it works: nothing is revived, prolonged or stuck."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.browser_client import BrowserClient
from tests.e2e.http_server import Serving
from tests.security.agent_server import Agent, write_config
from tests.security.attack_lines import attack_lines
from tests.security.outside import Outside
from tests.security.test_attacks_through_server import fill
from tests.servers.faked_clock import FakedClock

DAY_SECONDS = 86_400.0


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> FakedClock:
    return FakedClock(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="module")
def agent(clock: FakedClock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    base = tmp_path_factory.mktemp("server")
    (base / "work").mkdir()
    with ModelServer() as model:
        write_config(base / ".sojourn", model, "[tools]\nseconds = 3\n")
        with Serving(base / ".sojourn", "--no-gateway", **clock.env) as server:
            made = Agent(server, model, base / "work")
            model.play([Say("Good morning.")])
            session = made.open()
            made.say(session, attended=False)
            until = time.monotonic() + 120  # libfaketime makes it slow to load what the first turn needs
            while made.client.get(f"/api/sessions/{session}/turns/running").json()["turn_id"]:
                assert time.monotonic() < until
                time.sleep(0.1)
            yield made


@pytest.fixture(autouse=True)
def true_time(clock: FakedClock) -> Iterator[None]:
    yield
    clock.set_to(0)


def read_server_time(agent: Agent) -> float:
    made = agent.client.post("/api/sessions", json={}).raise_for_status().json()
    return datetime.fromisoformat(made["started_at"]).timestamp()


def test_the_clock_of_the_server_is_set(agent: Agent, clock: FakedClock) -> None:
    clock.set_to(-DAY_SECONDS)
    assert abs(time.time() - DAY_SECONDS - read_server_time(agent)) < 60


def test_a_command_that_was_asked_about_is_stopped_in_time(agent: Agent, clock: FakedClock) -> None:
    agent.model.play([Call("terminal", {"command": "sleep 100"})], [Say("Done.")])
    session = agent.open()
    agent.say(session)
    asked = agent.asked(session)
    clock.set_to(-DAY_SECONDS)
    agent.answer(session, asked["question"], "once")
    clock.set_to(-2 * DAY_SECONDS)
    [said] = agent.done(session)
    assert "stopped after 3" in said
    assert agent.client.get("/healthz").status_code == 200


def test_a_session_goes_on_in_the_order_in_which_it_was_said(agent: Agent, clock: FakedClock) -> None:
    session = agent.open()
    for shift, words in ((0.0, "first"), (-DAY_SECONDS, "second"), (DAY_SECONDS, "third"), (-DAY_SECONDS, "fourth")):
        clock.set_to(shift)
        agent.model.play([Say(f"Yes, {words}.")])
        agent.say(session, words)
        agent.done(session)
    messages = agent.client.get(f"/api/sessions/{session}/messages").json()["messages"]
    assert [one["content"] for one in messages if one["role"] == "user"] == ["first", "second", "third", "fourth"]


def test_a_browser_session_that_was_over_stays_over(agent: Agent, clock: FakedClock) -> None:
    browser = BrowserClient(agent.server)
    clock.set_to(-3600)
    assert browser.ask("GET", "/api/sessions").status_code == 200
    clock.set_to(31 * DAY_SECONDS)
    assert browser.ask("GET", "/api/sessions").status_code == 401
    clock.set_to(0)
    assert browser.ask("GET", "/api/sessions").status_code == 401


def test_a_link_of_yesterday_is_not_valid_again(agent: Agent, clock: FakedClock) -> None:
    path = agent.client.post("/api/links").json()["path"]
    clock.set_to(DAY_SECONDS)
    agent.client.post("/api/links").raise_for_status()
    browser = BrowserClient(agent.server)
    clock.set_to(-DAY_SECONDS)
    assert browser.send("GET", path).status_code in (200, 403)  # counted on a clock that cannot be set
    assert browser.send("GET", path).status_code != 200  # and once


def test_attacks_while_the_clock_goes_back_have_no_effect_outside(
    agent: Agent, clock: FakedClock, outside: Outside
) -> None:
    (agent.server.home / "config.toml").write_text(
        (agent.server.home / "config.toml").read_text().replace("seconds = 3", 'seconds = 3\napproval = "always"')
    )
    lines = [fill(one, outside) for one in attack_lines()[1::24]]
    for at in range(0, len(lines), 4):
        clock.set_to(-at * DAY_SECONDS)
        calls = [Call("terminal", {"command": line}, id=f"c{n}") for n, line in enumerate(lines[at : at + 4])]
        agent.model.play(calls, [Say("Done.")])
        session = agent.open()
        agent.say(session)
        said = agent.done(session)
        assert len(said) == len(calls)
        assert outside.find_faults("\n".join(lines[at : at + 4]), "\n".join(said)) == []
