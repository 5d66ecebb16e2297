"""Contract: bindings. A place is bound to one session, a session to one place; the previous session is remembered."""

from __future__ import annotations

import asyncio

import pytest

from sojourn.core.errors import Conflict, NotFound
from sojourn.core.sessions import OWNER
from sojourn.ports.store import Store
from sojourn.testing.store_secrets import KEY, find_traces
from sojourn.testing.store_steps import GUEST, NOBODY, ODD, begin, dump

HERE, THERE = "telegram:dm:1", "matrix:room:!x"


class BindingsContract:
    """Bindings of places to sessions, changed by compare-and-swap."""

    async def test_a_place_is_bound_to_a_session(self, store: Store, again: Store) -> None:
        session = await begin(store)
        assert await store.binding(HERE) is None
        bound = await store.bind(HERE, session, details={"chat": 1})
        assert (bound.place, bound.session, bound.previous, bound.principal, bound.details, bound.revision) == (
            HERE,
            session,
            None,
            OWNER,
            {"chat": 1},
            1,
        )
        assert bound.updated_at > 0
        assert await again.binding(HERE) == bound

    async def test_what_was_there_before_can_be_brought_back(self, store: Store) -> None:
        old, new = await begin(store), await begin(store)
        await store.bind(HERE, old, details={"chat": 1})
        bound = await store.bind(HERE, new)
        assert (bound.session, bound.previous, bound.details, bound.revision) == (new, old, {"chat": 1}, 2)
        assert bound.previous is not None
        back = await store.bind(HERE, bound.previous)
        assert (back.session, back.previous) == (old, new)

    async def test_binding_the_same_again_keeps_what_was_before(self, store: Store) -> None:
        old, new = await begin(store), await begin(store)
        await store.bind(HERE, old)
        await store.bind(HERE, new)
        bound = await store.bind(HERE, new, details={"chat": 2})
        assert (bound.session, bound.previous, bound.details, bound.revision) == (new, old, {"chat": 2}, 3)

    async def test_a_session_that_goes_to_another_place_leaves_the_first(self, store: Store) -> None:
        session, before = await begin(store), await begin(store)
        await store.bind(HERE, before)
        await store.bind(HERE, session)
        await store.bind(THERE, session)
        left = await store.binding(HERE)
        assert left is not None
        assert (left.session, left.previous, left.revision) == (None, session, 3)
        assert [one.place for one in await store.bindings(session=session)] == [THERE]
        back = await store.bind(HERE, session)
        assert (back.session, back.previous) == (session, None)

    async def test_a_place_is_bound_only_at_the_revision_that_was_seen(self, store: Store, again: Store) -> None:
        one, two = await begin(store), await begin(store)
        seen = await store.bind(HERE, one, expect=0)
        with pytest.raises(Conflict, match="revision 1"):
            await again.bind(HERE, two, expect=0)
        await again.bind(HERE, two, expect=seen.revision)
        with pytest.raises(Conflict):
            await store.bind(HERE, one, expect=seen.revision)
        assert [one.session for one in await store.bindings()] == [two]

    async def test_one_of_many_who_bind_a_new_place_at_once_wins(self, store: Store, again: Store) -> None:
        sessions = [await begin(store) for _ in range(6)]
        tries = [(again if n % 2 else store).bind(HERE, session, expect=0) for n, session in enumerate(sessions)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Binding"] + ["Conflict"] * 5

    async def test_a_session_never_has_two_places(self, store: Store, again: Store) -> None:
        session = await begin(store)
        await asyncio.gather(*((again if n % 2 else store).bind(f"place {n}", session) for n in range(6)))
        assert len(await store.bindings(session=session)) == 1

    async def test_another_persons_session_is_not_bound(self, store: Store) -> None:
        session = await begin(store)
        for one, person in ((session, GUEST), (NOBODY, OWNER)):
            with pytest.raises(NotFound):
                await store.bind(HERE, one, principal=person)
        assert await store.bindings() == []

    async def test_bindings_are_listed_by_person_session_and_beginning(self, store: Store) -> None:
        mine, theirs = await begin(store), await begin(store, principal=GUEST)
        await store.bind(THERE, mine)
        await store.bind(HERE, theirs, principal=GUEST)
        assert [one.place for one in await store.bindings()] == [THERE, HERE]
        assert [one.place for one in await store.bindings(principal=GUEST)] == [HERE]
        assert [one.place for one in await store.bindings(session=mine)] == [THERE]
        assert [one.place for one in await store.bindings(prefix="telegram:")] == [HERE]
        assert await store.bindings(prefix="telegram:DM") == []

    async def test_unbinding_says_whether_it_was_bound(self, store: Store) -> None:
        bound = await store.bind(HERE, await begin(store))
        with pytest.raises(Conflict):
            await store.unbind(HERE, expect=9)
        assert await store.unbind(HERE, expect=bound.revision) is True
        assert await store.unbind(HERE) is False
        assert await store.binding(HERE) is None

    async def test_a_deleted_session_is_neither_bound_nor_brought_back(self, store: Store) -> None:
        old, new, gone = await begin(store), await begin(store), await begin(store)
        await store.bind(HERE, old)
        await store.bind(HERE, new)
        await store.bind(THERE, gone)
        await store.delete(old)
        left = await store.binding(HERE)
        assert left is not None
        assert (left.session, left.previous) == (new, None)
        assert (await store.delete(gone)).rows["bindings"] == 1
        assert await store.binding(THERE) is None
        assert not {old, gone} & set(repr(await dump(store)).split("'"))
        assert (await store.verify()).clean

    async def test_odd_characters_and_secrets_in_a_binding(self, store: Store) -> None:
        bound = await store.bind(ODD, await begin(store), details={ODD: f"{KEY} {ODD}"})
        assert (bound.place, bound.details) == (ODD, {ODD: f"[redacted:api-key] {ODD}"})
        assert await store.binding(ODD) == bound
        assert await find_traces(store, "Ab1Ab1") == []
