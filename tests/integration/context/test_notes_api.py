"""Notes over HTTP: listed, tried, changed and deleted, and nothing outside their folder."""

import httpx
import pytest
from fastapi import FastAPI

from sojourn.app import App
from sojourn.config import load
from sojourn.context.memory_api import router
from sojourn.http import problems


@pytest.fixture
async def client(home):
    kit = App(load({"home": str(home)}, {"HOME": str(home.parent)}))
    app = FastAPI()
    problems.install(app)
    app.include_router(router(kit))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made
    await kit.close()


async def test_a_note_is_added_found_changed_and_deleted(client, home):
    text = "# Roses\n\nPrune the climbing roses in February.\n"
    assert (await client.put("/notes/garden/roses.md", json={"text": text})).status_code == 200
    listed = (await client.get("/notes")).json()
    assert (listed["notes"], listed["problems"]) == ([{"name": "garden/roses.md", "sections": 1}], [])
    assert (home / "notes" / "garden" / "roses.md").read_text() == text
    [found] = (await client.get("/note-search?request=when do I prune climbing roses")).json()
    assert (found["name"], found["heading"]) == ("garden/roses.md", "Roses")
    await client.put("/notes/garden/roses.md", json={"text": "# Tulips\n\nNone."})
    assert (await client.get("/note-search?request=prune climbing roses")).json() == []
    assert (await client.get("/notes/garden/roses.md")).json() == {"text": "# Tulips\n\nNone."}
    assert (await client.delete("/notes/garden/roses.md")).status_code == 204
    assert (await client.get("/notes")).json()["notes"] == []
    assert (await client.delete("/notes/garden/roses.md")).status_code == 404
    assert (await client.get("/notes/garden/roses.md")).status_code == 404


@pytest.mark.parametrize(
    "name",
    [
        "../config.md",
        "%2Fetc/passwd.md",
        "a/../../b.md",
        "link/b.md",
        "plain.txt",
        ".x.md",
        "a%00.md",
        "file.md/b.md",
        f"{'a' * 260}.md",
    ],
)
async def test_what_is_not_a_note_of_the_folder_is_refused(client, home, tmp_path, name):
    (home / "notes").mkdir(parents=True, exist_ok=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.md").write_text("theirs")
    (home / "notes" / "link").symlink_to(outside)
    (home / "notes" / "file.md").write_text("a note, not a folder")
    for method, more in (("GET", {}), ("PUT", {"json": {"text": "mine"}}), ("DELETE", {})):
        answer = await client.request(method, f"/notes/{name}", **more)
        assert answer.status_code in (400, 404), (method, answer.text)
    assert (outside / "b.md").read_text() == "theirs"
    assert not (home / "config.md").exists()
    assert not (home / "b.md").exists()
