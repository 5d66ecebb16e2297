"""OpenAI's API: what a call becomes here, and its answers and errors in the shape its callers know."""

import base64
import json

import pytest

from sojourn.core.errors import RateLimited
from sojourn.testing.scripted_runtime import Fail, ScriptedRuntime

HELLO = [{"role": "user", "content": "hello there"}]


async def ask(client, messages=HELLO, headers=None, **more):
    body = {"model": "default", "messages": messages, **more}
    return await client.post("/v1/chat/completions", json=body, headers=headers)


def lines(answer):
    return [line.removeprefix("data: ") for line in answer.text.split("\n") if line.startswith("data: ")]


async def transcript(client, answer):
    page = (await client.get(f"/api/sessions/{answer.headers['x-sojourn-session']}/messages")).json()["messages"]
    return [(one["role"], one["content"]) for one in page]


async def test_a_whole_answer(client):
    answer = await ask(client, temperature=0.5)
    told = answer.json()
    assert (told["object"], told["model"]) == ("chat.completion", "default")
    assert told["choices"][0]["message"] == {"role": "assistant", "content": "hello there"}
    assert told["choices"][0]["finish_reason"] == "stop"
    assert told["usage"] == {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    assert await transcript(client, answer) == [("user", "hello there"), ("assistant", "hello there")]


async def test_a_streamed_answer(client):
    *told, end = lines(await ask(client, stream=True, stream_options={"include_usage": True}))
    pieces = [json.loads(line) for line in told]
    assert end == "[DONE]"
    assert pieces[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in pieces[:-1]) == "hello there"
    assert pieces[-2]["choices"][0]["finish_reason"] == "stop"
    assert (pieces[-1]["choices"], pieces[-1]["usage"]["total_tokens"]) == ([], 12)


async def test_earlier_messages_are_the_transcript_and_the_last_one_is_said(client, scripted):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    answer = await ask(
        client,
        [
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "a tree"},
            {"role": "tool", "tool_call_id": "?", "content": "of no call"},
            {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
        ],
    )
    assert [past.message.role for past in scripted.seen[0].history] == ["system", "user", "assistant", "tool"]
    assert scripted.seen[0].said == "and now?"
    assert (await transcript(client, answer))[-2:] == [("user", "and now?"), ("assistant", "and now?")]


@pytest.mark.parametrize("name", ["X-Sojourn-Session", "Sojourn-Session"])
async def test_a_session_is_continued_with_the_last_message_alone(client, name):
    first = await ask(client)
    more = [*HELLO, {"role": "assistant", "content": "made up"}, {"role": "user", "content": "again"}]
    second = await ask(client, more, {name: first.headers["x-sojourn-session"]})
    assert second.headers["x-sojourn-session"] == first.headers["x-sojourn-session"]
    assert [text for _, text in await transcript(client, second)] == ["hello there", "hello there", "again", "again"]


async def test_pictures_and_files_come_along(client, scripted):
    picture = f"data:image/png;base64,{base64.b64encode(b'picture').decode()}"
    await ask(
        client,
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "what is it?"},
                    {"type": "image_url", "image_url": {"url": picture}},
                    {"type": "file", "file": {"file_data": picture, "filename": "a.png"}},
                ],
            }
        ],
    )
    assert [(one.media_type, one.name) for one in scripted.seen[0].attachments] == [
        ("image/png", ""),
        ("image/png", "a.png"),
    ]


@pytest.mark.parametrize(
    ("messages", "more", "status", "code"),
    [
        ([{"role": "assistant", "content": "x"}], {}, 400, "bad_input"),
        ([{"role": "user", "content": ""}], {}, 400, "bad_input"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}],
            {},
            400,
            "bad_input",
        ),
        ([], {}, 422, "bad_input"),
        (HELLO, {"model": "gpt-9"}, 404, "not_found"),
    ],
)
async def test_errors_have_the_shape_callers_know(client, messages, more, status, code):
    answer = await ask(client, messages, **more)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error.keys() == {"message", "type", "param", "code"}


async def test_a_failed_turn_is_an_error_of_the_call(client, scripted):
    scripted.on("hello there", Fail(RateLimited("Too much.", hint="Wait.")))
    whole = await ask(client)
    assert (whole.status_code, whole.json()["error"]["type"]) == (429, "rate_limit_error")
    streamed = lines(await ask(client, stream=True))
    assert json.loads(streamed[-2])["error"]["message"] == "Too much. Wait."
    assert streamed[-1] == "[DONE]"


async def test_no_token_is_told_in_the_same_shape(client):
    answer = await client.get("/v1/models", headers={"Authorization": "Bearer wrong"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (401, "authentication_error")
    assert (await client.get("/v1/nothing")).json()["error"]["code"] == "no_route"


async def test_runtimes_and_their_models_are_listed(client):
    told = (await client.get("/v1/models")).json()
    assert [one["id"] for one in told["data"]] == ["default", "scripted", "scripted/scripted-1"]


async def test_an_example_is_not_listed_and_answers_by_name(client, kit, monkeypatch):
    monkeypatch.setattr(kit, "runtime_names", lambda: ("scripted", "echo"))
    monkeypatch.setattr(kit, "runtime", {"scripted": kit.scripted, "echo": ScriptedRuntime("echo")}.get)
    assert {one["name"]: one["offered"] for one in (await client.get("/api/runtimes")).json()}["echo"] is False
    assert "echo" not in (await client.get("/v1/models")).text
    assert (await client.get("/v1/models/echo")).status_code == 404
    assert "echo" not in (await ask(client, model="nope")).json()["error"]["message"]
    assert (await ask(client, model="echo")).json()["choices"][0]["message"]["content"] == "hello there"
    assert kit.scripted.seen == []


async def test_a_model_of_a_runtime_is_used(client, scripted):
    await ask(client, model="scripted/scripted-1")
    assert scripted.seen[0].model == "scripted-1"
