"""A deleted session leaves none of its files behind: neither results of tools nor what files held before."""

import time
from dataclasses import replace

import pytest

from sojourn.http.trash import empty_trash
from tests.integration.tools.tool_workspace import call, open_kit, room_in


@pytest.mark.parametrize("way", ["delete", "trash"])
async def test_what_tools_kept_goes_with_the_session(way, tmp_path):
    async with open_kit() as kit:
        home, parent, other = kit.settings.home, await room_in(kit, tmp_path), await room_in(kit, tmp_path)
        child = await kit.store.create(source="subagent", parent=parent.session)
        rooms = [parent, replace(parent, session=child.id), other]
        for room in rooms:
            (room.root / "long.txt").write_text("words of mine\n" * 10_000)
            assert "left out here" in (await call(kit, room, "terminal", command="cat long.txt")).text
            await call(kit, room, "write_file", path=f"{room.session}.txt", content="new")
        if way == "delete":
            removed = await kit.delete(parent.session)
            assert {home / "outputs" / parent.session, home / "outputs" / child.id} <= set(
                map(type(home), removed.files)
            )
        else:
            session = await kit.store.get(parent.session)
            await kit.store.change(session, replace(session, trashed_at=time.time() - 60))
            assert await empty_trash(kit, time.time())
        for folder in (home / "outputs", home / "checkpoints"):
            assert [one.name for one in folder.iterdir()] == [other.session]
