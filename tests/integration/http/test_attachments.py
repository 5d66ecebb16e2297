"""Files of a session: uploaded in two ways, kept by hash, never run as a page of ours."""

import base64
import hashlib
import json

import pytest

from sojourn.ports.runtime import Observation
from sojourn.testing.scripted_runtime import Emit, SayText

PNG = b"\x89PNG\r\n\x1a\n" + b"picture"


@pytest.fixture
async def session(client):
    return (await client.post("/api/sessions", json={})).json()["id"]


async def upload(client, session, data=PNG, kind="image/png", **params):
    return await client.post(
        f"/api/sessions/{session}/attachments", content=data, headers={"Content-Type": kind}, params=params
    )


async def test_the_bytes_can_be_the_whole_body(client, session):
    answer = await upload(client, session, name="../../etc/pl\x00an.png")
    kept = answer.json()
    assert answer.status_code == 201
    assert kept == {
        "hash": hashlib.sha256(PNG).hexdigest(),
        "media_type": "image/png",
        "name": "plan.png",
        "size": 15,
        "holds_secrets": False,
    }
    assert answer.headers["location"] == f"/api/sessions/{session}/attachments/{kept['hash']}"


async def test_or_a_form_with_a_file(client, session):
    answer = await client.post(
        f"/api/sessions/{session}/attachments", files={"file": ("notes.txt", b"words", "text/plain")}
    )
    assert (answer.json()["name"], answer.json()["media_type"], answer.json()["size"]) == ("notes.txt", "text/plain", 5)


@pytest.mark.parametrize(
    "given",
    [
        {"content": b""},
        {"files": {"file": ("a", b"")}},
        {"files": {"file": (None, "no file")}},
        {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}},
        {"content": b"--x\r\nrubbish", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
    ],
)
async def test_what_is_no_file_is_refused(client, session, given):
    answer = await client.post(f"/api/sessions/{session}/attachments", **given)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_input")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("image/png", "inline"), ("text/html", "attachment"), ("image/svg+xml", "attachment"), ("what?", "attachment")],
)
async def test_only_plain_pictures_are_shown_and_nothing_runs(client, session, kind, shown):
    kept = (await upload(client, session, kind=kind)).json()
    answer = await client.get(f"/api/sessions/{session}/attachments/{kept['hash']}")
    assert answer.content == PNG
    assert answer.headers["content-disposition"].startswith(shown)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["content-type"] == (kind if kind != "what?" else "application/octet-stream")


async def test_what_was_uploaded_goes_with_what_is_said(client, session, kit, scripted):
    kept = (await upload(client, session)).json()
    inline = {"data": base64.b64encode(b"words").decode(), "media_type": "text/plain", "name": "a.txt"}
    body = {"message": "look", "session_id": session, "attachments": [{"hash": kept["hash"], "name": "p.png"}, inline]}
    assert (await client.post("/api/chat/stream", json=body)).status_code == 200
    first, second = scripted.seen[0].attachments
    assert (first.hash, first.media_type, first.name, first.size) == (kept["hash"], "image/png", "p.png", 15)
    assert (second.media_type, second.name) == ("text/plain", "a.txt")
    page = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert [part["type"] for part in page[0]["parts"]] == ["text", "attachment", "attachment"]
    assert json.loads(json.dumps(page[0]["parts"]))[0]["text"] == "look"


async def test_another_session_does_not_have_it(client, session):
    kept = (await upload(client, session)).json()
    other = (await client.post("/api/sessions", json={})).json()["id"]
    assert (await client.get(f"/api/sessions/{other}/attachments/{kept['hash']}")).status_code == 404
    body = {"message": "x", "session_id": other, "attachments": [{"hash": kept["hash"]}]}
    assert (await client.post("/api/chat/stream", json=body)).status_code == 404


async def test_files_and_observations_are_listed_with_their_runtime(client, session, scripted):
    kept = (await upload(client, session, name="p.png")).json()
    scripted.on("look", Emit(Observation("run", {"tools": ["echo"], "odd": "\ud800"})), SayText("ok"))
    body = {"message": "look", "session_id": session, "attachments": [{"hash": kept["hash"], "name": "p.png"}]}
    await client.post("/api/chat/stream", json=body)
    file, observation = (await client.get(f"/api/sessions/{session}/attachments")).json()["attachments"]
    assert file == {"type": "file", "message_id": f"{session}:2", **kept}
    assert observation.pop("turn").startswith("t_")
    data = {"tools": ["echo"], "odd": "\ufffd"}
    assert observation == {"type": "observation", "runtime": "scripted", "kind": "run", "data": data}
