"""`sojourn acp` as an editor uses it: the official SDK's own client, a real process, a scripted model."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.model_script import Call, Refuse, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import PROGRAM, Serving, frames

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


@pytest.fixture
def model(monkeypatch):
    with ModelServer() as server:
        for name, value in {
            "MODEL_PROVIDER": "openai",
            "MODEL_BASE_URL": server.url,
            "MODEL": "scripted-1",
            "MODEL_API_KEY": "k",
            "RUNTIME": "native",
            "TITLES": "no",  # its request would take an answer
        }.items():
            monkeypatch.setenv(f"SOJOURN_{name}", value)
        yield server


class Editor:
    """What the protocol's client side is asked: it notes updates, and answers questions with `choice`."""

    def __init__(self, choice: str = "deny") -> None:
        self.choice, self.updates, self.questions = choice, list[Any](), list[Any]()
        self.asked = asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        self.questions.append((tool_call, [(one.option_id, one.kind) for one in options]))
        self.asked.set()
        if self.choice == "wait":
            await asyncio.Event().wait()
        outcome: Any = schema.AllowedOutcome(option_id=self.choice, outcome="selected")
        return schema.RequestPermissionResponse(outcome=outcome)

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(one.content.text for one in self.of(kind))


@contextlib.asynccontextmanager
async def connect(editor: Editor, *flags: str) -> AsyncIterator[Any]:
    words = (*flags, "acp") if flags else ("acp", "--in-process")
    client: Any = editor
    async with acp.spawn_agent_process(client, str(PROGRAM), *words, env=dict(os.environ)) as (agent, _):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.agent_info is not None
        assert hello.agent_info.name == "sojourn"
        yield agent


async def keep_talk(home: Path, folder: Path) -> str:
    store = SqliteStore(home / "state.db")
    session = await store.create(title="Cache", cwd=str(folder))
    lease = await store.lease(session.id, holder="test", surface="cli")
    call = ToolCall(id="c1", name="read_file", arguments='{"path": "redis.conf"}')
    said = [user("Shall we keep redis?"), assistant("I look.", [call], reasoning="Where is it?")]
    await store.append(lease, [*said, tool_result(call, "maxmemory 1gb"), assistant("We drop it.")])
    await store.renew(lease, 0)
    await store.close()
    return session.id


async def test_a_prompt_is_streamed_and_the_session_goes_on_after_a_restart_of_the_editor(home, model, tmp_path):
    editor = Editor()
    async with connect(editor) as agent:
        opened = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
        model.play([Say("Paris, of course.")])
        prompt = [
            acp.text_block("The capital of France?"),
            acp.image_block(PICTURE, "image/png"),
            schema.EmbeddedResourceContentBlock(
                type="resource",
                resource=schema.TextResourceContents(uri="file:///a%20b.txt", text="Fence ```", mime_type="text/plain"),
            ),
        ]
        done = await agent.prompt(session_id=opened.session_id, prompt=prompt)
        assert (done.stop_reason, editor.text()) == ("end_turn", "Paris, of course.")
        sent = json.dumps(model.asked[0].body, ensure_ascii=False)
        assert "/a b.txt:" in sent
        assert "````" in sent
    again = Editor()
    async with connect(again) as agent:
        found = (await agent.list_sessions(cwd=str(tmp_path))).sessions
        assert [(one.session_id, one.cwd) for one in found] == [(opened.session_id, str(tmp_path))]
        await agent.resume_session(session_id=opened.session_id, cwd=str(tmp_path), mcp_servers=[])
        assert not again.updates
        model.play([Say("Lyon.")])
        await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("And the second?")])
        assert again.text() == "Lyon."
        assert "Paris, of course." in json.dumps(model.asked[-1].body)


async def test_a_session_of_another_surface_is_replayed_and_taken_over(home, model, tmp_path):
    session, editor = await keep_talk(home, tmp_path), Editor()
    async with connect(editor) as agent:
        assert [one.title for one in (await agent.list_sessions()).sessions] == ["Cache"]
        loaded = await agent.load_session(session_id=session, cwd=str(tmp_path), mcp_servers=[])
        assert (editor.text("user_message_chunk"), editor.text()) == ("Shall we keep redis?", "I look.We drop it.")
        assert editor.text("agent_thought_chunk") == "Where is it?"
        [call], [answer] = editor.of("tool_call"), editor.of("tool_call_update")
        assert (call.kind, call.raw_input, call.title) == ("read", {"path": "redis.conf"}, "read_file redis.conf")
        assert (answer.status, answer.content[0].content.text) == ("completed", "maxmemory 1gb")
        assert loaded.modes.current_mode_id == "ask"
        model.play([Say("Dropped.")])
        assert (await agent.prompt(session_id=session, prompt=[acp.text_block("Do it")])).stop_reason == "end_turn"
        with pytest.raises(acp.RequestError) as refused:
            await agent.load_session(session_id="20200101_000000_00000000", cwd=str(tmp_path), mcp_servers=[])
        assert refused.value.code == -32002


async def test_a_permission_question_reaches_the_editor_and_only_an_offered_yes_is_one(home, model, tmp_path):
    editor = Editor()
    async with connect(editor) as agent:
        for choice, runs in (("deny", False), ("allow-everything", False), ("once", True)):
            model.play([Call("write_file", {"path": "hello.txt", "content": "hi"})], [Say("Done.")])
            opened = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
            editor.choice = choice
            await agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("Write it")])
            call, options = editor.questions[-1]
            assert call.tool_call_id == editor.of("tool_call")[-1].tool_call_id
            assert "+hi" in call.content[0].content.text
            assert ("deny", "reject_once") in options
            assert (tmp_path / "hello.txt").exists() is runs
            assert editor.of("tool_call_update")[-1].status == ("completed" if runs else "failed")
    assert len(editor.questions) == 3


async def test_a_turn_outlives_the_editor_and_its_question_is_answered_elsewhere(home, model, tmp_path):
    model.play([Call("write_file", {"path": "hello.txt", "content": "hi"})], [Say("Done without you.")])
    with Serving(home, "--no-gateway") as server:
        editor = Editor("wait")
        async with connect(editor, "--home", str(home)) as agent:
            opened = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
            asking = asyncio.create_task(agent.prompt(session_id=opened.session_id, prompt=[acp.text_block("Write")]))
            await asyncio.wait_for(editor.asked.wait(), 60)
        with contextlib.suppress(Exception):
            await asking
        [question] = [
            one["detail"]["question"]
            for one in map(json.loads, read_events(server, opened.session_id))
            if one.get("stage") == "approval"
        ]
        path = f"/api/sessions/{opened.session_id}"
        answer = {"question": question, "choice": "once"}
        assert server.client.post(f"{path}/turns/running/approval", json=answer).is_success
        for _ in range(600):
            if "Done without you." in server.get(f"{path}/messages").text:
                break
            await asyncio.sleep(0.1)
        assert (tmp_path / "hello.txt").read_text() == "hi"


def read_events(server: Serving, session: str) -> list[str]:
    """The data of the events up to the question."""
    with server.client.stream("GET", f"/api/sessions/{session}/events", params={"after": 0}) as stream:
        found = list[str]()
        for frame in frames(stream.iter_lines()):
            found.append(frame["data"])
            if '"asked"' in frame["data"]:
                break
    return found


async def test_plan_mode_runtime_and_cancel_are_the_editors_to_choose(home, model, tmp_path):
    model.play([Call("write_file", {"path": "hello.txt", "content": "hi"})], [Say("Planned.")])
    editor = Editor("wait")
    async with connect(editor) as agent:
        opened = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
        session = opened.session_id
        await agent.set_session_mode(session_id=session, mode_id="plan")
        await agent.prompt(session_id=session, prompt=[acp.text_block("Write it")])
        assert not editor.questions
        with pytest.raises(acp.RequestError):
            await agent.set_session_mode(session_id=session, mode_id="p")
        after = await agent.set_config_option(session_id=session, config_id="mode", value="ask")
        assert {one.id: one.current_value for one in after.config_options} == {"mode": "ask", "runtime": "native"}
        model.play([Call("write_file", {"path": "hello.txt", "content": "hi"})], [Say("Never said.")])
        asking = asyncio.create_task(agent.prompt(session_id=session, prompt=[acp.text_block("Now")]))
        await asyncio.wait_for(editor.asked.wait(), 60)
        with pytest.raises(acp.RequestError, match="being answered"):
            await agent.prompt(session_id=session, prompt=[acp.text_block("And this")])
        await agent.cancel(session_id=session)
        assert (await asking).stop_reason == "cancelled"
        await agent.set_config_option(session_id=session, config_id="runtime", value="echo")
        await agent.prompt(session_id=session, prompt=[acp.text_block("echoed")])
        assert "echoed" in editor.text()
    assert not (tmp_path / "hello.txt").exists()


async def test_a_failed_turn_is_an_error_with_its_reason_and_an_unused_session_is_not_kept(home, model, tmp_path):
    model.play([Refuse(401, "bad key")])
    async with connect(Editor()) as agent:
        used = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
        await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
        with pytest.raises(acp.RequestError, match="key"):
            await agent.prompt(session_id=used.session_id, prompt=[acp.text_block("hello")])
        for cwd in ("relative", str(tmp_path / "gone")):
            with pytest.raises(acp.RequestError):
                await agent.new_session(cwd=cwd, mcp_servers=[])
    listed = subprocess.run([PROGRAM, "sessions", "list", "--json"], capture_output=True, text=True, check=True)
    assert [one["id"] for one in json.loads(listed.stdout)] == [used.session_id]


def test_garbage_and_unknown_methods_get_answers_and_nothing_else_is_on_standard_output(home):
    lines = [
        "not json",
        "[]",
        '{"jsonrpc":"2.0","id":"a","method":"session/teleport"}',
        '{"jsonrpc":"2.0","id":"b","method":"session/prompt","params":{"sessionId":7,"prompt":"text"}}',
        '{"jsonrpc":"2.0","id":"c","method":"session/list","params":{"cursor":"nonsense"}}',
        '{"jsonrpc":"2.0","id":"d","method":"initialize","params":{"protocolVersion":2}}',
    ]
    with subprocess.Popen([PROGRAM, "acp", "--in-process"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write("\n".join([*lines, ""]).encode())
        server.stdin.flush()
        answers = {one["id"]: one for one in [json.loads(server.stdout.readline()) for _ in range(4)]}
        server.stdin.close()
        assert (server.stdout.read(), server.wait(60)) == (b"", 0)
    assert {number: one.get("error", {}).get("code") for number, one in answers.items()} == {
        "a": -32601,
        "b": -32602,
        "c": -32602,
        "d": None,
    }
    assert answers["d"]["result"]["protocolVersion"] == 1
