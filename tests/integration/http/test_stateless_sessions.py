"""Programs that send the whole conversation each time: one session, continued, or branched where it must be."""

import asyncio

import pytest

from sojourn.http.stateless_sessions import KIND
from sojourn.testing.scripted_runtime import PauseGate, SayText
from tests.integration.http.conftest import BEARER, connect

GUEST = {"Sojourn-Principal": "guest-1"}


async def ask(client, messages, headers=None, **more):
    body = {"model": "default", "messages": messages, **more}
    answer = await client.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["sojourn-session"], answer.json()["choices"][0]["message"]["content"]


def said(*texts):
    return [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]


async def count(client, **headers):
    return (await client.get("/api/sessions?count=true", headers=headers)).json()["total"]


async def test_thirty_turns_are_one_session_of_sixty_messages(client, store):
    talk = [{"role": "system", "content": "Be brief."}]
    sessions = set()
    for number in range(30):
        talk.append({"role": "user", "content": f"number {number}"})
        session, answer = await ask(client, talk)
        sessions.add(session)
        talk.append({"role": "assistant", "content": f"  {answer}\r\n"})  # clients change the ends of texts
    assert (len(sessions), await count(client)) == (1, 1)
    found = await store.get(sessions.pop())
    assert (found.message_count, found.title) == (61, "number 0")  # the system message of the client is kept too


async def test_the_session_goes_on_in_another_protocol_and_stream(client):
    session, answer = await ask(client, said("hello"))
    messages = said("hello", answer, "again")
    other = await client.post(
        "/v1/messages", json={"model": "default", "max_tokens": 9, "messages": messages, "stream": True}
    )
    assert other.headers["sojourn-session"] == session
    third = await client.post(
        "/v1/responses", json={"model": "default", "input": [*messages, *said("x", "again", "3")[1:]]}
    )
    assert third.headers["sojourn-session"] == session


@pytest.mark.parametrize(
    "change",
    [said("hello", "made up", "again"), said("Hello", "hello", "again"), said("hello", "hello", "x", "y", "again")],
    ids=["our answer", "the question", "more than there was"],
)
async def test_another_transcript_is_another_session(client, change):
    session, _ = await ask(client, said("hello"))
    assert (await ask(client, change))[0] != session


async def test_a_session_that_has_moved_on_is_branched(client, store):
    session, answer = await ask(client, said("hello"))
    again = said("hello", answer, "again")
    assert (await ask(client, again))[0] == session
    branch, _ = await ask(client, again)  # the same once more: a client that asks for another answer
    assert branch != session
    assert [one.item.content async for one in store.read(branch, messages_only=True)] == [
        "hello",
        "hello",
        *["again"] * 2,
    ]


async def test_an_undone_session_is_branched(client):
    session, answer = await ask(client, said("hello"))
    await client.post(f"/api/sessions/{session}/undo")
    assert (await ask(client, said("hello", answer, "again")))[0] != session


async def test_two_sessions_with_one_transcript_are_both_left_alone(client):
    first, answer = await ask(client, said("hello"))
    second, _ = await ask(client, said("hello"))
    third, _ = await ask(client, said("hello", answer, "again"))
    assert len({first, second, third}) == 3


async def test_a_session_that_another_surface_drives_is_left_alone(client):
    session, answer = await ask(client, said("hello"))
    await client.post(f"/api/sessions/{session}/take", headers={"Sojourn-Surface": "cli"})
    assert (await ask(client, said("hello", answer, "again")))[0] != session


async def test_a_busy_session_is_branched(client, scripted):
    session, answer = await ask(client, said("hello"))
    scripted.on("again", SayText("well"), PauseGate("go"))
    slow = asyncio.create_task(ask(client, said("hello", answer, "again")))
    while not scripted.seen or scripted.seen[-1].said != "again":
        await asyncio.sleep(0.01)
    other, _ = await ask(client, said("hello", answer, "something else"))
    scripted.gate("go").open()
    assert ((await slow)[0], other != session) == (session, True)


async def test_nobody_continues_the_session_of_another_person_or_token(client, kit, app):
    session, answer = await ask(client, said("hello"))
    assert (await ask(client, said("hello", answer, "again"), GUEST))[0] != session
    app.state.access.replace("another-token-for-tests")
    try:
        async with connect(kit, {"Authorization": "Bearer another-token-for-tests"}, app=app) as other:
            assert (await ask(other, said("hello", answer, "again")))[0] != session
    finally:
        app.state.access.replace(BEARER["Authorization"].split()[1])


async def test_a_deleted_session_takes_its_mark_along(client, store):
    session, answer = await ask(client, said("hello"))
    assert await store.list_records(KIND, session=session)
    await client.delete(f"/api/sessions/{session}")
    assert not await store.list_records(KIND)
    assert (await ask(client, said("hello", answer, "again")))[0] != session
