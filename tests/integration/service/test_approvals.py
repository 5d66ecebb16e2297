"""What was allowed for longer than once, and for whom."""

from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.tool import Question, Reply
from sojourn.turn_support.lasting_approvals import SavedApprovals

GUEST = Principal("guest")
ASKS = Question(id="q", text="Run it?", tool="terminal")


async def test_what_the_owner_always_allows_is_still_asked_in_a_guests_session(store):
    mine, other = (SavedApprovals(store, SessionId(name), OWNER) for name in ("one", "two"))
    await mine.save(ASKS, Reply(choice="always", by="cli"))
    assert (await other.find(ASKS)) is not None
    assert (await SavedApprovals(store, SessionId("three"), GUEST).find(ASKS)) is None


async def test_what_is_allowed_for_a_session_holds_there_only_and_danger_is_asked_every_time(store):
    session = (await store.create()).id
    here = SavedApprovals(store, session)
    await here.save(ASKS, Reply(choice="session", by="cli"))
    assert (await here.find(ASKS)) is not None
    assert (await SavedApprovals(store, SessionId("elsewhere")).find(ASKS)) is None
    danger = Question(id="q", text="Remove all?", tool="terminal", dangerous=True)
    assert (await here.find(danger)) is None
