"""send_file: what it gives is kept with the session, under the name and kind it has."""

import pytest

from sojourn.tools import files


async def test_a_file_is_kept_with_the_session_and_named_among_the_facts(use, room, kit):
    (room.root / "herbs.png").write_bytes(b"\x89PNG picture")
    told = await use("send_file", path="herbs.png")
    file = told.facts["attachment"]
    assert (told.ok, file["name"], file["media_type"], file["size"]) == (True, "herbs.png", "image/png", 12)
    assert await kit.store.get_blob(room.session, file["hash"]) == (b"\x89PNG picture", "image/png")


async def test_outside_of_the_workspace_it_asks_first(use, room, tmp_path):
    (tmp_path / "secret.txt").write_text("a secret")
    room.answers = ["deny"]
    told = await use("send_file", path=str(tmp_path / "secret.txt"))
    assert (told.ok, len(room.asked), "attachment" in (told.facts or {})) == (False, 1, False)


@pytest.mark.parametrize(("path", "said"), [("nothing.txt", "no file"), (".", "is a folder")])
async def test_what_is_no_file_is_said(use, room, path, said):
    told = await use("send_file", path=path)
    assert not told.ok
    assert said in told.text


async def test_too_much_is_refused(use, room, monkeypatch):
    monkeypatch.setattr(files, "MAX_SENT_BYTES", 10)
    (room.root / "big.bin").write_bytes(bytes(11))
    told = await use("send_file", path="big.bin")
    assert not told.ok
    assert "more than 10 bytes" in told.text


async def test_guests_have_it_not(use, guest):
    (guest.root / "a.txt").write_text("x")
    assert "Guests may not" in (await use("send_file", at=guest, path="a.txt")).text
