"""Transcripts over HTTP: pages, flags, tool calls, exports, attachments; and rows that are hard to show."""

import json
import re
import threading

import pytest

from sojourn.core.events import Chunk, Done
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.http import transcripts
from tests.integration.http.conftest import say

CALL = ToolCall(id="c1", name="read_file", arguments='{"path": "a.txt"}')


@pytest.fixture
async def session(store):
    return await store.create(title="talk", source="cli")


async def rows(client, session, query=""):
    answer = await client.get(f"/api/sessions/{session.id}/messages{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()["messages"]


async def test_messages_have_public_ids_and_events_are_left_out(client, store, session):
    await say(store, session, user("hello"), Chunk("hi"), assistant("hi"), Done())
    shown = await rows(client, session)
    assert [(one["id"], one["role"], one["content"]) for one in shown] == [
        (f"{session.id}:1", "user", "hello"),
        (f"{session.id}:3", "assistant", "hi"),
    ]


async def test_tool_calls_come_parsed(client, store, session):
    await say(store, session, assistant(None, [CALL]), tool_result(CALL, "text of a"))
    asked, answered = await rows(client, session)
    assert asked["content"] is None
    assert asked["tool_calls"] == [{"id": "c1", "name": "read_file", "arguments": {"path": "a.txt"}}]
    assert (answered["tool_call_id"], answered["tool_name"], answered["content"]) == ("c1", "read_file", "text of a")


async def test_arguments_that_are_no_json_stay_a_text(client, store, session):
    await say(store, session, assistant(None, [ToolCall(id="x", name="run", arguments="{oops")]))
    assert (await rows(client, session))[0]["tool_calls"][0]["arguments"] == "{oops"


async def test_structured_content_comes_as_text_and_as_parts(client, store, session):
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    await say(store, session, Message(role="user", content=json.dumps(parts), structured=True))
    shown = (await rows(client, session))[0]
    assert shown["parts"] == parts
    assert shown["content"] == "look\n[image_url]"


async def test_pages_follow_each_other(client, store, session):
    await say(store, session, *(user(f"line {number}") for number in range(5)))
    first = (await client.get(f"/api/sessions/{session.id}/messages?limit=2")).json()
    assert (len(first["messages"]), first["next"]) == (2, 2)
    rest = (await client.get(f"/api/sessions/{session.id}/messages?after={first['next']}&limit=3")).json()
    assert ([one["seq"] for one in rest["messages"]], rest["next"]) == ([3, 4, 5], None)


async def read_page(client, session, **params):
    answer = await client.get(f"/api/sessions/{session.id}/messages", params=params)
    assert answer.status_code == 200, answer.text
    page = answer.json()
    return [one["seq"] for one in page["messages"]], page["previous"], page["next"]


async def test_the_newest_page_comes_first_and_older_ones_by_cursor(client, store, session):
    await say(store, session, *(user(f"line {number}") for number in range(5)))
    assert await read_page(client, session, newest=True, limit=2) == ([4, 5], 4, None)
    assert await read_page(client, session, before=4, limit=2) == ([2, 3], 2, 3)
    assert await read_page(client, session, before=2, limit=2) == ([1], None, 1)
    assert await read_page(client, session, after=1, limit=2) == ([2, 3], 2, 3)


async def test_a_page_around_a_message_goes_on_in_both_directions(client, store, session):
    await say(store, session, *(user(f"line {number}") for number in range(9)))
    assert await read_page(client, session, around=5, limit=4) == ([3, 4, 5, 6], 3, 6)
    assert await read_page(client, session, around=1, limit=4) == ([1, 2], None, 2)
    assert await read_page(client, session, around=9, limit=1) == ([9], 9, None)
    assert await read_page(client, session, around=400, limit=4) == ([8, 9], 8, None)


async def test_every_message_is_reached_backwards_summarised_ones_included(client, store, session):
    await say(
        store, session, *(Message(role="user", content="x", active=n % 3 == 0, compacted=n % 3 != 0) for n in range(7))
    )
    seen: list[int] = []
    position: dict[str, object] = {"newest": True}
    while position:
        seqs, previous, _ = await read_page(client, session, include="summarised", limit=3, **position)
        seen = seqs + seen
        position = {"before": previous} if previous else {}
    assert seen == [1, 2, 3, 4, 5, 6, 7]


async def test_a_place_that_is_none_is_refused(client, session):
    for query in ("before=0", "sideways=1", "around=-1"):
        assert (await client.get(f"/api/sessions/{session.id}/messages?{query}")).status_code == 422, query


async def test_a_page_of_long_messages_ends_early(client, store, session):
    await say(store, session, *(user(letter * 3_000_000) for letter in "abc"))
    first = (await client.get(f"/api/sessions/{session.id}/messages")).json()
    assert (len(first["messages"]), first["next"]) == (2, 2)


async def test_undone_and_summarised_rows_are_shown_when_asked_for(client, store, session):
    live, summarised, undone = (
        user("live"),
        Message(role="user", content="summarised", active=False, compacted=True),
        Message(role="user", content="undone", active=False),
    )
    await say(store, session, live, summarised, undone)

    async def shown(query):
        return [one["content"] for one in await rows(client, session, query)]

    assert await shown("") == ["live"]
    assert await shown("?include=summarised") == ["live", "summarised"]
    assert await shown("?include=undone,summarised") == ["live", "summarised", "undone"]
    answer = await client.get(f"/api/sessions/{session.id}/messages?include=all")
    assert answer.status_code == 422


HARD = {
    "bytes that were no text": user("a \x00 and \udc80 and \ud83d"),
    "half a character in JSON": Message(role="user", content='[{"type":"text","text":"\\ud800"}]', structured=True),
    "numbers JSON lacks": Message(role="user", content="[NaN, Infinity, 1e999]", structured=True),
    "deep": Message(role="user", content="[" * 300 + "]" * 300, structured=True),
    "bottomless": Message(role="user", content="[" * 100_000, structured=True),
    "structured but no JSON": Message(role="user", content="not json", structured=True),
    "bottomless calls": Message(role="assistant", tool_calls="[" * 100_000),
    "odd calls": Message(role="assistant", tool_calls='[{"name": "x", "arguments": {"n": NaN}}, 7, null]'),
    "broken extra": Message(role="user", content="x", extra="{broken"),
    "far future": Message(role="user", content="x", timestamp=1e300),
    "far past": Message(role="user", content="x", timestamp=-1e18, finish_reason="\udcff"),
    "huge number": Message(role="user", content="x", extra='{"n": ' + "9" * 4000 + "}"),
}


@pytest.mark.parametrize("message", HARD.values(), ids=HARD)
async def test_a_row_that_is_hard_to_show_is_shown(client, store, session, message):
    await say(store, session, message)
    answer = await client.get(f"/api/sessions/{session.id}/messages")
    assert answer.status_code == 200
    json.loads(answer.content.decode("utf-8"))
    for kind in ("jsonl", "markdown", "html"):
        export = await client.get(f"/api/sessions/{session.id}/export?format={kind}")
        assert export.status_code == 200
        export.content.decode("utf-8")


async def test_an_export_as_json_lines_holds_the_session_and_every_row(client, store, session):
    await say(store, session, user("one"), Message(role="user", content="undone", active=False))
    answer = await client.get(f"/api/sessions/{session.id}/export?format=jsonl")
    (line,) = answer.text.splitlines()
    whole = json.loads(line)
    assert (whole["id"], whole["title"]) == (session.id, "talk")
    assert [one["content"] for one in whole["messages"]] == ["one", "undone"]
    assert answer.headers["content-disposition"] == f'attachment; filename="{session.id}.jsonl"'


async def test_an_export_as_markdown_is_there_to_be_read(client, store, session):
    await say(store, session, user("hello"), assistant("hi", [CALL]), tool_result(CALL, "a ``` b"))
    text = (await client.get(f"/api/sessions/{session.id}/export?format=markdown")).text
    assert text.startswith("# talk\n")
    assert re.search(r"## You · .*\n\nhello", text)
    assert "<summary><code>read_file</code>" in text
    assert "````text\na ``` b\n````" in text


async def test_an_attachment_is_a_download_that_cannot_run(client, store, session):
    name = await store.put_blob(session.id, b"<script>", media_type="text/html", name="x.html")
    answer = await client.get(f"/api/sessions/{session.id}/attachments/{name}")
    assert (answer.content, answer.headers["content-type"]) == (b"<script>", "text/html")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_an_attachment_of_another_session_is_not_there(client, store, session):
    other = await store.create()
    name = await store.put_blob(other.id, b"x", media_type="odd\r\ntype")
    assert (await client.get(f"/api/sessions/{session.id}/attachments/{name}")).status_code == 404
    there = await client.get(f"/api/sessions/{other.id}/attachments/{name}")
    assert there.headers["content-type"] == "application/octet-stream"


async def test_an_export_is_written_beside_the_event_loop(client, store, session, monkeypatch):
    await say(store, session, user("hello"))
    threads = []

    def render(session, rows):
        threads.append(threading.current_thread())
        yield "hello"

    monkeypatch.setitem(transcripts.RENDERERS, "html", render)
    assert (await client.get(f"/api/sessions/{session.id}/export?format=html")).text == "hello"
    assert threads
    assert threading.main_thread() not in threads
