"""Titles, previews, names and keys are redacted before they are cut or kept: half a secret is not recognised."""

import pytest

from sojourn.core.attachments import attachments_of
from sojourn.core.messages import ToolCall
from sojourn.ports.service import Caller, TurnRequest
from sojourn.runtimes.tool_execution import render_preview
from sojourn.service.local import LocalService
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import ScriptedRuntime
from sojourn.testing.service_steps import follow, opened

KEY = "sk-proj-" + "Ab1" * 12
ME = Caller(surface="cli", holder=f"chat with {KEY}")


@pytest.fixture
async def service(home):
    store = SqliteStore(home / "state.db")
    service = LocalService(FakeApp(store=store, settings=make_settings(home), runtimes=[ScriptedRuntime()]))
    yield service
    await service.close()
    await store.close()


def read_files(home):
    return b"".join(file.read_bytes() for file in home.glob("state.db*"))


async def test_no_part_of_a_secret_is_in_a_title_a_name_a_label_or_a_key(service, home):
    session = await opened(service)
    file = await service.attach(session, b"x", media_type="text/plain", name=f"{KEY}.txt")
    assert "Ab1" not in file.name
    for before in ("Please use this long key now: ", "use "):
        request = TurnRequest(text=f"{before}{KEY} for it", key=f"{before}{KEY}")
        turn = await service.say(session, request, ME)
        await follow(service, turn)
        assert (await service.say(session, request, ME)).id == turn.id
    await service.settle()
    found = await service.get(session)
    assert "sk-proj" not in f"{found.title}{found.preview}"
    await service.close()
    assert b"sk-proj" not in read_files(home)
    assert b"Ab1Ab" not in read_files(home)


@pytest.mark.parametrize("before", range(0, 90, 7))
def test_no_part_of_a_secret_is_in_the_preview_of_a_call(before):
    call = ToolCall(id="1", name="terminal", arguments=f'{{"command": "{"x " * (before // 2)}{KEY} y"}}')
    assert "sk-proj" not in render_preview(call)


async def test_a_media_type_belongs_to_the_upload(service):
    one, other = await opened(service), await opened(service)
    store = service._store
    hash = await store.put_blob(one, b"same", media_type="text/html", name="a")
    await store.put_blob(other, b"same", media_type="text/plain", name="b")
    assert (await store.get_blob(one, hash))[1] == "text/html"
    assert (await store.get_blob(other, hash))[1] == "text/plain"


async def test_a_text_file_with_a_secret_is_marked(service):
    session = await opened(service)
    marked = await service.attach(session, f"API_KEY={KEY}\n".encode(), media_type="text/plain", name=".env")
    plain = await service.attach(session, b"PORT=8790\n", media_type="text/plain", name="ports.env")
    picture = await service.attach(session, b"\x89PNG\xff" + KEY.encode(), media_type="image/png", name="a.png")
    assert [one.holds_secrets for one in (marked, plain, picture)] == [True, False, False]
    turn = await service.say(session, TurnRequest(text="look", attachments=(marked, plain)), ME)
    await follow(service, turn)
    [said, _] = await service.messages(session)
    assert [one.holds_secrets for one in attachments_of(said.item)] == [True, False]
