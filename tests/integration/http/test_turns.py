"""Talking over HTTP: what is said is kept, a turn goes on by itself, and those who hang up stop nothing."""

import asyncio
import json

import pytest

from sojourn.core.errors import RateLimited
from sojourn.core.sessions import SessionId
from sojourn.ports.service import Caller
from sojourn.ports.store import Listing
from sojourn.ports.tool import Question
from sojourn.testing.scripted_runtime import Ask, EchoSteering, Fail, PauseGate, SayText, ScriptedRuntime
from tests.e2e.http_server import frames
from tests.integration.http.conftest import Listener


async def chat(client, message="hello there", **more):
    """Says something; the headers of the answer and all its frames."""
    answer = await client.post("/api/chat/stream", json={"message": message, **more})
    assert answer.status_code == 200, answer.text
    return answer.headers, list(frames(iter(answer.text.split("\n"))))


async def begin(client, **fields):
    return (await client.post("/api/sessions", json=fields)).json()["id"]


async def test_one_call_begins_a_session_and_streams_the_answer(client):
    headers, told = await chat(client, runtime="scripted", model="scripted-1")
    told = [frame for frame in told if "event" in frame]
    first = json.loads(told[0]["data"])
    assert told[0]["event"] == "metadata"
    assert (first["session_id"], first["turn_id"]) == (headers["sojourn-session"], headers["sojourn-turn"])
    assert (first["runtime"], first["model"], first["contract"]) == ("scripted", "scripted-1", 1)
    assert {frame["event"] for frame in told} <= {"metadata", "progress", "chunk", "error", "done"}
    assert "".join(json.loads(one["data"])["text"] for one in told if one["event"] == "chunk") == "hello there"
    assert json.loads(told[-1]["data"])["status"] == "completed"
    ids = [int(frame["id"]) for frame in told]
    assert ids == sorted(set(ids))


async def test_it_continues_a_session_and_tells_only_of_its_own_turn(client):
    headers, _ = await chat(client, "first")
    _, told = await chat(client, "second", session_id=headers["sojourn-session"])
    turns = {json.loads(frame["data"])["turn_id"] for frame in told if "event" in frame}
    assert len(turns) == 1
    assert headers["sojourn-turn"] not in turns
    page = (await client.get(f"/api/sessions/{headers['sojourn-session']}/messages")).json()["messages"]
    assert [(one["role"], one["content"]) for one in page] == [
        ("user", "first"),
        ("assistant", "first"),
        ("user", "second"),
        ("assistant", "second"),
    ]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"message": " "}, 400, "bad_input"),
        ({"message": "x", "session_id": "nobody"}, 404, "not_found"),
        ({"message": "x", "runtime": "nobody"}, 404, "not_found"),
        ({"message": "x", "attachments": [{}]}, 400, "bad_input"),
        ({"message": "x", "attachments": [{"data": "§"}]}, 400, "bad_input"),
        ({"message": "x", "attachments": [{"hash": "0" * 64}]}, 404, "not_found"),
        ({"message": "x", "colour": "red"}, 422, "bad_input"),
        ({}, 422, "bad_input"),
    ],
)
async def test_what_cannot_begin_is_a_problem_and_no_stream(client, body, status, code):
    answer = await client.post("/api/chat/stream", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_a_failing_turn_is_one_error_and_one_done(client, scripted):
    scripted.on("go", Fail(RateLimited("Too much.", hint="Wait.")))
    _, told = await chat(client, "go")
    error, done = (json.loads(frame["data"]) for frame in told[-2:])
    assert (error["code"], error["message"], error["hint"], error["retryable"]) == (
        "rate_limited",
        "Too much.",
        "Wait.",
        True,
    )
    assert done["status"] == "failed"


async def test_a_turn_is_accepted_and_runs_by_itself(client, kit):
    session = await begin(client)
    answer = await client.post(f"/api/sessions/{session}/turns", json={"message": "hello"})
    started = answer.json()
    assert answer.status_code == 202
    assert started["session_id"] == session
    await kit.service.settle()
    used = (await client.get(f"/api/sessions/{session}/usage")).json()
    assert (used["input_tokens"], used["output_tokens"], used["cost_usd"]) == (7, 5, None)
    assert [(one["turn_id"], one["status"]) for one in used["turns"]] == [(started["turn_id"], "completed")]


async def test_the_same_key_starts_one_turn(client, kit):
    session = await begin(client)
    send = {"url": f"/api/sessions/{session}/turns", "json": {"message": "once"}, "headers": {"Idempotency-Key": "k1"}}
    first, second = (await client.post(**send)).json(), (await client.post(**send)).json()
    assert first == second
    await kit.service.settle()
    messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [one["role"] for one in messages] == ["user", "assistant"]


async def test_the_same_key_without_a_session_begins_one_session_and_one_turn(client, kit):
    send = {"url": "/api/chat/stream", "json": {"message": "once"}, "headers": {"Idempotency-Key": "k1"}}
    first, *others = [await client.post(**send) for _ in range(3)]
    assert {(one.headers["Sojourn-Session"], one.headers["Sojourn-Turn"], one.text) for one in others} == {
        (first.headers["Sojourn-Session"], first.headers["Sojourn-Turn"], first.text)
    }
    assert len(await kit.store.find(Listing())) == 1
    other = await client.post(**{**send, "json": {"message": "twice"}})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert (await client.post(**{**send, "headers": {"Idempotency-Key": "k2"}})).headers["Sojourn-Session"] != (
        first.headers["Sojourn-Session"]
    )


async def test_the_same_key_twice_at_once_begins_one_session(client, kit):
    send = {"url": "/api/chat/stream", "json": {"message": "once"}, "headers": {"Idempotency-Key": "k1"}}
    both = await asyncio.gather(*(client.post(**send) for _ in range(5)))
    assert {one.status_code for one in both} == {200}
    assert len({(one.headers["Sojourn-Session"], one.headers["Sojourn-Turn"]) for one in both}) == 1
    assert len(await kit.store.find(Listing())) == 1


async def test_a_busy_session_says_who_is_at_it_and_can_be_stopped(client, scripted, kit):
    scripted.on("wait", SayText("well"), PauseGate("go"))
    session = await begin(client)
    turn = (await client.post(f"/api/sessions/{session}/turns", json={"message": "wait"})).json()["turn_id"]
    busy = await client.post(f"/api/sessions/{session}/turns", json={"message": "again"})
    assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
    assert busy.json()["about"]["surface"] == "api"
    assert (await client.get(f"/api/sessions/{session}/turns/running")).json() == {"turn_id": turn}
    other = await client.post(f"/api/sessions/{session}/turns/t_0000000000000000/stop")
    assert other.json() == {"stopped": False}
    assert (await client.post(f"/api/sessions/{session}/turns/{turn}/stop")).json() == {"stopped": True}
    await kit.service.settle()
    assert (await client.get(f"/api/sessions/{session}/usage")).json()["turns"][0]["status"] == "cancelled"
    assert (await client.get(f"/api/sessions/{session}/turns/running")).json() == {"turn_id": None}


async def asked(kit, session):
    """Waits until a turn of that session has asked something."""
    async for kept in kit.service.watch(SessionId(session)):
        if getattr(kept.item, "stage", "") == "approval":
            return


async def test_a_question_is_answered(client, scripted, kit):
    scripted.on("may I?", Ask(Question(id="q1", text="Delete it?")))
    session = await begin(client)
    turn = (await client.post(f"/api/sessions/{session}/turns", json={"message": "may I?"})).json()["turn_id"]
    await asked(kit, session)
    path = f"/api/sessions/{session}/turns/{turn}/approval"
    wrong = await client.post(path, json={"question": "q1", "choice": "perhaps"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "bad_input")
    assert (await client.post(path, json={"question": "q2", "choice": "once"})).status_code == 404
    assert (await client.post(path, json={"question": "q1", "choice": "once"})).status_code == 204
    await kit.service.settle()
    assert (await client.post(path, json={"question": "q1", "choice": "once"})).status_code == 404
    page = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert page[-1]["content"] == "once"


async def test_a_running_turn_can_be_steered(client, scripted, kit):
    scripted.on("go", PauseGate("go"), EchoSteering())
    session = await begin(client)
    await client.post(f"/api/sessions/{session}/turns", json={"message": "go"})
    assert (await client.post(f"/api/sessions/{session}/steer", json={"text": "left"})).status_code == 204
    async for kept in kit.service.watch(SessionId(session)):
        if getattr(kept.item, "detail", {}).get("steer") == "left":
            break
    scripted.gate("go").open()
    await kit.service.settle()
    page = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert page[-1]["content"] == "left"
    idle = await client.post(f"/api/sessions/{session}/steer", json={"text": "left"})
    assert idle.status_code == 404


async def test_a_runtime_that_does_not_listen_says_so_and_the_words_can_be_queued(client, scripted, kit, monkeypatch):
    monkeypatch.delattr(ScriptedRuntime, "steers")
    scripted.on("go", PauseGate("go"))
    session = await begin(client)
    await client.post(f"/api/sessions/{session}/turns", json={"message": "go"})
    refused = await client.post(f"/api/sessions/{session}/steer", json={"text": "left"})
    assert (refused.status_code, refused.json()["code"]) == (409, "cannot_steer")
    assert "wait" in refused.json()["hint"]
    assert [one["steers"] for one in (await client.get("/api/runtimes")).json()] == [False]
    queued = await client.post(f"/api/sessions/{session}/turns", json={"message": "left", "when_busy": "wait"})
    assert queued.status_code == 202
    scripted.gate("go").open()
    await kit.service.settle()
    page = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [one["content"] for one in page][-2:] == ["left", "left"]


async def test_somebody_elses_session_is_taken_before_it_is_answered(client, kit):
    session = await kit.service.open(Caller(surface="cli"))
    await kit.service.take_over(session.id, Caller(surface="cli"))
    refused = await client.post("/api/chat/stream", json={"message": "x", "session_id": session.id})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_driving")
    assert refused.json()["about"] == {"session": session.id, "driver": "cli", "asked": "api"}
    assert (await client.post(f"/api/sessions/{session.id}/take")).json()["driver"] == "api"
    await chat(client, "x", session_id=session.id)


async def test_the_last_request_can_be_undone(client):
    headers, _ = await chat(client)
    path = f"/api/sessions/{headers['sojourn-session']}"
    assert (await client.post(f"{path}/undo")).json() == {"hidden": 2}
    assert (await client.get(f"{path}/messages")).json()["messages"] == []
    assert (await client.post(f"{path}/undo")).json() == {"hidden": 0}


async def test_hanging_up_does_not_stop_a_turn(app, kit, scripted):
    scripted.on("go on", SayText("one "), PauseGate("go"), SayText("two"))
    listener = Listener(app, "/api/chat/stream", body=b'{"message": "go on"}')
    frames = await listener.until("chunk")
    session = SessionId(json.loads(frames[0]["data"])["session_id"])
    await listener.hang_up()
    scripted.gate("go").open()
    await kit.service.settle()
    said = [kept.item.content for kept in await kit.service.messages(session)]
    assert said[0] == "go on"
    assert said[-1] == "two"


async def test_what_answers_here_can_be_asked(client):
    [found] = (await client.get("/api/runtimes")).json()
    assert (found["name"], found["ok"], found["models"], found["default"]) == ("scripted", True, ["scripted-1"], True)


@pytest.mark.parametrize("surface", ["", "Web", "a b", "%C3%BC"])
async def test_a_surface_is_a_short_word(client, surface):
    answer = await client.post("/api/chat/stream", json={"message": "x"}, headers={"Sojourn-Surface": surface})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")


async def test_waiting_in_line_is_possible(client, scripted, kit):
    scripted.on("slow", PauseGate("go"))
    session = await begin(client)
    await client.post(f"/api/sessions/{session}/turns", json={"message": "slow"})
    body = {"message": "next", "when_busy": "wait"}
    waiting = asyncio.create_task(client.post(f"/api/sessions/{session}/turns", json=body))
    await asyncio.sleep(0)
    scripted.gate("go").open()
    assert (await waiting).status_code == 202
    await kit.service.settle()
    page = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert page[-1]["content"] == "next"


async def test_a_request_that_waits_is_shown_and_can_be_taken_back(client, scripted):
    scripted.on("first", PauseGate("go"), SayText("done"))
    session = await begin(client)
    await client.post(f"/api/sessions/{session}/turns", json={"message": "first"})
    waits = (await client.post(f"/api/sessions/{session}/turns", json={"message": "later", "when_busy": "wait"})).json()
    turns = (await client.get(f"/api/sessions/{session}/turns")).json()["turns"]
    assert [(one["state"], one["message"]) for one in turns] == [("running", "first"), ("queued", "later")]
    assert [one["running"] for one in (await client.get("/api/sessions")).json()["sessions"]] == [True]
    assert (await client.delete(f"/api/sessions/{session}/turns/queued/{turns[0]['turn_id']}")).status_code == 409
    assert (await client.delete(f"/api/sessions/{session}/turns/queued/{waits['turn_id']}")).status_code == 204
    assert (await client.delete(f"/api/sessions/{session}/turns/queued/{waits['turn_id']}")).status_code == 409
    scripted.gate("go").open()
    async with asyncio.timeout(10):
        while (await client.get(f"/api/sessions/{session}/turns")).json()["turns"]:
            await asyncio.sleep(0.02)
    said = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [one["content"] for one in said if one["role"] == "user"] == ["first"]
