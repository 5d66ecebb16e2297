"""Anthropic's messages, OpenAI's responses and models: their shapes, streams, refusals and errors."""

import base64
import json

import pytest

from sojourn.core.errors import RateLimited
from sojourn.testing.scripted_runtime import Fail
from tests.integration.http.conftest import TOKEN, connect

PICTURE = base64.b64encode(b"picture").decode()
MESSAGE = {"model": "default", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
RESPONSE = {"model": "default", "input": "hello"}
TOOL = {"name": "x", "input_schema": {"type": "object"}}


def frames(answer):
    pairs = [frame.split("\ndata: ") for frame in answer.text.strip().split("\n\n") if frame.startswith("event: ")]
    return [(head.removeprefix("event: "), json.loads(body)) for head, body in pairs]


async def test_a_message_and_its_answer(client, scripted):
    body = MESSAGE | {"system": [{"type": "text", "text": "Be kind."}]}
    told = (await client.post("/v1/messages", json=body)).json()
    assert (told["type"], told["role"], told["stop_reason"]) == ("message", "assistant", "end_turn")
    assert told["content"] == [{"type": "text", "text": "hello"}]
    assert told["usage"] == {"input_tokens": 7, "output_tokens": 5}
    assert [past.message.role for past in scripted.seen[0].history] == ["system"]


async def test_a_streamed_message(client):
    told = frames(await client.post("/v1/messages", json=MESSAGE | {"stream": True}))
    names = [name for name, _ in told]
    assert names[:2] == ["message_start", "content_block_start"]
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert "".join(body["delta"]["text"] for name, body in told if name == "content_block_delta") == "hello"
    assert all(name == body["type"] for name, body in told)


async def test_pictures_and_results_of_earlier_tools_in_messages(client, scripted):
    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a tree"}]},
                {"type": "text", "text": "and this?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
            ],
        },
    ]
    assert (await client.post("/v1/messages", json=MESSAGE | {"messages": messages})).status_code == 200
    assert [past.message.role for past in scripted.seen[0].history] == ["user", "assistant", "tool"]
    assert [one.media_type for one in scripted.seen[0].attachments] == ["image/png"]


async def test_tokens_are_estimated(client):
    told = (await client.post("/v1/messages/count_tokens", json=MESSAGE)).json()
    assert 0 < told["input_tokens"] < 10


async def test_a_key_in_anthropics_header_opens_v1_alone(kit, app):
    async with connect(kit, {"x-api-key": TOKEN}, app=app) as client:
        assert (await client.post("/v1/messages", json=MESSAGE)).status_code == 200
        assert (await client.get("/api/sessions")).status_code == 401
    async with connect(kit, {"x-api-key": "wrong"}, app=app) as client:
        refused = await client.post("/v1/messages", json=MESSAGE)
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "authentication_error")
        assert refused.json()["type"] == "error"


async def test_a_response(client):
    told = (await client.post("/v1/responses", json=RESPONSE | {"instructions": "Be kind."})).json()
    assert (told["object"], told["status"], told["output"][0]["content"][0]["text"]) == (
        "response",
        "completed",
        "hello",
    )
    assert told["usage"]["total_tokens"] == 12


async def test_a_streamed_response(client):
    told = frames(await client.post("/v1/responses", json=RESPONSE | {"stream": True}))
    assert [body["sequence_number"] for _, body in told] == list(range(len(told)))
    assert (told[0][0], told[-1][0]) == ("response.created", "response.completed")
    assert told[-1][1]["response"]["output"][0]["content"][0]["text"] == "hello"
    assert "".join(body["delta"] for name, body in told if name.endswith("text.delta")) == "hello"


async def test_a_response_goes_on_after_an_earlier_one_and_branches_from_an_older(client):
    first = await client.post("/v1/responses", json=RESPONSE)
    name = first.json()["id"]
    second = await client.post("/v1/responses", json={"model": "default", "input": "two", "previous_response_id": name})
    assert second.headers["sojourn-session"] == first.headers["sojourn-session"]
    branch = await client.post("/v1/responses", json={"model": "default", "input": "too", "previous_response_id": name})
    other = branch.headers["sojourn-session"]
    assert other != first.headers["sojourn-session"]
    page = (await client.get(f"/api/sessions/{other}/messages")).json()["messages"]
    assert [one["content"] for one in page] == ["hello", "hello", "too", "too"]
    guest = {"Sojourn-Principal": "guest-1"}
    body = {"model": "default", "input": "x", "previous_response_id": name}
    assert (await client.post("/v1/responses", json=body, headers=guest)).status_code == 404


async def test_a_reference_to_our_answer_is_the_answer(client):
    first = (await client.post("/v1/responses", json=RESPONSE)).json()
    told = [
        {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "item_reference", "id": first["output"][0]["id"]},
        {"type": "reasoning", "summary": []},
        {"role": "user", "content": [{"type": "input_text", "text": "two"}]},
    ]
    second = await client.post("/v1/responses", json={"model": "default", "input": told})
    assert second.headers["sojourn-session"] in first["id"]
    odd = await client.post(
        "/v1/responses", json={"model": "default", "input": [{"type": "item_reference", "id": "x"}]}
    )
    assert odd.status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("/v1/chat/completions", {"tools": [{"type": "function", "function": {"name": "x"}}]}, "tools of its own"),
        ("/v1/chat/completions", {"functions": [{"name": "x"}]}, "tools of its own"),
        ("/v1/chat/completions", {"response_format": {"type": "json_object"}}, "json_object"),
        ("/v1/chat/completions", {"n": 2}, "2 answers"),
        ("/v1/responses", {"tools": [{"type": "web_search"}]}, "tools of its own"),
        ("/v1/responses", {"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}}, "json_schema"),
        ("/v1/responses", {"input": [{"type": "function_call_output", "output": "x"}]}, "function_call_output"),
        ("/v1/responses", {"input": [{"role": "user", "content": 3}]}, "wrong form"),
        ("/v1/responses", {"input": []}, "empty"),
        ("/v1/responses", {"input": [{"type": "reasoning"}]}, "empty"),
        ("/v1/messages", {"tools": [TOOL]}, "tools of its own"),
        ("/v1/messages", {"messages": [{"role": "assistant", "content": "x"}]}, "last message"),
        ("/v1/messages", {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, "base64"),
    ],
)
async def test_what_an_agent_cannot_do_is_refused_in_words(client, path, body, word):
    base = {"/v1/chat/completions": MESSAGE, "/v1/messages": MESSAGE, "/v1/responses": RESPONSE}[path]
    refused = await client.post(path, json=base | body)
    assert refused.status_code == 400
    assert word in refused.json()["error"]["message"]


async def test_tools_that_must_not_be_used_do_no_harm(client):
    body = MESSAGE | {"tools": [TOOL], "tool_choice": {"type": "none"}}
    assert (await client.post("/v1/messages", json=body)).status_code == 200


async def test_a_failed_turn_is_an_error_in_every_protocol(client, scripted):
    scripted.on("hello", Fail(RateLimited("Too many.", hint="Wait.")))
    whole = await client.post("/v1/messages", json=MESSAGE)
    assert (whole.status_code, whole.json()["error"]["type"]) == (429, "rate_limit_error")
    name, body = frames(await client.post("/v1/messages", json=MESSAGE | {"stream": True}))[-1]
    assert (name, body["error"]["message"]) == ("error", "Too many. Wait.")
    name, body = frames(await client.post("/v1/responses", json=RESPONSE | {"stream": True}))[-1]
    assert (name, body["response"]["error"]["code"]) == ("response.failed", "rate_limited")
    assert (await client.post("/v1/responses", json=RESPONSE)).status_code == 429


async def test_one_model_is_described_and_an_unknown_one_is_not(client):
    listed = (await client.get("/v1/models")).json()
    assert (listed["has_more"], listed["first_id"]) == (False, "default")
    for one in listed["data"]:
        assert (await client.get(f"/v1/models/{one['id']}")).json() == one
    assert (await client.get("/v1/models/nope")).status_code == 404
