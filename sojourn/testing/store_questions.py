"""Contract: pending questions. The exact text is there while the question waits, and nowhere else."""

from __future__ import annotations

from sojourn.core.events import Done, Progress
from sojourn.core.sessions import SessionId, TurnId
from sojourn.ports.store import PendingQuestion, Store, Transaction
from sojourn.testing.store_secrets import KEY, find_traces
from sojourn.testing.store_steps import begin, hold_lease
from sojourn.text.exact import hash_text

TURN = TurnId("t_0123456789abcdef")
ODD = f"echo {KEY} \x00 \x1a \udc80 ❯"


async def ask(store: Store, session: SessionId, *names: str) -> None:
    """Asks questions, each with its event."""
    events = [Progress("approval", {"status": "asked", "question": one, "detail": ODD}) for one in names]
    async with hold_lease(store, session) as lease:

        def work(one: Transaction) -> None:
            one.append(lease, events, turn=TURN)
            for name in names:
                one.put_question(session, PendingQuestion(id=name, turn=TURN, exact=ODD, sha256=hash_text(ODD)))

        await store.transact(work)


class QuestionsContract:
    """A question is stored with its event and removed with its answer."""

    async def test_the_exact_text_is_kept_as_it_is_and_only_there(self, store: Store, again: Store) -> None:
        session = await begin(store)
        await ask(store, session, "q1")
        found = await again.get_question(session, "q1")
        assert found is not None
        assert (found.exact, found.sha256, found.turn) == (ODD, hash_text(ODD), TURN)
        assert found.asked_at > 0
        assert await find_traces(store, KEY) == []  # what moves with a store does not hold it

    async def test_an_answer_removes_its_question_and_no_other(self, store: Store) -> None:
        session, other = await begin(store), await begin(store)
        await ask(store, session, "q1", "q2")
        await ask(store, other, "q1")
        async with hold_lease(store, session) as lease:
            await store.append(lease, [Progress("approval", {"status": "answered", "question": "q1"})], turn=TURN)
        assert await store.get_question(session, "q1") is None
        assert await store.get_question(session, "q2") is not None
        assert await store.get_question(other, "q1") is not None

    async def test_the_end_of_a_turn_removes_all_its_questions(self, store: Store) -> None:
        session = await begin(store)
        await ask(store, session, "q1", "q2")
        async with hold_lease(store, session) as lease:
            await store.append(lease, [Done(status="interrupted")], turn=TURN)
        assert await store.get_question(session, "q1") is None
        assert await store.get_question(session, "q2") is None

    async def test_a_deleted_and_a_forgotten_session_take_their_questions_along(self, store: Store) -> None:
        for remove in (store.delete, store.forget):
            session = await begin(store)
            await ask(store, session, "q1")
            removed = await remove(session)
            assert removed.rows["questions"] == 1
            assert await store.get_question(session, "q1") is None
