"""Search over HTTP: hits with marks, filters, pages."""

from dataclasses import replace

import pytest

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from tests.integration.http.conftest import say


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
        ("user", f"{session.id}:1"),
        ("tool", f"{session.id}:3"),
    ]
    newest = await hits(client, "q=tomatoes&order=newest")
    assert [one["role"] for one in newest] == ["title", "tool", "user"]


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
    assert seen == [("title", 0), ("user", 1), ("tool", 3)]


@pytest.fixture
async def garden(store):
    """Six sessions that all called `weather`, by model, tag and archive."""
    kinds = [
        ("small", (), False),
        ("large", ("herbs",), False),
        ("large", ("herbs", "bed"), False),
        ("large", ("herbs",), True),
        ("small", ("herbs",), True),
        ("large", (), False),
    ]
    for number, (model, tags, archived) in enumerate(kinds):
        made = await store.create(title=f"garden {number}", model=model)
        call = ToolCall(id="1", name="weather")
        await say(store, made, user("rain today?"), assistant(None, [call]), tool_result(call, "no rain"))
        now = await store.get(made.id)
        await store.change(now, replace(now, tags=tags, archived=archived))


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("tool=weather&model=large", "5321"),
        ("tool=weather&tag=herbs", "4321"),
        ("tool=weather&model=large&tag=Herbs&archived=no", "21"),
        ("tool=weather&q=rain&model=large&tag=herbs&archived=yes", "3"),
        ("q=rain&tag=herbs&tag=bed", "2"),
        ("q=rain&source=cli&model=small&archived=no", "0"),
        ("q=garden&model=large&archived=no", "521"),
        ("q=rain&model=unheard-of", ""),
    ],
)
async def test_filters_of_the_session_combine_with_words_and_tool(client, garden, query, titles):
    found = [one["title"].removeprefix("garden ") for one in await hits(client, query)]
    assert "".join(dict.fromkeys(found)) == titles


async def test_archived_sessions_are_searched_unless_they_are_left_out(client, garden):
    assert len(await hits(client, "tool=weather")) == len(await hits(client, "tool=weather&archived=any")) == 12


async def pages(client, query):
    found, place = [], ""
    while place is not None:
        page = (await client.get(f"/api/search?{query}{place and f'&before={place}'}")).json()
        found.append([(one["title"], one["seq"]) for one in page["hits"]])
        place = page["next"]
    return found


async def test_pages_of_a_narrow_search_show_every_hit_once(client, garden):
    found = await pages(client, "q=rain&model=large&archived=no&limit=2&order=newest")
    assert [hit for page in found for hit in page] == [(f"garden {n}", seq) for n in (5, 2, 1) for seq in (3, 1)]
    assert [len(page) for page in found] == [2, 2, 2]


async def test_a_tag_that_cannot_be_one_is_refused_even_if_nothing_is_found(client):
    answer = await client.get("/api/search?q=x&tag=two%20words")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")


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
