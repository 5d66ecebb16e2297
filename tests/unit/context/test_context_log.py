"""What a turn was given, read back from its log."""

from sojourn.context.context_log import read_context_log
from sojourn.core.events import Progress
from sojourn.core.sessions import TurnId
from tests.unit.context.worlds import lease_of, told


async def test_each_turn_has_its_pieces_and_what_had_no_room(kit):
    session = await told(kit, "hello")
    lease = await lease_of(kit, session)
    for turn in ("t_1", "t_2"):
        events = [Progress("memory", {"kind": "fact", "title": turn}), Progress("prepare", {"left_out": ["a note"]})]
        await kit.store.append(lease, events, turn=TurnId(turn))
    first, second = await read_context_log(kit.store, session.id)
    assert (first.turn, first.pieces, first.left_out) == ("t_1", [{"kind": "fact", "title": "t_1"}], ["a note"])
    assert await read_context_log(kit.store, session.id, "last") == [second]
    assert await read_context_log(kit.store, session.id, "t_1") == [first]
    assert await read_context_log(kit.store, session.id, "t_9") == []
