"""Sessions over HTTP: listed, paged, found by name, changed by whoever knows what they change, taken away."""

import pytest

from sojourn.core.messages import user
from sojourn.core.sessions import Principal
from tests.integration.http.conftest import say


@pytest.fixture
async def session(store):
    return await store.create(title="talk")


async def test_a_new_home_has_no_sessions(client):
    answer = await client.get("/api/sessions")
    assert answer.status_code == 200
    assert answer.json() == {"sessions": [], "next": None, "total": None}


async def test_a_session_can_be_begun_and_is_found_by_id_beginning_and_title(client):
    made = await client.post("/api/sessions", json={"title": "garden plans", "model": "m-1", "cwd": "/tmp"})
    assert made.status_code == 201
    session = made.json()
    assert made.headers["location"] == f"/api/sessions/{session['id']}"
    assert session["source"] == "api"
    for words in (session["id"], session["id"][:-2], "garden plans"):
        found = await client.get(f"/api/sessions/{words}")
        assert found.json() == session
        assert found.headers["etag"] == '"1"'


async def test_an_empty_body_begins_an_untitled_session(client):
    made = await client.post("/api/sessions", json={})
    assert made.json()["title"] is None


async def test_a_list_is_paged_newest_first_and_nothing_is_shown_twice(client, store):
    ids = [(await store.create(title=f"t{number}")).id for number in range(7)]
    seen, place = [], None
    while True:
        page = (await client.get("/api/sessions", params={"limit": 3} | ({"before": place} if place else {}))).json()
        seen += [one["id"] for one in page["sessions"]]
        place = page["next"]
        if place is None:
            break
    assert seen == ids[::-1]


async def test_the_last_full_page_says_there_is_no_more(client, store):
    for number in range(3):
        await store.create(title=f"t{number}")
    assert (await client.get("/api/sessions?limit=3")).json()["next"] is None


async def test_filters_narrow_the_list(client, store):
    kept = await store.create(title="Garden plans", source="cli", model="m-1")
    await store.create(title="other", source="web")
    await client.patch(f"/api/sessions/{kept.id}", json={"tags": ["green"], "pinned": True})
    for asked in ("text=garden", "source=cli", "tag=green", "pinned=true", "model=m-1", "source=cli&source=x"):
        found = (await client.get(f"/api/sessions?{asked}")).json()["sessions"]
        assert [one["id"] for one in found] == [kept.id], asked
    assert (await client.get("/api/sessions?until=2020-01-01")).json()["sessions"] == []
    assert len((await client.get("/api/sessions?since=2020-01-01T00:00:00Z")).json()["sessions"]) == 2


async def test_archived_sessions_are_shown_when_asked_for(client, store):
    session = await store.create(title="old")
    await client.patch(f"/api/sessions/{session.id}", json={"archived": True})
    counts = {
        word: len((await client.get(f"/api/sessions?archived={word}")).json()["sessions"])
        for word in ("no", "yes", "any")
    }
    assert counts == {"no": 0, "yes": 1, "any": 1}


async def test_a_filter_nobody_knows_is_refused_instead_of_ignored(client):
    answer = await client.get("/api/sessions?tags=x")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == "query.tags"


async def test_only_what_is_named_changes(client, store):
    session = await store.create(title="before")
    first = await client.patch(f"/api/sessions/{session.id}", json={"tags": ["b", "A"], "pinned": True})
    assert (first.json()["title"], first.json()["tags"], first.json()["pinned"]) == ("before", ["a", "b"], True)
    second = await client.patch(f"/api/sessions/{session.id}", json={"title": None})
    assert (second.json()["title"], second.json()["tags"]) == (None, ["a", "b"])
    assert second.json()["revision"] == 3
    assert second.headers["etag"] == '"3"'


@pytest.mark.parametrize("how", ["body", "header"])
async def test_who_names_an_old_revision_is_told_of_the_conflict(client, store, how):
    session = await store.create(title="mine")
    await client.patch(f"/api/sessions/{session.id}", json={"pinned": True})
    body = {"title": "yours"} | ({"revision": 1} if how == "body" else {})
    headers = {"If-Match": '"1"'} if how == "header" else {}
    answer = await client.patch(f"/api/sessions/{session.id}", json=body, headers=headers)
    assert answer.status_code == 409
    assert answer.json()["code"] == "conflict"
    assert (await store.get(session.id)).title == "mine"
    again = await client.patch(f"/api/sessions/{session.id}", json={"title": "yours"}, headers={"If-Match": '"2"'})
    assert again.status_code == 200


async def test_who_names_no_revision_gets_it_done_although_others_change_things_too(client, store, kit):
    session = await store.create(title="busy")
    true_change = store.change
    raced = []

    async def change(old, new):
        if not raced:
            raced.append(await true_change(old, old.__class__(**{**_fields(old), "pinned": True})))
        return await true_change(old, new)

    kit.real_store.change = change
    answer = await client.patch(f"/api/sessions/{session.id}", json={"archived": True})
    assert answer.status_code == 200
    assert (answer.json()["pinned"], answer.json()["archived"]) == (True, True)


def _fields(session):
    return {name: getattr(session, name) for name in session.__dataclass_fields__}


async def test_a_title_somebody_has_is_a_conflict_of_its_own(client, store):
    await store.create(title="taken")
    session = await store.create(title="free")
    answer = await client.patch(f"/api/sessions/{session.id}", json={"title": "taken"})
    assert (answer.status_code, answer.json()["code"]) == (409, "title_taken")


@pytest.mark.parametrize("body", [{"pinned": None}, {"titel": "x"}, {"tags": "x"}, {"revision": "1"}, [], "x"])
async def test_a_change_in_a_wrong_form_is_refused(client, store, body):
    session = await store.create()
    assert (await client.patch(f"/api/sessions/{session.id}", json=body)).status_code == 422


async def test_changing_takes_the_full_id(client, store):
    session = await store.create(title="whole")
    for words in (session.id[:-1], "whole"):
        for method in ("PATCH", "DELETE"):
            answer = await client.request(method, f"/api/sessions/{words}", json={})
            assert answer.status_code == 404
    assert await store.get(session.id)


async def test_deleting_says_what_it_removed(client, store):
    session = await store.create(title="gone")
    await say(store, session, user("one"), user("two"))
    removed = (await client.delete(f"/api/sessions/{session.id}")).json()
    assert removed["session"] == session.id
    assert removed["rows"]["messages"] == 2
    assert (await client.get(f"/api/sessions/{session.id}")).status_code == 404


async def test_a_forgotten_session_does_not_come_back(client, store):
    session = await store.create(title="secret")
    answer = await client.post(f"/api/sessions/{session.id}/forget", json={"purge_backups": True})
    assert answer.json()["rows"]["sessions"] == 1
    assert (await client.get("/api/sessions/secret")).status_code == 404


async def test_a_session_where_a_turn_runs_is_not_deleted(client, store):
    session = await store.create()
    await store.lease(session.id, holder="chat", surface="cli")
    answer = await client.delete(f"/api/sessions/{session.id}")
    assert (answer.status_code, answer.json()["code"]) == (409, "session_busy")


async def test_other_peoples_sessions_are_not_there(client, store):
    theirs = await store.create(principal=Principal("guest"), title="private")
    assert (await client.get("/api/sessions?archived=any")).json()["sessions"] == []
    for path in (theirs.id, "private", f"{theirs.id}/messages", f"{theirs.id}/export"):
        assert (await client.get(f"/api/sessions/{path}")).status_code == 404
    assert (await client.delete(f"/api/sessions/{theirs.id}")).status_code == 404
    assert (await client.get("/api/search?q=private")).json()["hits"] == []


async def test_a_child_names_its_parent_and_is_listed_under_it(client, store):
    parent = await store.create()
    child = (await client.post("/api/sessions", json={"parent": parent.id})).json()
    assert child["parent_session_id"] == parent.id
    found = (await client.get(f"/api/sessions?parent={parent.id}")).json()["sessions"]
    assert [one["id"] for one in found] == [child["id"]]
    assert (await client.post("/api/sessions", json={"parent": "nobody"})).status_code == 404


async def test_facets_count_what_the_list_can_be_filtered_by(client, store):
    await store.create(source="cli", model="m-1", cwd="/garden")
    await store.create(source="web", model="m-1")
    found = (await client.get("/api/facets?source=web")).json()
    assert found["total"] == 1
    assert found["facets"]["source"] == [{"value": "cli", "count": 1}, {"value": "web", "count": 1}]
    assert found["facets"]["model"] == [{"value": "m-1", "count": 1}]
    assert found["facets"]["project"] == []
    for query in ("source=", "nonsense=1", "limit=0"):
        assert (await client.get(f"/api/facets?{query}")).status_code == 422, query


async def test_the_trash_is_a_state_that_can_be_undone(client, store, session):
    path = f"/api/sessions/{session.id}"
    first = (await client.patch(path, json={"trashed": True})).json()
    assert first["trashed_at"] is not None
    assert (await client.patch(path, json={"trashed": True})).json()["trashed_at"] == first["trashed_at"]
    assert (await client.get("/api/sessions")).json()["sessions"] == []
    assert [one["id"] for one in (await client.get("/api/sessions?trashed=true")).json()["sessions"]] == [session.id]
    assert (await client.get(path)).json()["trashed_at"] == first["trashed_at"]
    assert (await client.patch(path, json={"trashed": False})).json()["trashed_at"] is None
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 1


async def test_a_branch_says_where_it_came_from(client, store, session):
    await say(store, session, user("one"), user("two"))
    made = await client.post(f"/api/sessions/{session.id}/branch", json={"at": 1})
    assert made.status_code == 201
    branch = made.json()
    assert (branch["branched_from"], branch["copied"]) == (f"{session.id}:1", 1)
    assert made.headers["location"] == f"/api/sessions/{branch['id']}"
    for wanted in ({}, {"at": -1}, {"at": "x"}, {"at": 2**63}, {"at": 1, "to": 2}):
        assert (await client.post(f"/api/sessions/{session.id}/branch", json=wanted)).status_code == 422, wanted
    other = {"Sojourn-Principal": "somebody"}
    refused = await client.post(f"/api/sessions/{session.id}/branch", json={"at": 1}, headers=other)
    assert refused.status_code == 404
