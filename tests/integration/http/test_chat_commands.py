"""Chat commands in the browser: the same table as in the terminal and in chats."""


async def begin(client, **fields):
    return (await client.post("/api/sessions", json=fields)).json()["id"]


async def run(client, session, line):
    return await client.post(f"/api/sessions/{session}/commands", json={"line": line})


async def test_the_menu_has_what_works_in_a_browser(client):
    found = {one["name"]: one for one in (await client.get("/api/commands")).json()}
    assert {"help", "title", "handoff", "memory", "undo"} <= set(found)
    assert not {"quit", "export", "sethome"} & set(found)
    assert found["title"] == {"name": "title", "arguments": "[words]", "help": "Show or set the title."}


async def test_a_command_answers_and_says_what_changes(client):
    session = await begin(client, title="roses")
    titled = (await run(client, session, "/title tulips")).json()
    assert titled["lines"] == ["This session is now called “tulips”."]
    assert (await client.get(f"/api/sessions/{session}")).json()["title"] == "tulips"
    assert (await run(client, session, "/new")).json()["change"] == "new"
    assert (await run(client, session, "/model big")).json()["choices"] == {"model": "big"}
    other = await begin(client, title="garden")
    resumed = (await run(client, session, "/resume garden")).json()
    assert (resumed["change"], resumed["session"]) == ("drive", other)
    listed = (await run(client, session, "/sessions")).json()["rows"]
    assert {row[2] for row in listed} == {session, other}


async def test_what_is_no_command_or_works_elsewhere_says_so(client):
    session = await begin(client)
    for line, words in (("hello", "no command"), ("/fly", "There is no command /fly"), ("/quit", "terminal only")):
        answer = await run(client, session, line)
        assert answer.status_code == 400
        assert words in answer.json()["detail"]
    assert (await run(client, "20200101_000000_deadbeef", "/help")).status_code == 404
