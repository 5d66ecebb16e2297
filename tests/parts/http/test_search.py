"""Search over HTTP: hits with marks, filters, pages."""

import pytest

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from tests.parts.http.conftest import say


@pytest.fixture
async def session(store):
    made = await store.create(title="tomatoes", source="cli")
    call = ToolCall(id="1", name="weather")
    items = [user("when do I plant tomatoes"), assistant(None, [call]), tool_result(call, "rain over tomatoes")]
    await say(store, made, *items)
    return made


async def hits(client, query):
    answer = await client.get(f"/api/search?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()["hits"]


async def test_a_hit_names_its_message_and_marks_what_answers(client, session):
    hit = (await hits(client, "q=plant"))[0]
    assert hit["message"] == f"{session.id}:1"
    ((start, end),) = hit["snippet"]["marks"]
    assert hit["snippet"]["text"][start:end] == "plant"


async def test_a_title_that_answers_comes_first_and_names_no_message(client, session):
    found = await hits(client, "q=tomatoes")
    assert [(one["role"], one["message"]) for one in found] == [
        ("title", None),
        ("tool", f"{session.id}:3"),
        ("user", f"{session.id}:1"),
    ]


async def test_filters_narrow_what_is_found(client, session):
    assert [one["role"] for one in await hits(client, "q=tomatoes&role=tool")] == ["tool"]
    assert [one["seq"] for one in await hits(client, "q=rain&tool=weather")] == [3]
    assert len(await hits(client, "q=tomatoes&session=tomatoes")) == 2
    assert await hits(client, "q=tomatoes&source=web") == []
    assert await hits(client, "q=tomatoes&until=2020-01-01") == []


async def test_a_tool_alone_finds_its_calls_and_its_results(client, session):
    assert [one["seq"] for one in await hits(client, "tool=weather")] == [3, 2]
    assert await hits(client, "tool=terminal") == []


async def test_pages_show_every_hit_once(client, session):
    seen, place = [], ""
    while True:
        page = (await client.get(f"/api/search?q=tomatoes&limit=1{place}")).json()
        seen += [(one["role"], one["seq"]) for one in page["hits"]]
        if page["next"] is None:
            break
        place = f"&before={page['next']}"
    assert seen == [("title", 0), ("tool", 3), ("user", 1)]


@pytest.mark.parametrize("query", ["", "q=", "q=%21%3F", "q=%00", "q=%ed%a0%80"])
async def test_a_query_without_words_says_so(client, query):
    answer = await client.get(f"/api/search?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")
    assert answer.json()["hint"]


@pytest.mark.parametrize(
    "query", ["q=x&limit=0", "q=x&limit=1e3", "q=x&since=yesterday", "q=x&since=12", f"q=x&before={2**63}"]
)
async def test_a_query_in_a_wrong_form_is_refused(client, query):
    assert (await client.get(f"/api/search?{query}")).status_code == 422
