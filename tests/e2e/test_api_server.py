"""The HTTP API as a platform: a program has chats that hold sessions, gives them away and is given them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.test_gateway import sojourn, started

HERE = "/api/plugins/api_server"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("SOJOURN_RUNTIME", "echo")
    monkeypatch.setenv("SOJOURN_TITLES", "no")


def line(home: Path) -> httpx2.Client:
    said = json.loads((home / "server.json").read_text())
    bearer = {"Authorization": f"Bearer {said['token']}"}
    return httpx2.Client(base_url=said["address"], headers=bearer, timeout=30, trust_env=False)


@pytest.fixture
def api(home, monkeypatch) -> Iterator[httpx2.Client]:
    monkeypatch.setenv("SOJOURN_API_SERVER_LONGEST_WAIT", "20")
    with started("serve", "--port", "0"), line(home) as made:
        yield made


def say(api: httpx2.Client, chat: str, text: str, key: str = "", **more: Any) -> dict[str, Any]:
    told = {"Idempotency-Key": key} if key else {}
    answer = api.post(f"{HERE}/chats/{chat}/messages?wait=20", json={"text": text, **more}, headers=told)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_a_program_is_answered_in_the_same_call_and_goes_on_later(api):
    first = say(api, "kitchen", "the roses bloom")
    assert (first["status"], [one["text"] for one in first["replies"]]) == ("done", ["the roses bloom"])
    session = api.get(f"{HERE}/chats/kitchen").json()["session"]
    say(api, "kitchen", "and the thyme")
    about = api.get(f"/api/sessions/{session}").json()
    assert (about["message_count"], about["source"], about["driver"]) == (4, "api_server", "api_server")
    assert api.get(f"{HERE}/chats").json() == {"chats": ["kitchen"]}


def test_the_same_key_is_answered_once(api):
    one, two = (say(api, "kitchen", "once", key="k-1") for _ in range(2))
    assert one["message"] == two["message"]
    assert one["replies"] == two["replies"]
    assert len(api.get(f"{HERE}/chats/kitchen/messages").json()["messages"]) == 2


def test_threads_are_conversations_of_their_own(api):
    say(api, "kitchen", "in the chat")
    thread = api.post(f"{HERE}/chats/kitchen/threads", json={"name": "herbs"}).json()["thread"]
    inside = say(api, "kitchen", "in the thread", thread=thread)
    assert [one["text"] for one in inside["replies"]] == ["in the thread"]
    about = api.get(f"{HERE}/chats/kitchen").json()
    [known] = about["threads"]
    assert (known["name"], known["session"] not in (None, about["session"])) == ("herbs", True)


def test_a_session_is_handed_to_a_program_and_back(api):
    body = {"model": "default", "messages": [{"role": "user", "content": "plan a herb garden"}]}
    session = api.post("/v1/chat/completions", json=body).headers["Sojourn-Session"]
    done = sojourn("handoff", session, "--to", "api_server:kitchen", "--json")
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert (done.returncode, told["state"], told["platform"]) == (0, "completed", "api_server")
    [thread] = api.get(f"{HERE}/chats/kitchen").json()["threads"]
    assert (thread["session"], thread["thread"]) == (session, told["thread_id"])
    answer = say(api, "kitchen", "add thyme", thread=thread["thread"])
    assert [one["text"] for one in answer["replies"]] == ["add thyme"]
    assert api.get(f"/api/sessions/{session}").json()["message_count"] == 6
    assert sojourn("handoff", session, "--to", "local").returncode == 0
    assert api.get(f"/api/sessions/{session}").json()["driver"] == "local"
    [thread] = api.get(f"{HERE}/chats/kitchen").json()["threads"]
    assert thread["session"] is None


def test_a_program_that_speaks_openai_goes_on_with_the_session_of_its_chat(api):
    say(api, "kitchen", "hello")
    session = api.get(f"{HERE}/chats/kitchen").json()["session"]
    heads = {"Sojourn-Session": session, "Sojourn-Surface": "api_server"}
    body = {"model": "default", "messages": [{"role": "user", "content": "and on"}]}
    answer = api.post("/v1/chat/completions", json=body, headers=heads)
    assert answer.json()["choices"][0]["message"]["content"].strip() == "and on"
    assert answer.headers["Sojourn-Session"] == session


def test_a_stranger_gets_a_code_and_no_answer(api):
    told = say(api, "tablet", "show me everything", sender="kid")
    assert "sojourn gateway pair" in told["replies"][0]["text"]
    assert api.get(f"{HERE}/chats/tablet?sender=kid").json()["session"] is None


def test_a_chat_can_be_followed(api):
    say(api, "kitchen", "hello there")
    seen: list[str] = []
    with api.stream("GET", f"{HERE}/chats/kitchen/events") as live:
        for row in live.iter_lines():
            seen += [json.loads(row[6:])["text"]] if row.startswith("data: ") else []
            if len(seen) == 2:
                break
    assert seen == ["hello there", "hello there"]


@pytest.mark.parametrize(
    ("path", "body"), [("messages/77/press", {"value": "x"}), ("messages", {"text": "x", "thread": "t9"})]
)
def test_what_is_not_there_is_said(api, path, body):
    answer = api.post(f"{HERE}/chats/kitchen/{path}", json=body)
    assert (answer.status_code, bool(answer.json()["hint"])) == (404, True)


def test_where_no_gateway_serves_it_that_is_said_at_once(home):
    with started("serve", "--port", "0"), line(home) as api:
        answer = api.post(f"{HERE}/chats/kitchen/messages", json={"text": "hello"})
        assert answer.status_code == 503
        assert "[plugins.api_server]" in answer.json()["hint"]
        assert api.get(f"{HERE}/chats").json() == {"chats": []}
