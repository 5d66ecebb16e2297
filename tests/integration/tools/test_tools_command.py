"""`/tools`: the tools of a session, as its agent has them; a guest's session has those for guests."""

import pytest

from sojourn.chat_commands import CommandCall, find_command, run_command
from sojourn.core.errors import BadInput
from sojourn.core.sessions import Principal
from sojourn.ports.service import Caller

ANN = Principal("guest:ann")


async def list_tools(kit, session, by):
    call = CommandCall(service=kit.service, by=by, surface="chat", session=session)
    return {name: (effect, words) for name, effect, words in (await run_command(find_command("tools"), call)).rows}


async def test_tools_are_listed_with_what_they_may_do(kit, room):
    found = await list_tools(kit, room.session, Caller(surface="cli"))
    assert set(found) == {one.name for one in kit.tools()}
    assert (found["read_file"][0], found["write_file"][0], found["terminal"][0]) == ("reads", "writes", "runs")
    assert all(words and len(words) <= 100 for _, words in found.values())


async def test_a_guest_sees_what_guests_may_use(kit):
    ann = Caller(surface="telegram", principal=ANN)
    session = await kit.service.open(ann)
    assert set(await list_tools(kit, session.id, ann)) == {one.name for one in kit.tools() if one.for_whom(ANN)}


async def test_without_a_session_that_is_said(kit):
    with pytest.raises(BadInput, match="no session here yet"):
        await list_tools(kit, None, Caller(surface="cli"))
